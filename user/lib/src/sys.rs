// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system call itself.

use abi::{Error, Op, Tag};
use core::arch::global_asm;

/// Registers of a system call, in and out: `eax ebx esi edi ebp`.
pub type Registers = [u32; 5];

global_asm!(
    ".section .text.syscall, \"ax\", @progbits",
    // extern "C" fn macadamia_syscall(registers: *mut [u32; 5])
    ".global macadamia_syscall",
    "macadamia_syscall:",
    "push ebx",
    "push esi",
    "push edi",
    "push ebp",
    "mov ecx, [esp + 20]",
    "mov eax, [ecx]",
    "mov ebx, [ecx + 4]",
    "mov esi, [ecx + 8]",
    "mov edi, [ecx + 12]",
    "mov ebp, [ecx + 16]",
    "test byte ptr [{features}], {sysenter}",
    "jz 2f",
    "mov ecx, esp",
    "mov edx, offset macadamia_return",
    "sysenter",
    "2:",
    "int {vector}",
    "macadamia_return:",
    "mov ecx, [esp + 20]",
    "mov [ecx], eax",
    "mov [ecx + 4], ebx",
    "mov [ecx + 8], esi",
    "mov [ecx + 12], edi",
    "mov [ecx + 16], ebp",
    "pop ebp",
    "pop edi",
    "pop esi",
    "pop ebx",
    "ret",
    features = const abi::utcb::KIP_ADDRESS + core::mem::offset_of!(abi::kip::Kip, features) as u32,
    sysenter = const abi::kip::FEATURE_SYSENTER,
    vector = const abi::kip::INT_VECTOR,
);

unsafe extern "C" {
    fn macadamia_syscall(registers: *mut Registers);
}

/// Makes a system call with these registers.
pub fn raw(registers: &mut Registers) {
    // SAFETY: the stub keeps every register that the C ABI wants kept. The kernel
    // writes no memory of this space but the UTCB, which no Rust reference covers
    // (`utcb.rs`). System calls that change mappings are safe because this library
    // builds references only to memory that it was given at start or allocated.
    unsafe { macadamia_syscall(registers) };
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
