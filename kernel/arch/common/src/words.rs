// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's last words: cause, thread, registers, backtrace.

use crate::stack;
use core::fmt::{Display, Write};
use core::sync::atomic::{AtomicU32, Ordering};

/// Where the table of symbols lies, and its length: lines `xxxxxxxx name`, sorted.
static SYMBOLS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

/// Most frames that a backtrace shows.
const FRAMES: usize = 32;

/// Notes where boot mapped the symbols.
///
/// # Safety
/// `bytes` at `address` stay mapped and are never written.
pub unsafe fn set_symbols(address: u32, bytes: u32) {
    SYMBOLS[0].store(address, Ordering::Relaxed);
    SYMBOLS[1].store(bytes, Ordering::Relaxed);
}

fn symbols() -> &'static str {
    let [address, bytes] = [&SYMBOLS[0], &SYMBOLS[1]].map(|word| word.load(Ordering::Relaxed));
    if bytes == 0 {
        return "";
    }
    // SAFETY: `set_symbols`.
    let text = unsafe { core::slice::from_raw_parts(address as *const u8, bytes as usize) };
    core::str::from_utf8(text).unwrap_or("")
}

/// The symbol that an address lies behind.
fn symbol(address: u32) -> Option<(&'static str, u32)> {
    let mut best = None;
    for line in symbols().lines() {
        let (start, name) = line.split_once(' ')?;
        let start = u32::from_str_radix(start, 16).ok()?;
        if start > address {
            break;
        }
        best = Some((name, address - start));
    }
    best
}

/// Registers by their names.
pub type Registers<'a> = &'a [(&'a str, u32)];

/// Prints what happened while this thread was the current one. `pc` is where, if that is among the registers; `frame` is the frame
/// pointer to start from: it points to the caller's, and the return address is behind that.
pub fn print(out: &mut impl Write, cause: &dyn Display, thread: u32, (registers, pc): (Registers<'_>, Option<u32>), frame: u32) {
    // Writing to the serial line cannot fail; there would be nobody to tell.
    let _ = writeln!(out, "\nKERNEL PANIC: {cause}");
    let _ = writeln!(out, "thread: {thread:#x}");
    for (name, value) in registers {
        let _ = writeln!(out, "  {name:<7}{value:08x}");
    }
    if let Some(pc) = pc {
        print_frame(out, 0, pc);
    }
    let _ = writeln!(out, "backtrace:");
    let mut frame = frame;
    for number in 0..FRAMES {
        let Some([next, address]) = stack::words(frame) else { break };
        print_frame(out, number, address);
        frame = next;
    }
}

fn print_frame(out: &mut impl Write, number: usize, address: u32) {
    let _ = match symbol(address) {
        Some((name, offset)) => writeln!(out, "  #{number:<2} {address:08x} {name}+{offset:#x}"),
        None => writeln!(out, "  #{number:<2} {address:08x}"),
    };
}
