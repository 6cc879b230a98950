// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC.

use abi::Frame;
use core::mem::offset_of;
use macadamia::alloc::vec::Vec;
use macadamia::{Result, Thread};

/// General register 0.
const R0: usize = offset_of!(Frame, gpr);
/// This many instructions of a nanosecond are this many ticks of the time base: it has 25 MHz.
pub const INSTRUCTIONS: (u64, u64) = (40, 1);
/// The address of a measurement's pages in each of its spaces: in the second segment, because most
/// components use only the lowest two. The grants of such a component begin there, and are small.
#[must_use]
pub fn measured() -> u32 {
    macadamia::map::grants().start + (128 << 20)
}

/// The program counter.
pub const PC: usize = offset_of!(Frame, pc);
/// The stack pointer.
pub const SP: usize = R0 + 4;
/// The argument with which a native thread starts.
pub const ARGUMENT: usize = R0 + 4 * 4;
/// The status of a native thread's last system call.
pub const STATUS: usize = R0 + 3 * 4;
/// The number of an alien's system call.
pub const NUMBER: usize = R0;
/// Its result.
pub const RESULT: usize = R0 + 3 * 4;
/// Its arguments.
pub const ARGUMENTS: [usize; 6] = [R0 + 12, R0 + 16, R0 + 20, R0 + 24, R0 + 28, R0 + 32];

/// Whether a page that can be read need not be executable.
pub const FORBIDS_EXECUTION: bool = false;
/// The exception of [`code::invalid`].
pub const INVALID: u32 = abi::frame::vector::PROGRAM;
/// Bytes of [`code::invalid`].
pub const INVALID_BYTES: u32 = 4;
/// The exception of [`code::breakpoint`].
pub const BREAKPOINT: u32 = abi::frame::vector::PROGRAM;
/// The exception by which a thread learns that an address is the kernel's.
pub const KERNEL_REFUSED: [u32; 1] = [abi::frame::vector::PAGE_FAULT];
/// The error of a write to a page that a user can only read.
pub const WRITE_REFUSED: u32 = WRITE_MISSED | abi::frame::fault::PROTECTION;
/// The error of a write to a missing page.
pub const WRITE_MISSED: u32 = abi::frame::fault::WRITE;

/// Code of a native thread that answers each message with the message's first three words, on
/// processors where a test needs that.
pub const ANSWERS: Option<fn() -> Vec<u8>> = None;

/// Machine code. A thread starts with its UTCB's address in r3 and the argument in r4, all else
/// zero.
pub mod code {
    code! {
        /// Raises the exception [`INVALID`](super::INVALID).
        invalid: ".long 0";
        /// Raises the exception [`BREAKPOINT`](super::BREAKPOINT).
        breakpoint: "trap";
        /// Does nothing.
        nop: "nop";
        /// Reads the word that the argument names.
        read: "lwz 5, 0(4)";
        /// Writes a zero there, if the thread has just started.
        write: "stw 5, 0(4)";
        /// Reads there and executes an invalid instruction, repeatedly.
        reads: "1: lwz 5, 0(4)", ".long 0", "b 1b";
        /// Writes there and executes an invalid instruction, repeatedly.
        writes: "1: stw 5, 0(4)", ".long 0", "b 1b";
        /// Gives the registers of the number and of the first argument the value 0x1234.
        values: "li 0, 0x1234", "li 3, 0x1234";
        /// An alien's system call.
        system_call: "sc";
        /// Number 20 and arguments 1 to 6.
        arguments: "li 0, 20", "li 3, 1", "li 4, 2", "li 5, 3", "li 6, 4", "li 7, 5", "li 8, 6";
        /// An alien's system calls, for ever.
        system_calls: "1: sc", "b 1b";
        /// The same, and before each it uses its thread pointer, which it has given itself.
        system_calls_with_pointer: "lis 2, 1", "1: mr 5, 2", "sc", "b 1b";
        /// An alien writes 7 at the address in its first argument, and makes a system call.
        writes_seven: "li 4, 7", "stw 4, 0(3)", "sc";
        /// An alien writes its fifth argument to where the first says.
        stores: "stw 7, 0(3)";
        /// Counts in the register of an alien's number, for ever.
        counts: "1: addic 0, 0, 1", "b 1b";
        /// Reads a word of every page from the argument on, for ever.
        reads_pages: "1: lwz 5, 0(4)", "addi 4, 4, 4096", "b 1b";
    }

