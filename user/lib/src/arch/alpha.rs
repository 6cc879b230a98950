// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha. WebAssembly has no assembly: what is not Rust is in `alpha/start.S`, which the build tool
//! links to each component.

use crate::sys::Registers;
use abi::Word;
use abi::arch::alpha::call_pal;
use abi::arch::alpha::constant::Constant;
use abi::arch::alpha::marker;
pub use clipper as board;
use core::sync::atomic::{AtomicU32, Ordering};
use image::layout::MESSAGES;

unsafe extern "C" {
    fn macadamia_call(registers: *mut Registers);
    safe fn macadamia_case(first: usize, last: usize);
    safe fn macadamia_counter() -> u64;
    safe fn macadamia_raise();
    safe fn macadamia_stack_pointer() -> u64;
    safe fn macadamia_thread_entry() -> u64;
}

/// Where a thread begins: its argument is in $17, its function's number on top of the stack.
pub fn thread_entry() -> Word {
    macadamia_thread_entry()
}

/// A thread's function begins: WebAssembly calls it by its number.
///
/// # Safety
/// It is the number of such a function.
#[unsafe(no_mangle)]
unsafe extern "C" fn macadamia_run(function: usize, argument: Word) -> ! {
    // SAFETY: the caller's: `thread.rs` put it on the stack.
    let function: extern "C" fn(Word) -> ! = unsafe { core::mem::transmute(function) };
    function(argument)
}

/// What a stack's last word has besides the UTCB's address: nothing, as there is one way to make a
/// system call.
pub const STACK_FLAGS: Word = 0;

/// There are no servers.
pub const SERVERS: Option<u32> = None;

/// Makes a system call with these registers.
pub fn raw(registers: &mut Registers) {
    // SAFETY: the function keeps what the kernel loses, and the kernel writes no memory of this
    // space but the UTCB, which no Rust reference covers (`utcb.rs`). System calls that change
    // mappings are safe because this library builds references only to memory that it was given at
    // start or allocated.
    unsafe { macadamia_call(registers) };
}

/// Counts a message that this thread sends. No thread of the component loses another's count.
#[inline(always)]
pub fn count_message() {
    let at = crate::utcb::stack_words()[0];
    // SAFETY: start-up (`_start`, `thread.rs`) wrote the address of that word, in which no other
    // Rust object lies, to the last word but one of each stack.
    unsafe { AtomicU32::from_ptr(at as *mut u32) }.fetch_add(1, Ordering::Relaxed);
}

/// Raises an exception: the thread ends here if nobody handles it.
pub fn raise() {
    macadamia_raise();
}

/// Copies 32-bit words from memory that others may change at the same time to memory that no Rust
/// object lies in. It is a function of its own, so that a profile shows what copies take.
///
/// # Safety
/// Both are mapped, do not overlap, and hold no Rust object.
#[inline(never)]
pub unsafe fn copy_words(from: *const u32, to: *mut u32, words: u32) {
    for index in 0..words as usize {
        // SAFETY: the caller's promise, as for the next.
        let word = unsafe { from.add(index).read_volatile() };
        // SAFETY: see above.
        unsafe { to.add(index).write_volatile(word) };
    }
}

/// Copies bytes from or to memory that others may change at the same time.
///
/// # Safety
/// Both are mapped and do not overlap; what is written is the caller's, or holds no Rust object.
pub unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: u32) {
    // The processor has no words that are not aligned.
    let are_words = from.addr().is_multiple_of(4) && to.addr().is_multiple_of(4);
    let words = if are_words { bytes / 4 } else { 0 };
    // SAFETY: the caller's promise.
    unsafe { copy_words(from.cast(), to.cast(), words) };
    for index in words * 4..bytes {
        // SAFETY: the caller's promise, as for the next.
        let byte = unsafe { from.add(index as usize).read_volatile() };
        // SAFETY: see above.
        unsafe { to.add(index as usize).write_volatile(byte) };
    }
}

/// The stack pointer.
pub fn stack_pointer() -> Word {
    macadamia_stack_pointer()
}

/// The clock's counter, of nanoseconds.
#[must_use]
pub fn counter() -> u64 {
    macadamia_counter()
}

/// What the kernel has counted, each with what it is called: nothing.
#[must_use]
pub const fn named_counts() -> [(&'static str, u32); 0] {
    []
}

/// The beginning of an interval that is counted.
pub const BEGIN: u32 = 0;
/// The same, free of switches of spaces.
pub const BEGIN_FREE: u32 = 1;
/// Its end.
pub const END: u32 = 2;

/// A marker for the machine model, which measures no intervals on this processor.
pub const fn mark<const KIND: u32, const ID: u32>() {}

/// Names what the machine does from here on, in the model's report of how long the kernel does not
/// check for interrupts. An empty name has no effect.
pub fn case(name: &'static str) {
    let first = name.as_ptr().addr();
    if let Some(last) = name.len().checked_sub(1) {
        macadamia_case(first, first + last);
    }
}

/// What `alpha/start.S` knows of Rust: a section of the WebAssembly that the build tool reads, of
/// names with zeros after them, each with its value.
#[used]
#[unsafe(link_section = "constants")]
static CONSTANTS: [Constant; 7] = [
    Constant::new("bug", call_pal::BUG),
    Constant::new("case", marker::NUMBER as u32),
    Constant::new("counter", call_pal::COUNTER),
    Constant::new("messages", MESSAGES),
    Constant::new("port_read", call_pal::PORT_READ),
    Constant::new("port_write", call_pal::PORT_WRITE),
    Constant::new("system_call", call_pal::SYSTEM_CALL),
];
