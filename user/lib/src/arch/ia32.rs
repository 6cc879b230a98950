// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32.

use crate::sys::{self, Registers};
use crate::{Result, STACK_BYTES, Thread};
use abi::arch::ia32::kip::{FEATURE_SERVERS, FEATURE_SYSENTER, INT_VECTOR};
pub use abi::arch::ia32::marker::{BEGIN, BEGIN_FREE, END};
use abi::arch::ia32::marker::{CASE, immediate};
use abi::state::{TLS, TLS_COUNT};
use abi::{Error, call};
use core::arch::{asm, global_asm};
use image::layout::MESSAGES;
pub use pc as board;

global_asm!(
    ".section .text.start, \"ax\", @progbits",
    ".global _start",
    // EBX: UTCB address; ESI: argument; ESP: top of the stack.
    "_start:",
    "test byte ptr [{features}], {sysenter}",
    "jnz 2f",
    "or ebx, {by_int}",
    "2:",
    "push ebx",
    // The count of messages, and before it its address (image::layout).
    "lea eax, [esp - {messages} + 4]",
    "push eax",
    "push 0",
    "xor ebp, ebp",
    "push esi",
    "call macadamia_main",
    "ud2",
    features = const abi::utcb::KIP_ADDRESS + core::mem::offset_of!(abi::kip::Kip, features) as u32,
    sysenter = const FEATURE_SYSENTER,
    by_int = const BY_INT,
    messages = const MESSAGES,
);

global_asm!(
    ".section .text.thread, \"ax\", @progbits",
    ".global macadamia_thread",
    // ESI: argument; on the stack: the function. Never returns.
    "macadamia_thread:",
    "pop eax",
    "xor ebp, ebp",
    "push esi",
    "call eax",
    "ud2",
);

unsafe extern "C" {
    fn macadamia_thread();
}

/// Where a thread begins: its argument is in ESI, its function on top of the stack.
pub fn thread_entry() -> u32 {
    macadamia_thread as *const () as u32
}

/// In a stack's last word, beside the UTCB's address: system calls are made by `int`.
const BY_INT: u32 = 1;
/// What a stack's last word has besides the UTCB's address.
pub const STACK_FLAGS: u32 = BY_INT;

/// Of the information page's features, the one that says whether there are servers.
pub const SERVERS: Option<u32> = Some(FEATURE_SERVERS);

/// Makes a system call with these registers. How is read from the stack, which is in use anyway,
/// and not from the information page: a translation less.
#[inline(always)]
pub fn raw(registers: &mut Registers) {
    let [eax, ebx, esi, edi, ebp] = registers;
    // SAFETY: the kernel changes no registers but those named and writes no memory of this space
    // but the UTCB, which no Rust reference covers (`utcb.rs`). ESI and EBP, which the compiler
    // keeps for itself, are restored. System calls that change mappings are safe because this
    // library builds references only to memory that it was given at start or allocated.
    unsafe {
        asm!(
            "push esi",
            "push ebp",
            "mov esi, ecx",
            "mov ebp, edx",
            "mov ecx, esp",
            "or ecx, {mask}",
            "test byte ptr [ecx - 3], {by_int}",
            "mov ecx, esp",
            "jnz 2f",
            "lea edx, [3f]",
            "sysenter",
            "2:",
            "int {vector}",
            "3:",
            "mov ecx, esi",
            "mov edx, ebp",
            "pop ebp",
            "pop esi",
            mask = const STACK_BYTES - 1,
            by_int = const BY_INT,
            vector = const INT_VECTOR,
            inout("eax") *eax,
            inout("ebx") *ebx,
            inout("ecx") *esi,
            inout("edi") *edi,
            inout("edx") *ebp,
        );
    }
}

/// Counts a message that this thread sends. One instruction raises the count: on one processor no
/// thread of the component loses another's, and on several a few would be lost.
#[inline(always)]
pub fn count_message() {
    // SAFETY: start-up (`_start`, `thread.rs`) wrote the address of that word, in which no Rust
    // object lies, to the last word but one of each stack.
    unsafe {
        asm!(
            "mov {at}, esp",
            "or {at}, {mask}",
            "mov {at}, [{at} - 7]",
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
/// object lies in. It is a function of its own, so that a profile shows what copies take
/// (`./macadamia bench frames`).
///
/// # Safety
/// Both are mapped, do not overlap, and hold no Rust object.
#[inline(never)]
pub unsafe fn copy_words(from: *const u32, to: *mut u32, words: u32) {
    // SAFETY: the caller's promise; the direction flag is clear in Rust code. ESI is restored.
    unsafe {
        asm!(
            "xchg esi, edx",
            "rep movsd",
            "mov esi, edx",
            inout("edx") from => _,
            inout("edi") to => _,
            inout("ecx") words => _,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies bytes from or to memory that others may change at the same time.
///
/// # Safety
/// Both are mapped and do not overlap; what is written is the caller's, or holds no Rust object.
pub unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: u32) {
    // SAFETY: the caller's promise; the direction flag is clear in Rust code. ESI is restored.
    unsafe {
        asm!(
            "xchg esi, edx",
            "rep movsd",
            "mov ecx, eax",
            "rep movsb",
            "mov esi, edx",
            in("eax") bytes % 4,
            inout("edx") from => _,
            inout("edi") to => _,
            inout("ecx") bytes / 4 => _,
            options(nostack, preserves_flags),
        );
    }
}

/// The stack pointer.
pub fn stack_pointer() -> u32 {
    let stack: u32;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {}, esp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
    stack
}

/// The time-stamp counter.
#[must_use]
pub fn counter() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter that every supported processor has.
    unsafe {
        core::arch::asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
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
        asm!("test eax, {}", const immediate(CASE, 0), in("eax") name.as_ptr(), in("ecx") name.len(), options(nostack))
    };
}

impl Thread {
    /// Sets one of its three TLS descriptors; `limit` with the flags of [`abi::state::tls`].
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_tls(self, index: u32, base: u32, limit: u32) -> Result<()> {
        if index >= TLS_COUNT {
            return Err(Error::BadArgument);
        }
        sys::call(call::SetState { thread: self.into(), part: TLS + index, values: [base, limit] })
            .map(|_| ())
    }
}
