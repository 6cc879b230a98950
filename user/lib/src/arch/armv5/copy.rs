// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies from or to memory that others may change at the same time.

use core::arch::global_asm;

global_asm!(
    ".section .text.copy, \"ax\", %progbits",
    ".global macadamia_copy",
    // r0: from; r1: to; r2: words. Eight at a time, which are a line of the cache if both are
    // aligned to one.
    "macadamia_copy:",
    "subs r2, r2, #8",
    "blo 2f",
    "push {{r4-r10, lr}}",
    "1:",
    "ldmia r0!, {{r3-r10}}",
    "subs r2, r2, #8",
    "stmia r1!, {{r3-r10}}",
    "bhs 1b",
    "pop {{r4-r10, lr}}",
    "2:",
    "adds r2, r2, #8",
    "bxeq lr",
    "3:",
    "ldr r3, [r0], #4",
    "subs r2, r2, #1",
    "str r3, [r1], #4",
    "bne 3b",
    "bx lr",
);

unsafe extern "C" {
    fn macadamia_copy(from: *const u32, to: *mut u32, words: u32);
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
    unsafe { macadamia_copy(from, to, words) };
}

/// Copies bytes from or to memory that others may change at the same time.
///
/// # Safety
/// Both are mapped and do not overlap; what is written is the caller's, or holds no Rust object.
pub unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: u32) {
    let aligned = (from as u32 | to as u32).is_multiple_of(4);
    let words = if aligned { bytes / 4 } else { 0 };
    // SAFETY: the caller's promise; both are aligned if there are any words.
    unsafe { macadamia_copy(from.cast(), to.cast(), words) };
    for index in words * 4..bytes {
        // SAFETY: the caller's promise, as for the next.
        let byte = unsafe { from.add(index as usize).read_volatile() };
        // SAFETY: see above.
        unsafe { to.add(index as usize).write_volatile(byte) };
    }
}
