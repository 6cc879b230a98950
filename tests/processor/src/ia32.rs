// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32.

use abi::Frame;
use abi::arch::ia32::kip::INT_VECTOR;
use abi::state::tls::{PAGES, PRESENT};
use core::mem::offset_of;
use macadamia::alloc::vec::Vec;
use macadamia::{Result, Thread};

/// This many instructions of a nanosecond are this many ticks of the counter: the time-stamp
/// counter counts each.
pub const INSTRUCTIONS: (u64, u64) = (1, 1);
/// The instruction pointer.
pub const PC: usize = offset_of!(Frame, eip);
/// Where a measurement has its pages, in each of its spaces.
#[must_use]
pub fn measured() -> u32 {
    macadamia::map::own().start
}

/// The stack pointer.
pub const SP: usize = offset_of!(Frame, esp);
/// The argument with which a native thread starts.
pub const ARGUMENT: usize = offset_of!(Frame, esi);
/// The status of a native thread's last system call.
pub const STATUS: usize = offset_of!(Frame, eax);
/// The number of an alien's system call.
pub const NUMBER: usize = offset_of!(Frame, eax);
/// Its result.
pub const RESULT: usize = offset_of!(Frame, eax);
/// Its arguments.
pub const ARGUMENTS: [usize; 6] = [
    offset_of!(Frame, ebx),
    offset_of!(Frame, ecx),
    offset_of!(Frame, edx),
    offset_of!(Frame, esi),
    offset_of!(Frame, edi),
    offset_of!(Frame, ebp),
];

/// Whether a page that can be read need not be executable.
pub const FORBIDS_EXECUTION: bool = false;
/// The exception of [`code::invalid`].
pub const INVALID: u32 = abi::frame::vector::INVALID_OPCODE;
/// Bytes of [`code::invalid`].
pub const INVALID_BYTES: u32 = 2;
/// The exception of [`code::breakpoint`].
pub const BREAKPOINT: u32 = 3;
/// The exceptions of a thread that accesses an address of the kernel: by its page, or by the limit
/// of its segment if the kernel relies on that.
pub const KERNEL_REFUSED: [u32; 2] =
    [abi::frame::vector::PAGE_FAULT, abi::frame::vector::GENERAL_PROTECTION];
/// The error of a write to a page that a user can only read.
pub const WRITE_REFUSED: u32 = WRITE_MISSED | abi::frame::fault::PROTECTION;
/// The error of a write to a missing page.
pub const WRITE_MISSED: u32 = abi::frame::fault::USER | abi::frame::fault::WRITE;

/// Code of a native thread that answers each message with the message's first three words, on
/// processors where a test needs that.
pub const ANSWERS: Option<fn() -> Vec<u8>> = None;

/// Machine code.
pub mod code {
    code! {
        /// Raises the exception [`INVALID`](super::INVALID).
        invalid: "ud2";
        /// Raises the exception [`BREAKPOINT`](super::BREAKPOINT).
        breakpoint: "int3";
        /// Does nothing.
        nop: "nop";
        /// Reads the word that the argument names.
        read: "mov eax, [esi]";
        /// Writes a zero there, if the thread has just started.
        write: "mov [esi], eax";
        /// Reads there and executes an invalid instruction, repeatedly.
        reads: "1: mov eax, [esi]", "ud2", "jmp 1b";
        /// Writes there and executes an invalid instruction, repeatedly.
        writes: "1: mov [esi], eax", "ud2", "jmp 1b";
        /// Gives the registers of the number and of the first argument the value 0x1234.
        values: "mov eax, 0x1234", "mov ebx, eax";
        /// An alien's system call.
        system_call: "int 0x80";
        /// Number 20 and arguments 1 to 6.
        arguments: "mov eax, 20", "mov ebx, 1", "mov ecx, 2", "mov edx, 3", "mov esi, 4", "mov edi, 5", "mov ebp, 6";
        /// An alien's system calls, for ever.
        system_calls: "1: int 0x80", "jmp 1b";
        /// The same, and before each it uses its thread pointer.
        system_calls_with_pointer: "1: mov eax, 0x33", "mov gs, ax", "int 0x80", "jmp 1b";
        /// An alien writes 7 at the address in its first argument, and makes a system call.
        writes_seven: "mov dword ptr [ebx], 7", "int 0x80";
        /// An alien writes its fifth argument at the address in the first.
        stores: "mov [ebx], edi";
        /// Counts in the register of an alien's number, for ever.
        counts: "1: inc eax", "jmp 1b";
        /// Reads a word of every page from the argument on, for ever.
        reads_pages: "1: mov eax, [esi]", "add esi, 4096", "jmp 1b";
    }

    /// A jump that ends this many bytes after its start.
    #[must_use]
    pub fn jump(distance: u32) -> Vec<u8> {
        const BYTES: u32 = 5;
        [&[0xe9][..], &distance.wrapping_sub(BYTES).to_le_bytes()].concat()
    }

    /// A native thread's system call: tag, then `a0` to `a3`.
    #[must_use]
    pub fn native_call(registers: [u32; 5]) -> Vec<u8> {
        // mov to eax, ebx, esi, edi, ebp
        let moves = [0xb8, 0xbb, 0xbe, 0xbf, 0xbd].into_iter().zip(registers);
        let mut code: Vec<u8> = moves
            .flat_map(|(mov, value): (u8, u32)| [mov].into_iter().chain(value.to_le_bytes()))
            .collect();
        code.extend([0xcd, super::INT_VECTOR as u8]);
        code
    }

    /// Writes a word of the UTCB. It must be before any system call.
    #[must_use]
    pub fn set_utcb(offset: usize, value: u32) -> Vec<u8> {
        // mov dword [ebx + offset], value: EBX names the UTCB at the start
        [&[0xc7, 0x83][..], &(offset as u32).to_le_bytes(), &value.to_le_bytes()].concat()
    }

    use super::Vec;
}

/// Gives an alien a thread pointer.
///
/// # Errors
/// What the kernel says.
pub fn set_thread_pointer(thread: Thread, address: u32) -> Result<()> {
    thread.set_tls(0, address, PRESENT | PAGES | 0xf_ffff)
}
