// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS.

use abi::{Frame, Word};
use core::mem::offset_of;
use macadamia::alloc::vec::Vec;
use macadamia::{Result, Thread};

/// General register 0.
const R0: usize = offset_of!(Frame, r);
/// This many instructions of a nanosecond are this many ticks of the counter: it has 160 MHz.
pub const INSTRUCTIONS: (u64, u64) = (25, 4);
/// Where a measurement has its pages, in each of its spaces.
#[must_use]
pub fn measured() -> Word {
    macadamia::map::own().start
}

/// The program counter.
pub const PC: usize = offset_of!(Frame, pc);
/// The stack pointer.
pub const SP: usize = R0 + 29 * 8;
/// The argument with which a native thread starts.
pub const ARGUMENT: usize = R0 + 5 * 8;
/// The status of a native thread's last system call.
pub const STATUS: usize = R0 + 2 * 8;
/// The number of an alien's system call.
pub const NUMBER: usize = R0 + 2 * 8;
/// Its result.
pub const RESULT: usize = R0 + 2 * 8;
/// Its arguments.
pub const ARGUMENTS: [usize; 6] =
    [R0 + 4 * 8, R0 + 5 * 8, R0 + 6 * 8, R0 + 7 * 8, R0 + 8 * 8, R0 + 9 * 8];

/// Whether a page that can be read need not be executable.
pub const FORBIDS_EXECUTION: bool = false;
/// The exception of [`code::invalid`].
pub const INVALID: Word = abi::frame::vector::RESERVED;
/// Bytes of [`code::invalid`].
pub const INVALID_BYTES: Word = 4;
/// The exception of [`code::breakpoint`].
pub const BREAKPOINT: Word = abi::frame::vector::BREAKPOINT;
/// The exceptions of a thread that accesses an address of the kernel: there is no page, or it is
/// not a user's address.
pub const KERNEL_REFUSED: [Word; 2] = [abi::frame::vector::PAGE_FAULT, abi::frame::vector::ADDRESS];
/// The error of a write to a page that a user can only read.
pub const WRITE_REFUSED: Word = WRITE_MISSED | abi::frame::fault::PROTECTION;
/// The error of a write to a missing page.
pub const WRITE_MISSED: Word = abi::frame::fault::WRITE;

/// Code of a native thread that answers each message with the message's first three words, on
/// processors where a test needs that.
pub const ANSWERS: Option<fn() -> Vec<u8>> = None;

/// Machine code. A thread starts with its UTCB's address in $4 and the argument in $5, all else
/// zero. The assembler puts an instruction without effect after each branch.
pub mod code {
    code! {
        /// Raises the exception [`INVALID`](super::INVALID).
        invalid: ".4byte 0x0000000e";
        /// Raises the exception [`BREAKPOINT`](super::BREAKPOINT).
        breakpoint: "break";
        /// Does nothing.
        nop: "nop";
        /// Reads the 32 bits that the argument names.
        read: "lw $6, 0($5)";
        /// Writes zeros there, if the thread has just started.
        write: "sw $6, 0($5)";
        /// Reads there and executes an invalid instruction, repeatedly.
        reads: "1: lw $6, 0($5)", ".4byte 0x0000000e", "b 1b";
        /// Writes there and executes an invalid instruction, repeatedly.
        writes: "1: sw $6, 0($5)", ".4byte 0x0000000e", "b 1b";
        /// Gives the registers of the number and of the first argument the value 0x1234.
        values: "li $2, 0x1234", "li $4, 0x1234";
        /// An alien's system call.
        system_call: "syscall";
        /// Number 20 and arguments 1 to 6.
        arguments: "li $2, 20", "li $4, 1", "li $5, 2", "li $6, 3", "li $7, 4", "li $8, 5", "li $9, 6";
        /// An alien's system calls, for ever.
        system_calls: "1: syscall", "b 1b";
        /// The same, and before each it uses its thread pointer, which it has given itself.
        system_calls_with_pointer: "lui $23, 1", "1: move $6, $23", "syscall", "b 1b";
        /// An alien writes 7 at the address in its first argument, and makes a system call.
        writes_seven: "li $5, 7", "sw $5, 0($4)", "syscall";
        /// An alien writes 32 bits of its fifth argument to where the first says.
        stores: "sw $8, 0($4)";
        /// Counts in the register of an alien's number, for ever.
        counts: "1: daddiu $2, $2, 1", "b 1b";
        /// Reads a word of every page from the argument on, for ever.
        reads_pages: "1: lw $6, 0($5)", "daddiu $5, $5, 4096", "b 1b";
    }

