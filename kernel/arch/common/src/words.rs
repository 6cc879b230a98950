// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel prints when it panics: cause, thread, registers, backtrace.

use crate::platform::Platform;
use crate::{shared, stack};
use abi::Word;
use core::fmt::{Display, Write};
use core::sync::atomic::{AtomicU32, Ordering};

/// Where the table of symbols lies, and its length: lines `xxxxxxxx name`, sorted.
static SYMBOLS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

/// Most frames that a backtrace shows.
const FRAMES: usize = 32;

/// Records where boot mapped the symbols.
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
    let text = unsafe { core::slice::from_raw_parts(shared::at(address), bytes as usize) };
    core::str::from_utf8(text).unwrap_or("")
}

/// The last symbol at or below an address.
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

/// What is known of the processor: the current thread, its registers by their names, where it was,
/// and its frame pointer. That points to the caller's frame pointer, and the return address is in
/// the word after that.
#[derive(Clone, Copy, Debug, Default)]
pub struct State<'a> {
    /// The current thread; 0: none.
    pub thread: u32,
    /// Registers by their names.
    pub registers: &'a [(&'a str, Word)],
    /// Where it was, if that is known.
    pub pc: Option<u32>,
    /// The frame pointer to start a backtrace from; 0: none.
    pub frame: u32,
}

/// Prints what happened, and ends the machine.
pub fn report<P: Platform>(cause: &dyn Display, state: State<'_>) -> ! {
    let mut console = P::Console::default();
    let out = &mut console;
    // Writing to the serial line cannot fail; there would be nobody to tell.
    let _ = writeln!(out, "\nKERNEL PANIC: {cause}");
    let _ = writeln!(out, "thread: {:#x}", state.thread);
    for (name, value) in state.registers {
        let _ = writeln!(out, "  {name:<7}{value:08x}");
    }
    if let Some(pc) = state.pc {
        print_frame(out, 0, pc);
    }
    let _ = writeln!(out, "backtrace:");
    let mut frame = state.frame;
    for number in 0..FRAMES {
        let Some([next, address]) = stack::words(frame) else { break };
        print_frame(out, number, address);
        frame = next;
    }
    P::power_off()
}

fn print_frame(out: &mut impl Write, number: usize, address: u32) {
    let _ = match symbol(address) {
        Some((name, offset)) => writeln!(out, "  #{number:<2} {address:08x} {name}+{offset:#x}"),
        None => writeln!(out, "  #{number:<2} {address:08x}"),
    };
}