    // For cases that are this processor's own.
    code! {
        /// Privileged instructions: the machine state, read and written.
        read_state: "mfmsr 5";
        /// See [`read_state`].
        write_state: "mtmsr 5";
        /// A segment register, read and written.
        read_segment: "mfsr 5, 1";
        /// See [`read_segment`].
        write_segment: "mtsr 1, 5";
        /// A special-purpose register of the kernel.
        read_special: "mfspr 5, 273";
        /// See [`read_special`].
        write_special: "mtspr 272, 5";
        /// The return from an exception.
        return_from_exception: "rfi";
        /// Drops a translation.
        drop_page: "tlbie 4";
        /// Invalidates a line of the data cache without a write-back.
        drop_line: "dcbi 0, 4";
        /// Reserves the word at the argument, which must not be aligned.
        reserve: "lwarx 5, 0, 4";
        /// Reserves the word at the argument, spins 33 million times, and stores 1 more there if it
        /// still has its reservation: then r7 is 1, otherwise 2.
        reserves_long:
            "lis 6, 0x200",
            "mtctr 6",
            "lwarx 5, 0, 4",
            "1: bdnz 1b",
            "addi 5, 5, 1",
            "li 7, 2",
            "stwcx. 5, 0, 4",
            "bne 2f",
            "li 7, 1",
            "2: .long 0";
        /// Adds 1 to the word at the argument for ever, by reservations; how often is in r8.
        counts_atomically: "1: lwarx 5, 0, 4", "addi 5, 5, 1", "stwcx. 5, 0, 4", "bne 1b", "addi 8, 8, 1", "b 1b";
        /// Loads the FPU's first and last register from the argument, then stores both 16 bytes
        /// after it, repeatedly, with an invalid instruction after each.
        floats: "lfd 0, 0(4)", "lfd 31, 8(4)", ".long 0", "1: stfd 0, 16(4)", "stfd 31, 24(4)", ".long 0", "b 1b";
        /// Adds the double at the argument and the one after it, and stores the sum after both.
        adds: "lfd 1, 0(4)", "lfd 2, 8(4)", "fadd 3, 1, 2", "stfd 3, 16(4)", ".long 0";
        /// Makes a system call with the registers as they are, and ends with an invalid
        /// instruction.
        calls: "sc", ".long 0";
        /// Reads a byte from the port in the argument, and writes it; an invalid instruction is
        /// after each.
        uses_port: "lis 6, 0xfe00", "lbzx 5, 6, 4", ".long 0", "stbx 5, 6, 4", ".long 0";
        /// Reads a byte there by an instruction that the kernel does not execute for a component.
        uses_port_wrongly: "lis 6, 0xfe00", "add 6, 6, 4", "lbz 5, 0(6)", ".long 0";
        /// Three instructions, each a step.
        steps: "li 5, 1", "li 6, 2", "li 7, 3", ".long 0";
        /// A function that returns 1 in r5, and one that returns 2.
        one: "li 5, 1", ".long 0";
        /// See [`one`].
        two: "li 5, 2", ".long 0";
        /// Jumps to the argument.
        branch: "mtctr 4", "bctr";
        /// Adds 1 to the word at the argument.
        adds_word: "lwz 5, 0(4)", "addi 5, 5, 1", "stw 5, 0(4)";
        /// The same for the word that r12 names.
        adds_far: "lwz 6, 0(12)", "addi 6, 6, 1", "stw 6, 0(12)";
        /// Reads the word at the argument, and makes a system call; then writes it there, and makes
        /// another one.
        reads_and_writes: "lwz 5, 0(4)", "sc", "stw 5, 0(4)", "sc";
        /// Reads the word that r12 names.
        loads_far: "lwz 6, 0(12)";
        /// Writes r6 there.
        stores_far: "stw 6, 0(12)";
        /// Loads a register of the FPU from the argument, and stores it there.
        loads_float: "lfd 1, 0(4)";
        /// See [`loads_float`].
        stores_float: "stfd 1, 0(4)";
        /// Uses the FPU.
        uses_fpu: "fmr 1, 1";
        /// Exchanges the handle of the last system call and the next one with that in the stack
        /// pointer.
        swaps_handles: "mr 5, 4", "mr 4, 1", "mr 1, 5";
        /// Reads the time base, which users may read.
        reads_time: "mftb 5", ".long 0";
    }

    /// A jump that ends this many bytes after its start.
    #[must_use]
    pub fn jump(distance: u32) -> Vec<u8> {
        (0x4800_0000 | distance & 0x03ff_fffc).to_be_bytes().into()
    }

    /// Loads a value to a register.
    #[must_use]
    pub fn load(register: u32, value: u32) -> Vec<u8> {
        // lis register, upper half; ori register, register, lower half
        [
            0x3c00_0000 | register << 21 | value >> 16,
            0x6000_0000 | register << 21 | register << 16 | value & 0xffff,
        ]
        .map(u32::to_be_bytes)
        .concat()
    }

    /// A native thread's system call: tag, then `a0` to `a3`.
    #[must_use]
    pub fn native_call(registers: [u32; 5]) -> Vec<u8> {
        let mut code: Vec<u8> =
            (3..).zip(registers).flat_map(|(register, value)| load(register, value)).collect();
        code.extend(system_call());
        code
    }

    /// Writes a word of the UTCB. It must be before any system call.
    #[must_use]
    pub fn set_utcb(offset: usize, value: u32) -> Vec<u8> {
        const SCRATCH: u32 = 12;
        // stw scratch, offset(r3): r3 names the UTCB at the start
        [
            load(SCRATCH, value),
            (0x9003_0000 | SCRATCH << 21 | offset as u32 & 0xffff).to_be_bytes().into(),
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
pub fn set_thread_pointer(_: Thread, _: u32) -> Result<()> {
    Ok(())
}
