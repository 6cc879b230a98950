// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's last words: cause, thread, registers, backtrace.

use crate::layout::CPU;
use crate::stack;
use core::fmt::{Display, Write};
use core::sync::atomic::{AtomicU32, Ordering};
use plat_pc::uart::Console;

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

/// Prints what happened and ends the machine. `frame` is the frame pointer to start from.
pub fn report(cause: &dyn Display, registers: Option<&[(&str, u32)]>, frame: u32) -> ! {
    let mut out = Console;
    // Writing to the serial line cannot fail; there would be nobody to tell.
    let _ = writeln!(out, "\nKERNEL PANIC: {cause}");
    let _ = writeln!(out, "thread: {:#x}", current_thread());
    for (name, value) in registers.unwrap_or(&[]) {
        let _ = writeln!(out, "  {name:<7}{value:08x}");
    }
    if let Some((_, eip)) = registers.unwrap_or(&[]).iter().find(|(name, _)| *name == "eip") {
        print_frame(&mut out, 0, *eip);
    }
    let _ = writeln!(out, "backtrace:");
    let mut frame = frame;
    for number in 0..FRAMES {
        let Some([next, address]) = stack::words(frame) else { break };
        print_frame(&mut out, number, address);
        frame = next;
    }
    plat_pc::power_off()
}

fn print_frame(out: &mut Console, number: usize, address: u32) {
    let _ = match symbol(address) {
        Some((name, offset)) => writeln!(out, "  #{number:<2} {address:08x} {name}+{offset:#x}"),
        None => writeln!(out, "  #{number:<2} {address:08x}"),
    };
}

fn current_thread() -> u32 {
    // SAFETY: boot mapped the processor's page before anything that can panic with a thread; the
    // word is an integer.
    unsafe { (CPU as *const kcore::Cpu).read_volatile().current.value() }
}
