// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system call itself.

use crate::STACK_BYTES;
use abi::kip::INT_VECTOR;
use abi::{Error, Op, Tag};
use core::arch::asm;

/// Registers of a system call, in and out: `eax ebx esi edi ebp`.
pub type Registers = [u32; 5];

/// In a stack's last word, beside the UTCB's address: system calls are made by `int`.
pub(crate) const BY_INT: u32 = 1;

/// Makes a system call with these registers. How is read from the stack, which is in use anyway, and
/// not from the information page: a translation less.
#[inline(always)]
pub fn raw(registers: &mut Registers) {
    let [eax, ebx, esi, edi, ebp] = registers;
    // SAFETY: the kernel changes no registers but those named and writes no memory of this space but
    // the UTCB, which no Rust reference covers (`utcb.rs`). ESI and EBP, which the compiler
    // keeps for itself, are restored. System calls that change mappings are safe because this library
    // builds references only to memory that it was given at start or allocated.
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

/// An object system call: arguments `a0` to `a3`, results `ebx esi edi`.
///
/// # Errors
/// What the kernel says.
pub fn call(op: Op, args: [u32; 4]) -> crate::Result<[u32; 3]> {
    let [a, b, c, d] = args;
    let mut registers = [Tag::new(op, 0, 0).0, a, b, c, d];
    raw(&mut registers);
    let [status, a, b, c, _] = registers;
    match status {
        0 => Ok([a, b, c]),
        code => Err(Error::from_code(code).unwrap_or(Error::BadOperation)),
    }
}
