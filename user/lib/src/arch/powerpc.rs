// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC.

use crate::sys::Registers;
use abi::Word;
use abi::arch::powerpc::kip::{COUNTS_OFFSET, Counts, FEATURE_SERVERS};
pub use abi::arch::powerpc::marker::{BEGIN, BEGIN_FREE, END};
use abi::arch::powerpc::marker::{CASE, instruction};
pub use amigaone as board;
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, Ordering};
use image::layout::MESSAGES;

global_asm!(
    ".section .text.start, \"ax\"",
    ".global _start",
    // r3: UTCB address; r4: argument; r1: end of the stack.
    "_start:",
    "li 0, 0",
    // The count of messages, its address, and the UTCB's (image::layout).
    "addi 5, 1, -{messages}",
    "stw 0, -12(1)",
    "stw 5, -8(1)",
    "stw 3, -4(1)",
    // The chain of frames ends here.
    "stwu 0, -32(1)",
    "li 31, 0",
    "mr 3, 4",
    "bl macadamia_main",
    ".long 0",
    messages = const MESSAGES,
);

global_asm!(
    ".section .text.thread, \"ax\"",
    ".global macadamia_thread",
    // r4: argument; on the stack: the function, below two words. Never returns.
    "macadamia_thread:",
    "lwz 5, 0(1)",
    "mtctr 5",
    "rlwinm 1, 1, 0, 0, 27",
    "li 0, 0",
    "stwu 0, -16(1)",
    "li 31, 0",
    "mr 3, 4",
    "bctrl",
    ".long 0",
);

global_asm!(
    ".section .text.call, \"ax\"",
    ".global macadamia_call",
    // r3: the registers of a system call. The kernel keeps r1 and r2.
    "macadamia_call:",
    "mflr 0",
    "stw 0, 4(1)",
    "stwu 1, -96(1)",
    "mfcr 0",
    "stw 0, 8(1)",
    "stw 3, 12(1)",
    "stmw 13, 16(1)",
    "mr 12, 3",
    ".irp n, 3,4,5,6,7,8,9,10",
    "lwz \\n, 4 * \\n - 12(12)",
    ".endr",
    "lwz 14, 32(12)",
    "lwz 15, 36(12)",
    "sc",
    "lwz 12, 12(1)",
    ".irp n, 3,4,5,6,7,8,9,10",
    "stw \\n, 4 * \\n - 12(12)",
    ".endr",
    "stw 14, 32(12)",
    "stw 15, 36(12)",
    "lmw 13, 16(1)",
    "lwz 0, 8(1)",
    "mtcrf 0xff, 0",
    "addi 1, 1, 96",
    "lwz 0, 4(1)",
    "mtlr 0",
    "blr",
);

global_asm!(
    ".section .text.copy, \"ax\"",
    ".global macadamia_copy_words",
    // r3: from; r4: to; r5: words.
    "macadamia_copy_words:",
    "cmpwi 5, 0",
    "beqlr",
    "mtctr 5",
    "addi 3, 3, -4",
    "addi 4, 4, -4",
    "1:",
    "lwzu 0, 4(3)",
    "stwu 0, 4(4)",
    "bdnz 1b",
    "blr",
);

unsafe extern "C" {
    fn macadamia_thread();
    fn macadamia_call(registers: *mut Registers);
    fn macadamia_copy_words(from: *const u32, to: *mut u32, words: u32);
}

/// Where a thread begins: its argument is in r4, its function on top of the stack.
pub fn thread_entry() -> Word {
    macadamia_thread as *const () as Word
}

/// What a stack's last word has besides the UTCB's address: nothing, as there is one way to make a
/// system call.
pub const STACK_FLAGS: Word = 0;

/// Which feature says that there are servers.
pub const SERVERS: Option<u32> = Some(FEATURE_SERVERS);

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
    // SAFETY: raises an exception and nothing else: 0 is no instruction, for good.
    unsafe { asm!(".long 0") };
}

/// Copies 32-bit words from memory that others may change at the same time to memory that no Rust
/// object lies in. It is a function of its own, so that a profile shows what copies take
/// (`./macadamia bench frames`).
///
/// # Safety
/// Both are mapped, do not overlap, and hold no Rust object.
#[inline(never)]
pub unsafe fn copy_words(from: *const u32, to: *mut u32, words: u32) {
    // SAFETY: the caller's promise.
    unsafe { macadamia_copy_words(from, to, words) };
}

/// Copies bytes from or to memory that others may change at the same time.
///
/// # Safety
/// Both are mapped and do not overlap; what is written is the caller's, or holds no Rust object.
pub unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: u32) {
    // Words need not be aligned.
    let words = bytes / 4;
    // SAFETY: the caller's promise.
    unsafe { macadamia_copy_words(from.cast(), to.cast(), words) };
    for index in words * 4..bytes {
        // SAFETY: the caller's promise, as for the next.
        let byte = unsafe { from.add(index as usize).read_volatile() };
        // SAFETY: see above.
        unsafe { to.add(index as usize).write_volatile(byte) };
    }
}

/// The stack pointer.
pub fn stack_pointer() -> Word {
    let stack: Word;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mr {}, 1", out(reg) stack, options(nomem, nostack, preserves_flags)) };
    stack
}

/// The time base.
#[must_use]
pub fn counter() -> u64 {
    loop {
        let (high, low, again): (u32, u32, u32);
        // SAFETY: reads registers. The upper half is read twice, as the lower one may pass into it.
        unsafe {
            asm!("mftbu {}", "mftb {}", "mftbu {}", out(reg) high, out(reg) low, out(reg) again, options(nomem, nostack, preserves_flags))
        };
        if high == again {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

/// What the kernel has counted.
#[must_use]
pub fn counts() -> Counts {
    // SAFETY: the page is in every native space, read-only. The kernel writes it, but not while
    // this thread runs.
    unsafe { ((abi::utcb::KIP_ADDRESS + COUNTS_OFFSET) as *const Counts).read_volatile() }
}

/// The same, each with what it is called.
#[must_use]
pub fn named_counts() -> [(&'static str, u32); 7] {
    counts().named()
}

/// A marker.
#[inline(always)]
pub fn mark<const KIND: u32, const ID: u32>() {
    // SAFETY: changes nothing. It may touch memory as far as the compiler knows, so that it does
    // not move what is measured.
    unsafe { asm!(".long {}", const instruction(KIND, ID), options(nostack, preserves_flags)) };
}

/// Names what the machine does from here on, in the model's report of how long the kernel does not
/// check for interrupts.
pub fn case(name: &'static str) {
    // SAFETY: as `mark`.
    unsafe {
        asm!(".long {}", const instruction(CASE, 0), in("r3") name.as_ptr(), in("r4") name.len(), options(nostack, preserves_flags))
    };
}