    // For cases that are this processor's own.
    code! {
        /// Privileged instructions: registers of coprocessor 0, read and written.
        read_status: "mfc0 $6, $12";
        /// See [`read_status`].
        write_status: "mtc0 $6, $12";
        /// See [`read_status`]: the 32 bits of the counter, which the kernel does not read for a
        /// user.
        read_count: "mfc0 $6, $9";
        /// See [`read_status`].
        write_count: "dmtc0 $6, $9";
        /// An entry of the TLB, written.
        write_tlb: "tlbwr";
        /// An entry of the TLB, searched.
        probe_tlb: "tlbp";
        /// The return from an exception.
        return_from_exception: "eret";
        /// A line of a cache, invalidated: `cache 0, 0($5)`.
        drop_line: ".4byte 0xbca00000";
        /// An instruction of the FPU.
        uses_fpu: ".4byte 0x46000000";
        /// Reads 64 bits at the argument.
        read_wide: "ld $6, 0($5)";
        /// Writes them.
        write_wide: "sd $6, 0($5)";
        /// Jumps to the argument.
        branch: "jr $5";
        /// Reads the counter twice, and executes an invalid instruction.
        reads_count: "dmfc0 $6, $9", "dmfc0 $7, $9", ".4byte 0x0000000e";
        /// Traps.
        traps: "teq $0, $0";
        /// Overflows.
        overflows: "lui $6, 0x7fff", "add $6, $6, $6";
        /// Reads a byte from the port in the argument, and writes it; an invalid instruction is
        /// after each.
        uses_port: "lbu $6, 0($5)", ".4byte 0x0000000e", "sb $6, 0($5)", ".4byte 0x0000000e";
        /// Reads a byte there by an instruction that the kernel does not carry out for a component.
        uses_port_wrongly: "lb $6, 0($5)";
        /// Answers with the values of $16 to $23 as words of a message.
        shows_kept:
            "move $5, $16", "move $6, $17", "move $7, $18", "move $8, $19",
            "move $9, $20", "move $10, $21", "move $11, $22", "move $12, $23";
        /// And with those of $30, $31, `hi` and `lo`; the other four are zero.
        shows_others:
            "move $5, $30", "move $6, $31", "mfhi $7", "mflo $8",
            "move $9, $0", "move $10, $0", "move $11, $0", "move $12, $0";
        /// Branches over an invalid instruction, and reads at the argument in the delay slot.
        reads_on_the_way:
            ".set push", ".set noreorder",
            "b 1f",
            "lw $6, 0($5)",
            ".4byte 0x0000000e",
            "1: break",
            ".set pop";
        /// The same, but it writes there in the delay slot.
        writes_on_the_way:
            ".set push", ".set noreorder",
            "b 1f",
            "sw $6, 0($5)",
            ".4byte 0x0000000e",
            "1: break",
            ".set pop";
        /// The same with a system call in the delay slot.
        calls_on_the_way:
            ".set push", ".set noreorder",
            "b 1f",
            "syscall",
            ".4byte 0x0000000e",
            "1: break",
            ".set pop";
        /// The same with an access to a port in the delay slot.
        uses_port_on_the_way:
            ".set push", ".set noreorder",
            "b 1f",
            "lbu $6, 0($5)",
            ".4byte 0x0000000e",
            "1: break",
            ".set pop";
        /// The last instruction of a page: a branch whose delay slot is in the next.
        branches_at_the_end:
            ".set push", ".set noreorder",
            "b .",
            ".set pop";
        /// Adds up a word of each of 300 pages from the argument on, and executes an invalid
        /// instruction.
        adds_pages:
            "li $7, 300",
            "1: lw $8, 0($5)",
            "daddu $6, $6, $8",
            "daddiu $5, $5, 4096",
            "daddiu $7, $7, -1",
            "bnez $7, 1b",
            ".4byte 0x0000000e";
    }

    /// A jump that ends this many bytes after its start, less than 128 KiB.
    #[must_use]
    pub fn jump(distance: u64) -> Vec<u8> {
        const BRANCH: u32 = 0x1000_0000;
        let words = (distance as u32).wrapping_sub(4) >> 2 & 0xffff;
        [BRANCH | words, 0].map(u32::to_be_bytes).concat()
    }

    /// Loads a value to a register.
    #[must_use]
    pub fn load(register: u32, value: u64) -> Vec<u8> {
        let part = |shift: u32| (value >> shift) as u32 & 0xffff;
        let (target, both) = (register << 16, register << 21 | register << 16);
        let shift = 0x38 | register << 16 | register << 11 | 16 << 6;
        [
            // lui, then ori and dsll by 16
            0x3c00_0000 | target | part(48),
            0x3400_0000 | both | part(32),
            shift,
            0x3400_0000 | both | part(16),
            shift,
            0x3400_0000 | both | part(0),
        ]
        .map(u32::to_be_bytes)
        .concat()
    }

    /// A native thread's system call: tag, then `a0` to `a3`.
    #[must_use]
    pub fn native_call(registers: [u64; 5]) -> Vec<u8> {
        let mut code: Vec<u8> = [2, 4, 5, 6, 7]
            .into_iter()
            .zip(registers)
            .flat_map(|(register, value)| load(register, value))
            .collect();
        code.extend(system_call());
        code
    }

    /// Writes 32 bits of the UTCB. It must be before any system call.
    #[must_use]
    pub fn set_utcb(offset: usize, value: u32) -> Vec<u8> {
        const SCRATCH: u32 = 3;
        // sw scratch, offset($4): $4 names the UTCB at the start
        [
            load(SCRATCH, value.into()),
            (0xac80_0000 | SCRATCH << 16 | offset as u32 & 0xffff).to_be_bytes().into(),
        ]
        .concat()
    }

    use super::Vec;
}

/// Gives a thread a thread pointer: here that is a register like any other, and programs load it
/// themselves.
///
/// # Errors
/// None.
pub fn set_thread_pointer(_: Thread, _: Word) -> Result<()> {
    Ok(())
}
