// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5TE.

use abi::{Frame, call};
use core::mem::offset_of;
use macadamia::alloc::vec::Vec;
use macadamia::{Result, Thread, sys};

/// General register 0.
const R0: usize = offset_of!(Frame, r);
/// This many instructions of a nanosecond are this many ticks of the board's counter: it has 24
/// MHz.
pub const INSTRUCTIONS: (u64, u64) = (1000, 24);
/// Where a measurement has its pages, in each of its spaces.
#[must_use]
pub fn measured() -> u32 {
    macadamia::map::own().start
}

/// The program counter.
pub const PC: usize = offset_of!(Frame, pc);
/// The stack pointer.
pub const SP: usize = offset_of!(Frame, sp);
/// The argument with which a native thread starts.
pub const ARGUMENT: usize = R0 + 4;
/// The status of a native thread's last system call.
pub const STATUS: usize = R0;
/// The number of an alien's system call.
pub const NUMBER: usize = R0 + 7 * 4;
/// Its result.
pub const RESULT: usize = R0;
/// Its arguments.
pub const ARGUMENTS: [usize; 6] = [R0, R0 + 4, R0 + 8, R0 + 12, R0 + 16, R0 + 20];

/// Whether a page that can be read need not be executable.
pub const FORBIDS_EXECUTION: bool = false;
/// The exception of [`code::invalid`].
pub const INVALID: u32 = abi::frame::vector::UNDEFINED;
/// Bytes of [`code::invalid`].
pub const INVALID_BYTES: u32 = 4;
/// The exception of [`code::breakpoint`].
pub const BREAKPOINT: u32 = abi::frame::vector::BREAKPOINT;
/// The exception by which a thread learns that an address is the kernel's.
pub const KERNEL_REFUSED: [u32; 1] = [abi::frame::vector::PAGE_FAULT];
/// The error of a write to a page that a user can only read.
pub const WRITE_REFUSED: u32 = WRITE_MISSED | abi::frame::fault::PROTECTION;
/// The error of a write to a missing page.
pub const WRITE_MISSED: u32 = abi::frame::fault::WRITE;

/// Code of a native thread that answers each message with the message's first three words, on
/// processors where a test needs that.
pub const ANSWERS: Option<fn() -> Vec<u8>> = None;

/// Machine code. A thread starts with its UTCB's address in r0 and the argument in r1, all else
/// zero.
pub mod code {
    code! {
        /// Raises the exception [`INVALID`](super::INVALID).
        invalid: "udf #0";
        /// Raises the exception [`BREAKPOINT`](super::BREAKPOINT).
        breakpoint: "bkpt #0";
        /// Does nothing.
        nop: "mov r0, r0";
        /// Reads the word that the argument names.
        read: "ldr r2, [r1]";
        /// Writes a zero there, if the thread has just started.
        write: "str r2, [r1]";
        /// Reads there and executes an invalid instruction, repeatedly.
        reads: "1: ldr r2, [r1]", "udf #0", "b 1b";
        /// Writes there and executes an invalid instruction, repeatedly.
        writes: "1: str r2, [r1]", "udf #0", "b 1b";
        /// Gives the registers of the number and of the first argument the value 0x1234.
        values: "mov r7, #0x1200", "orr r7, r7, #0x34", "mov r0, r7";
        /// An alien's system call.
        system_call: "swi #0";
        /// Number 20 and arguments 1 to 6.
        arguments: "mov r7, #20", "mov r0, #1", "mov r1, #2", "mov r2, #3", "mov r3, #4", "mov r4, #5", "mov r5, #6";
        /// An alien's system calls, for ever.
        system_calls: "1: swi #0", "b 1b";
        /// The same, and before each it uses its thread pointer: the kernel's helper at 0xffff0fe0
        /// reads it.
        system_calls_with_pointer: "1: mvn r0, #0xf000", "mov lr, pc", "sub pc, r0, #31", "swi #0", "b 1b";
        /// An alien writes 7 at the address in its first argument, and makes a system call.
        writes_seven: "mov r1, #7", "str r1, [r0]", "swi #0";
        /// An alien writes its fifth argument to where the first says.
        stores: "str r4, [r0]";
        /// Counts in the register of an alien's number, for ever.
        counts: "1: add r7, r7, #1", "b 1b";
        /// Reads a word of every page from the argument on, for ever.
        reads_pages: "1: ldr r2, [r1]", "add r1, r1, #4096", "b 1b";
    }

