// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5TE.

mod atomic;
mod copy;

pub use copy::{copy_bytes, copy_words};

use crate::sys::Registers;
use abi::Word;
use abi::arch::armv5::kip::{TIMER_OFFSET, Timer};
pub use abi::arch::armv5::marker::{BEGIN, BEGIN_FREE, END};
use abi::arch::armv5::marker::{CASE, instruction};
use abi::utcb::KIP_ADDRESS;
use core::arch::{asm, global_asm};
use core::mem::offset_of;
use image::layout::MESSAGES;
pub use versatilepb as board;

global_asm!(
    ".section .text.start, \"ax\", %progbits",
    ".global _start",
    // r0: UTCB address; r1: argument; sp: top of the stack.
    "_start:",
    "mov r2, #0",
    "sub r3, sp, #{messages}",
    "mov r4, r0",
    // The count of messages, its address, and the UTCB's (image::layout). The next word aligns the
    // stack to 8 bytes.
    "push {{r2, r3, r4}}",
    "sub sp, sp, #4",
    "mov r11, #0",
    "mov r0, r1",
    "bl macadamia_main",
    "udf #0",
    messages = const MESSAGES,
);

global_asm!(
    ".section .text.thread, \"ax\", %progbits",
    ".global macadamia_thread",
    // r1: argument; on the stack: the function, below two words. Never returns.
    "macadamia_thread:",
    "pop {{r2}}",
    "mov r11, #0",
    "mov r0, r1",
    "blx r2",
    "udf #0",
);

global_asm!(
    ".section .text.call, \"ax\", %progbits",
    ".global macadamia_call",
    // r0: the registers of a system call. The kernel keeps r10.
    "macadamia_call:",
    "push {{r4-r10, lr}}",
    "mov r10, r0",
    "ldmia r10, {{r0-r9}}",
    "swi #0",
    "stmia r10, {{r0-r9}}",
    "pop {{r4-r10, pc}}",
);

unsafe extern "C" {
    fn macadamia_thread();
    fn macadamia_call(registers: *mut Registers);
}

/// Where a thread begins: its argument is in r1, its function on top of the stack.
pub fn thread_entry() -> Word {
    macadamia_thread as *const () as Word
}

/// What a stack's last word has besides the UTCB's address: nothing, as there is one way to make a
/// system call.
pub const STACK_FLAGS: Word = 0;

/// There are no servers: a switch of spaces flushes no TLB without them, too.
pub const SERVERS: Option<u32> = None;

/// Makes a system call with these registers.
pub fn raw(registers: &mut Registers) {
    // SAFETY: the kernel changes no registers but those ten and writes no memory of this space but
    // the UTCB, which no Rust reference covers (`utcb.rs`). System calls that change mappings are
    // safe because this library builds references only to memory that it was given at start or
    // allocated.
    unsafe { macadamia_call(registers) };
}

/// Counts a message that this thread sends. No thread of the component loses another's count.
#[inline(always)]
pub fn count_message() {
    let at = crate::utcb::stack_words()[0];
    atomic::add(at as *mut u32, 1);
}

/// Raises an exception: the thread ends here if nobody handles it.
pub fn raise() {
    // SAFETY: raises an exception and nothing else.
    unsafe { asm!("udf #0") };
}

/// The stack pointer.
pub fn stack_pointer() -> Word {
    let stack: Word;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {}, sp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
    stack
}

/// The board's counter, which the kernel shows in a page.
#[must_use]
pub fn counter() -> u64 {
    let timer = (KIP_ADDRESS + TIMER_OFFSET) as usize;
    // SAFETY: the kernel maps the information page into every space, read-only, for good.
    let address = unsafe { ((timer + offset_of!(Timer, address)) as *const u32).read_volatile() };
    // SAFETY: as above. The half is read before the counter, as `extend` wants it.
    let half = unsafe { ((timer + offset_of!(Timer, half)) as *const u32).read_volatile() };
    // SAFETY: the kernel maps the counter there, read-only, for good.
    let counter = unsafe { (address as *const u32).read_volatile() };
    Timer::extend(half, counter)
}

/// What the kernel has counted, each with what it is called: nothing.
#[must_use]
pub const fn named_counts() -> [(&'static str, u32); 0] {
    []
}

/// A marker.
#[inline(always)]
pub fn mark<const KIND: u32, const ID: u32>() {
    // SAFETY: a hint that changes nothing. It may touch memory as far as the compiler knows, so
    // that it does not move what is measured.
    unsafe { asm!(".inst {}", const instruction(KIND, ID), options(nostack, preserves_flags)) };
}

/// Names what the machine does from here on, in the model's report of how long the kernel does not
/// check for interrupts.
pub fn case(name: &'static str) {
    // SAFETY: as `mark`.
    unsafe {
        asm!(".inst {}", const instruction(CASE, 0), in("r0") name.as_ptr(), in("r1") name.len(), options(nostack, preserves_flags))
    };
}
