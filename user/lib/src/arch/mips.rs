// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS.

use crate::sys::Registers;
use abi::Word;
pub use abi::arch::mips::marker::{BEGIN, BEGIN_FREE, END};
use abi::arch::mips::marker::{CASE, instruction};
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, Ordering};
use image::layout::MESSAGES;
pub use malta as board;

global_asm!(
    ".section .text.start, \"ax\"",
    ".set push",
    ".set noreorder",
    ".global _start",
    // $4: UTCB address; $5: argument; $29: end of the stack.
    "_start:",
    // The count of messages, its address, and the UTCB's (image::layout).
    "daddiu $6, $29, -{messages}",
    "sd $0, -24($29)",
    "sd $6, -16($29)",
    "sd $4, -8($29)",
    "daddiu $29, $29, -32",
    "move $30, $0",
    "jal macadamia_main",
    "move $4, $5",
    "break",
    ".set pop",
    messages = const MESSAGES,
);

global_asm!(
    ".section .text.thread, \"ax\"",
    ".set push",
    ".set noreorder",
    ".global macadamia_thread",
    // $5: argument; on the stack: the function, below two words. Never returns.
    "macadamia_thread:",
    "ld $25, 0($29)",
    "daddiu $29, $29, -8",
    "move $30, $0",
    "jalr $25",
    "move $4, $5",
    "break",
    ".set pop",
);

global_asm!(
    ".section .text.call, \"ax\"",
    ".set push",
    ".set noreorder",
    ".global macadamia_call",
    // $4: the registers of a system call. The kernel keeps $29.
    "macadamia_call:",
    "daddiu $29, $29, -96",
    "sd $4, 0($29)",
    ".irp n, 16,17,18,19,20,21,22,23",
    "sd $\\n, 8 * \\n - 120($29)",
    ".endr",
    "sd $28, 72($29)",
    "sd $30, 80($29)",
    "sd $31, 88($29)",
    "move $3, $4",
    "ld $2, 0($3)",
    ".irp n, 4,5,6,7,8,9,10,11,12",
    "ld $\\n, 8 * \\n - 24($3)",
    ".endr",
    // A fast path leaves these to the next receiver, which gets nothing of this component by them.
    ".irp n, 16,17,18,19,20,21,22,23,30,31",
    "move $\\n, $0",
    ".endr",
    "mthi $0",
    "mtlo $0",
    "syscall",
    "ld $3, 0($29)",
    "sd $2, 0($3)",
    ".irp n, 4,5,6,7,8,9,10,11,12",
    "sd $\\n, 8 * \\n - 24($3)",
    ".endr",
    ".irp n, 16,17,18,19,20,21,22,23",
    "ld $\\n, 8 * \\n - 120($29)",
    ".endr",
    "ld $28, 72($29)",
    "ld $30, 80($29)",
    "ld $31, 88($29)",
    "jr $31",
    "daddiu $29, $29, 96",
    ".set pop",
);

global_asm!(
    ".section .text.copy, \"ax\"",
    ".set push",
    ".set noreorder",
    ".set noat",
    ".global macadamia_copy_words",
    // $4: from; $5: to; $6: words.
    "macadamia_copy_words:",
    "beqz $6, 2f",
    "nop",
    "1:",
    "lw $7, 0($4)",
    "daddiu $4, $4, 4",
    "addiu $6, $6, -1",
    "sw $7, 0($5)",
    "bnez $6, 1b",
    "daddiu $5, $5, 4",
    "2:",
    "jr $31",
    "nop",
    ".set pop",
);

unsafe extern "C" {
    fn macadamia_thread();
    fn macadamia_call(registers: *mut Registers);
    fn macadamia_copy_words(from: *const u32, to: *mut u32, words: u32);
}

/// Where a thread begins: its argument is in $5, its function on top of the stack.
pub fn thread_entry() -> Word {
    macadamia_thread as *const () as Word
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
    // SAFETY: raises an exception and nothing else.
    unsafe { asm!(".set noat", "break") };
}

/// Copies 32-bit words from memory that others may change at the same time to memory that no Rust
/// object lies in. It is a function of its own, so that a profile shows what copies take.
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
    // The processor has no words that are not aligned.
    let are_words = from.addr().is_multiple_of(4) && to.addr().is_multiple_of(4);
    let words = if are_words { bytes / 4 } else { 0 };
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
    unsafe {
        asm!(".set noat", "move {}, $29", out(reg) stack, options(nomem, nostack, preserves_flags))
    };
    stack
}

/// The clock's counter, of which the processor has 32 bits, for itself only: the kernel reads it for
/// the thread that executes this instruction, and gives all 64.
#[must_use]
pub fn counter() -> u64 {
    let count: u64;
    // SAFETY: changes no other register.
    unsafe {
        asm!(".set noat", "dmfc0 {}, $9", out(reg) count, options(nomem, nostack, preserves_flags))
    };
    count
}

/// What the kernel has counted, each with what it is called: nothing.
#[must_use]
pub const fn named_counts() -> [(&'static str, u32); 0] {
    []
}

/// A marker.
#[inline(always)]
pub fn mark<const KIND: u32, const ID: u32>() {
    // SAFETY: changes nothing. It may touch memory as far as the compiler knows, so that it does
    // not move what is measured.
    unsafe { asm!(".4byte {}", const instruction(KIND, ID), options(nostack, preserves_flags)) };
}

/// Names what the machine does from here on, in the model's report of how long the kernel does not
/// check for interrupts. An empty name has no effect.
pub fn case(name: &'static str) {
    let Some(last) = name.len().checked_sub(1) else { return };
    let first = name.as_ptr().addr() as u64;
    // SAFETY: reads two bytes of the name, and keeps none.
    unsafe {
        asm!(
            ".4byte {marker}",
            "lbu $0, 0({first})",
            "lbu $0, 0({last})",
            marker = const instruction(CASE, 0),
            first = in(reg) first,
            last = in(reg) first + last as u64,
            options(nostack, preserves_flags),
        );
    }
}