    // For cases that are this processor's own.
    code! {
        /// Reads a coprocessor register of the memory management: control.
        read_control: "mrc p15, 0, r2, c1, c0, 0";
        /// Writes zero to it: memory management would be off.
        write_control: "mcr p15, 0, r2, c1, c0, 0";
        /// Writes the domain access register.
        write_domains: "mcr p15, 0, r2, c3, c0, 0";
        /// `fmrx r2, fpscr`: an instruction of the FPU, which the processor does not have.
        float: ".inst 0xeef12a10";
        /// Tries supervisor mode with interrupts disabled, and reads the status to r2.
        try_supervisor: "msr cpsr_c, #0xd3", "mrs r2, cpsr";
        /// Reads the status to r2.
        read_status: "mrs r2, cpsr";
        /// Reads a halfword at the argument.
        read_half: "ldrh r2, [r1]";
        /// Writes a halfword there.
        write_half: "strh r2, [r1]";
        /// Reads two words from there.
        read_double: "ldrd r2, r3, [r1]";
        /// Writes two words there.
        write_double: "strd r2, r3, [r1]";
        /// Exchanges a word there.
        swap: "swp r2, r2, [r1]";
        /// Writes several words there.
        write_multiple: "stmia r1, {{r2, r3}}";
        /// Writes a byte there.
        write_byte: "strb r2, [r1]";
        /// Jumps to the argument, in Thumb state if its bit 0 is set.
        branch: "bx r1";
        /// The helper that reads the thread pointer, to r2.
        thread_pointer: "mvn r2, #0xf000", "mov lr, pc", "sub pc, r2, #31", "mov r2, r0";
        /// The helper that compares and exchanges: 0 at the argument becomes 5; r3 is 0 if it did.
        compare_and_exchange: "mov r2, r1", "mov r0, #0", "mov r1, #5", "mvn r3, #0xf000", "mov lr, pc", "sub pc, r3, #63", "mov r3, r0", "mov r1, r2";
        /// The helper that does the same with 64 bits: the expected value is at the argument, then
        /// the new one, then the one that may be changed; r3 is 0 if it was.
        compare_and_exchange_64:
            "mov r0, r1",
            "add r1, r0, #8",
            "add r2, r0, #16",
            "mvn r3, #0xf000",
            "mov lr, pc",
            "sub pc, r3, #159",
            "mov r3, r0";
        /// The helper that is a barrier.
        barrier: "mvn r3, #0xf000", "mov lr, pc", "sub pc, r3, #95";
        /// Adds 1 to the word at the argument for ever, by compare and exchange; how often is in
        /// r5.
        counts_atomically:
            "mov r4, r1",
            "1: ldr r0, [r4]",
            "add r1, r0, #1",
            "mov r2, r4",
            "mvn r3, #0xf000",
            "mov lr, pc",
            "sub pc, r3, #63",
            "cmp r0, #0",
            "addeq r5, r5, #1",
            "b 1b";
        /// The number of the helpers' version, to r2.
        helper_version: "mvn r2, #0xf000", "ldr r2, [r2, #-3]";
        /// Adds 1 to the word at the argument, with the result in r2, and executes an invalid
        /// instruction, repeatedly.
        increments: "1: ldr r2, [r1]", "add r2, r2, #1", "str r2, [r1]", "udf #0", "b 1b";
        /// The same for an alien, with a system call.
        increments_and_calls: "1: ldr r2, [r1]", "add r2, r2, #1", "str r2, [r1]", "swi #0", "b 1b";
        /// A native system call with the registers as they are, then reads word 40 of the UTCB,
        /// which r10 names, to r2.
        calls_and_reads: "swi #0", "ldr r2, [r10, #160]", "udf #0";
        /// A function that returns 1 in r2, and one that returns 2.
        one: "mov r2, #1", "bx lr";
        /// See [`one`].
        two: "mov r2, #2", "bx lr";
        /// Calls the function at the argument.
        calls: "mov lr, pc", "bx r1";
        /// In Thumb state: r2 becomes 42, then an undefined instruction.
        thumb: ".thumb", "movs r2, #42", "udf #0", ".arm";
        /// In Thumb state: an alien's system call 1.
        thumb_call: ".thumb", "movs r7, #20", "swi #1", "nop", "nop", ".arm";
        /// In Thumb state: a native system call with the registers as they are, then an undefined
        /// instruction.
        thumb_native_call: ".thumb", "swi #0", "udf #0", ".arm";
        /// In Thumb state: writes where the argument says, then an undefined instruction.
        thumb_write: ".thumb", "str r2, [r1]", "udf #0", ".arm";
        /// In Thumb state: pushes a register.
        thumb_push: ".thumb", "push {{r2, lr}}", "udf #0", ".arm";
        /// An alien's system call with number 0x123456.
        numbered_call: "swi #0x123456";
    }

    /// Bytes of an undefined instruction in Thumb state.
    pub const THUMB_INVALID_BYTES: u32 = 2;

    /// A jump that ends this many bytes after its start.
    #[must_use]
    pub fn jump(distance: u32) -> Vec<u8> {
        // The program counter is two instructions ahead.
        (0xea00_0000 | distance.wrapping_sub(8) >> 2 & 0x00ff_ffff_u32).to_le_bytes().into()
    }

    /// Loads a value, which is after the branch, to a register.
    fn load(register: u32, value: u32) -> Vec<u8> {
        // ldr register, [pc]; b after; the value
        [0xe59f_0000 | register << 12, 0xea00_0000, value].map(u32::to_le_bytes).concat()
    }

    /// A native thread's system call: tag, then `a0` to `a3`.
    #[must_use]
    pub fn native_call(registers: [u32; 5]) -> Vec<u8> {
        let mut code: Vec<u8> =
            (0..).zip(registers).flat_map(|(register, value)| load(register, value)).collect();
        code.extend(system_call());
        code
    }

    /// Writes a word of the UTCB. It must be before any system call.
    #[must_use]
    pub fn set_utcb(offset: usize, value: u32) -> Vec<u8> {
        const SCRATCH: u32 = 12;
        // str scratch, [r0, #offset]: r0 names the UTCB at the start
        [
            load(SCRATCH, value),
            (0xe580_0000 | SCRATCH << 12 | offset as u32 & 0xfff).to_le_bytes().into(),
        ]
        .concat()
    }

    use super::Vec;
}

/// Gives a thread a thread pointer.
///
/// # Errors
/// What the kernel says.
pub fn set_thread_pointer(thread: Thread, address: u32) -> Result<()> {
    let part = abi::state::THREAD_POINTER;
    sys::call(call::SetState { thread: thread.into(), part, values: [address, 0] }).map(|_| ())
}
