// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64.

use crate::STACK_BYTES;
use crate::sys::Registers;
use abi::Word;
use abi::arch::x86_64::kip::FEATURE_SERVERS;
pub use abi::arch::x86_64::marker::{BEGIN, BEGIN_FREE, END};
use abi::arch::x86_64::marker::{CASE, immediate};
use core::arch::{asm, global_asm};
use image::layout::MESSAGES;
pub use pc as board;

global_asm!(
    ".section .text.start, \"ax\", @progbits",
    ".global _start",
    // RDI: UTCB address; RSI: argument; RSP: end of the stack.
    "_start:",
    "push rdi",
    // The count of messages, and before it its address (image::layout).
    "lea rax, [rsp - {messages} + 8]",
    "push rax",
    "push 0",
    // The stack is aligned to 16 bytes at a call.
    "push 0",
    "xor ebp, ebp",
    "mov rdi, rsi",
    "call macadamia_main",
    "ud2",
    messages = const MESSAGES,
);

global_asm!(
    ".section .text.thread, \"ax\", @progbits",
    ".global macadamia_thread",
    // RSI: argument; on the stack: the function, below two words. Never returns.
    "macadamia_thread:",
    "pop rax",
    "xor ebp, ebp",
    "mov rdi, rsi",
    "call rax",
    "ud2",
);

unsafe extern "C" {
    fn macadamia_thread();
}

/// Where a thread begins: its argument is in RSI, its function on top of the stack.
pub fn thread_entry() -> Word {
    macadamia_thread as *const () as Word
}

/// What a stack's last word has besides the UTCB's address: nothing.
pub const STACK_FLAGS: Word = 0;

/// The bit of the information page that says whether there are servers.
pub const SERVERS: Option<u32> = Some(FEATURE_SERVERS);

/// Makes a system call with these registers.
#[inline(always)]
pub fn raw(registers: &mut Registers) {
    let [tag, a, b, c, d, e, f, g, h, i] = registers;
    // SAFETY: the kernel changes no registers but those named and writes no memory of this space
    // but the UTCB, which no Rust reference covers (`utcb.rs`). RBX and RBP, which the compiler
    // keeps for itself, are restored. System calls that change mappings are safe because this
    // library builds references only to memory that it was given at start or allocated.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "syscall",
            "pop rbp",
            "pop rbx",
            inout("rax") *tag,
            inout("rdi") *a,
            inout("rsi") *b,
            inout("rdx") *c,
            inout("r8") *d,
            inout("r9") *e,
            inout("r10") *f,
            inout("r12") *g,
            inout("r13") *h,
            inout("r14") *i,
            lateout("rcx") _,
            lateout("r11") _,
            lateout("r15") _,
        );
    }
}

/// Counts a message that this thread sends. One instruction raises the count: on one processor no
/// thread of the component loses another's.
#[inline(always)]
pub fn count_message() {
    // SAFETY: start-up (`_start`, `thread.rs`) wrote the address of that word, in which no Rust
    // object lies, to the last word but one of each stack.
    unsafe {
        asm!(
            "mov {at}, rsp",
            "or {at}, {mask}",
            "mov {at}, [{at} - 15]",
            "inc dword ptr [{at}]",
            at = out(reg) _,
            mask = const STACK_BYTES - 1,
            options(nostack),
        );
    }
}

/// Raises an exception: the thread ends here if nobody handles it.
pub fn raise() {
    // SAFETY: raises an exception and nothing else.
    unsafe { asm!("ud2") };
}

/// Copies 32-bit words from memory that others may change at the same time to memory that no Rust
/// object lies in.
///
/// # Safety
/// Both are mapped, do not overlap, and hold no Rust object.
#[inline(never)]
pub unsafe fn copy_words(from: *const u32, to: *mut u32, words: u32) {
    // SAFETY: the caller's promise; the direction flag is clear in Rust code.
    unsafe {
        asm!(
            "rep movsd",
            inout("rsi") from => _,
            inout("rdi") to => _,
            inout("rcx") u64::from(words) => _,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies bytes from or to memory that others may change at the same time.
///
/// # Safety
/// Both are mapped and do not overlap; what is written is the caller's, or holds no Rust object.
pub unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: u32) {
    // SAFETY: the caller's promise; the direction flag is clear in Rust code.
    unsafe {
        asm!(
            "rep movsq",
            "mov ecx, eax",
            "rep movsb",
            in("eax") bytes % 8,
            inout("rsi") from => _,
            inout("rdi") to => _,
            inout("rcx") u64::from(bytes / 8) => _,
            options(nostack, preserves_flags),
        );
    }
}

/// The stack pointer.
pub fn stack_pointer() -> Word {
    let stack: Word;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {}, rsp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
    stack
}

/// The time-stamp counter.
#[must_use]
pub fn counter() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter that every supported processor has.
    unsafe {
        asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
    };
    u64::from(high) << 32 | u64::from(low)
}

/// What the kernel has counted, each with what it is called: nothing.
#[must_use]
pub const fn named_counts() -> [(&'static str, u32); 0] {
    []
}

/// A marker.
#[inline(always)]
pub fn mark<const KIND: u32, const ID: u32>() {
    // SAFETY: changes only flags. It may touch memory as far as the compiler knows, so
    // that it does not move what is measured.
    unsafe { asm!("test eax, {}", const immediate(KIND, ID), options(nostack)) };
}

/// Names what the machine does from here on, in the model's report of how long the kernel does not
/// check for interrupts.
pub fn case(name: &'static str) {
    // SAFETY: changes only flags.
    unsafe {
        asm!("test eax, {}", const immediate(CASE, 0), in("rax") name.as_ptr(), in("rcx") name.len(), options(nostack))
    };
}
