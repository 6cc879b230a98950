// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha. There is no assembler for what Rust compiles by way of WebAssembly, so instructions are
//! encoded here (*Alpha Architecture Reference Manual*, section 3.3).

use abi::arch::alpha::call_pal;
use abi::{Frame, Word};
use core::mem::offset_of;
use macadamia::alloc::vec::Vec;
use macadamia::{Result, Thread};

/// General register 0.
const R0: usize = offset_of!(Frame, r);
/// This many instructions of a nanosecond are this many ticks of the counter, which counts
/// nanoseconds.
pub const INSTRUCTIONS: (u64, u64) = (1, 1);
/// Where a measurement has its pages, in each of its spaces.
#[must_use]
pub fn measured() -> Word {
    macadamia::map::own().start
}

/// The program counter.
pub const PC: usize = offset_of!(Frame, pc);
/// The stack pointer.
pub const SP: usize = R0 + 30 * 8;
/// The argument with which a native thread starts.
pub const ARGUMENT: usize = R0 + 17 * 8;
/// The status of a native thread's last system call.
pub const STATUS: usize = R0;
/// The number of an alien's system call.
pub const NUMBER: usize = R0;
/// Its result.
pub const RESULT: usize = R0;
/// Its arguments.
pub const ARGUMENTS: [usize; 6] =
    [R0 + 16 * 8, R0 + 17 * 8, R0 + 18 * 8, R0 + 19 * 8, R0 + 20 * 8, R0 + 21 * 8];

/// Whether a page that can be read need not be executable.
pub const FORBIDS_EXECUTION: bool = true;
/// The exception of [`code::invalid`].
pub const INVALID: Word = abi::frame::vector::RESERVED;
/// Bytes of [`code::invalid`].
pub const INVALID_BYTES: Word = 4;
/// The exception of [`code::breakpoint`].
pub const BREAKPOINT: Word = abi::frame::vector::CALL_PAL;
/// The exception by which a thread learns that an address is the kernel's.
pub const KERNEL_REFUSED: [Word; 1] = [abi::frame::vector::PAGE_FAULT];
/// The error of a write to a page that a user may only read.
pub const WRITE_REFUSED: Word = WRITE_MISSED | abi::frame::fault::PROTECTION;
/// The error of a write to a page that is not there.
pub const WRITE_MISSED: Word = abi::frame::fault::WRITE;

/// Code of a native thread that answers each message with the first three of its words, where a test
/// needs that.
pub const ANSWERS: Option<fn() -> Vec<u8>> = None;

/// Register 31, which is zero.
const ZERO: u32 = 31;

/// An instruction that names memory, or a branch's register: an opcode, two registers, 16 bits.
const fn memory(opcode: u32, a: u32, b: u32, distance: i16) -> u32 {
    opcode << 26 | a << 21 | b << 16 | distance as u16 as u32
}

/// Loads and stores of 32 bits, and the two that add 16 bits, low or high.
const fn ldl(a: u32, distance: i16, b: u32) -> u32 {
    memory(0x28, a, b, distance)
}
const fn stl(a: u32, distance: i16, b: u32) -> u32 {
    memory(0x2c, a, b, distance)
}
const fn lda(a: u32, distance: i16, b: u32) -> u32 {
    memory(0x08, a, b, distance)
}
const fn ldah(a: u32, distance: i16, b: u32) -> u32 {
    memory(0x09, a, b, distance)
}

/// A branch over so many instructions from the next one on, which may be before it.
const fn br(instructions: i32) -> u32 {
    0x30 << 26 | ZERO << 21 | instructions as u32 & 0x1f_ffff
}

/// A register is another one.
const fn bis(from: u32, to: u32) -> u32 {
    0x11 << 26 | from << 21 | from << 16 | 0x20 << 5 | to
}

/// An instruction that no Alpha has.
const INVALID_CODE: u32 = 0x0400_0000;
/// A breakpoint.
const BREAKPOINT_CODE: u32 = 0x80;

/// Defines functions that return code.
macro_rules! encoded {
    ($($(#[$doc:meta])* $name:ident: $($word:expr),+;)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name() -> &'static [u8] {
            const WORDS: &[u32] = &[$($word),+];
            const BYTES: [u8; 4 * WORDS.len()] = bytes(WORDS);
            &BYTES
        }
    )+};
}

/// The bytes of words, in their order in memory.
const fn bytes<const BYTES: usize>(words: &[u32]) -> [u8; BYTES] {
    let (mut bytes, mut index) = ([0; BYTES], 0);
    while index < BYTES {
        bytes[index] = words[index / 4].to_le_bytes()[index % 4];
        index += 1;
    }
    bytes
}

/// Machine code. A thread starts with its UTCB's address in $16 and the argument in $17, all else
/// zero.
pub mod code {
    use super::{
        BREAKPOINT_CODE, INVALID_CODE, Vec, ZERO, bis, br, bytes, call_pal, lda, ldah, ldl, stl,
    };

    encoded! {
        /// Raises the exception [`INVALID`](super::INVALID).
        invalid: INVALID_CODE;
        /// Raises the exception [`BREAKPOINT`](super::BREAKPOINT).
        breakpoint: BREAKPOINT_CODE;
        /// Does nothing.
        nop: bis(ZERO, ZERO);
        /// Reads the 32 bits that the argument names.
        read: ldl(1, 0, 17);
        /// Writes zeros there, if the thread has just started.
        write: stl(1, 0, 17);
        /// Reads there, tells it by an invalid instruction, and again.
        reads: ldl(1, 0, 17), INVALID_CODE, br(-3);
        /// Writes there, tells it by an invalid instruction, and again.
        writes: stl(1, 0, 17), INVALID_CODE, br(-3);
        /// Gives the registers of the number and of the first argument the value 0x1234.
        values: lda(0, 0x1234, ZERO), lda(16, 0x1234, ZERO);
        /// An alien's system call.
        system_call: call_pal::SYSTEM_CALL;
        /// Number 20 and arguments 1 to 6.
        arguments:
            lda(0, 20, ZERO), lda(16, 1, ZERO), lda(17, 2, ZERO), lda(18, 3, ZERO), lda(19, 4, ZERO),
            lda(20, 5, ZERO), lda(21, 6, ZERO);
        /// System calls of an alien for ever.
        system_calls: call_pal::SYSTEM_CALL, br(-2);
        /// The same, and before each it uses its thread pointer, which it has given itself.
        system_calls_with_pointer: ldah(23, 1, ZERO), bis(23, 1), call_pal::SYSTEM_CALL, br(-3);
        /// An alien writes 7 to where its first argument says, and tells it by a system call.
        writes_seven: lda(1, 7, ZERO), stl(1, 0, 16), call_pal::SYSTEM_CALL;
        /// An alien writes 32 bits of its fifth argument to where the first says.
        stores: stl(20, 0, 16);
        /// Counts in the register of an alien's number, for ever.
        counts: lda(0, 1, 0), br(-2);
        /// Reads a word of every page from the argument on, for ever.
        reads_pages: ldl(1, 0, 17), lda(17, 0x2000, 17), br(-3);
    }

    // For cases that are this processor's own.
    encoded! {
        /// Instructions of PALcode: a register of its own, read and written, memory by its physical
        /// address, and the way back.
        reads_register: 0x6420_0000;
        /// See [`reads_register`].
        writes_register: 0x77e0_0000;
        /// See [`reads_register`].
        reads_physical: 0x6c31_9000;
        /// See [`reads_register`].
        writes_physical: 0x7c31_9000;
        /// See [`reads_register`].
        leaves_palmode: 0x7bf1_8000;
        /// An instruction of the FPU: `addt`.
        uses_fpu: 0x5800_1400;
        /// Reads 64 bits where the argument says.
        read_wide: 0x29 << 26 | 1 << 21 | 17 << 16;
        /// Writes them.
        write_wide: 0x2d << 26 | 1 << 21 | 17 << 16;
        /// Goes on at the argument.
        branch: 0x1a << 26 | ZERO << 21 | 17 << 16;
        /// Reads the counter, twice, and tells it.
        reads_count: call_pal::COUNTER, bis(0, 1), call_pal::COUNTER, INVALID_CODE;
    }

    /// A call of PALcode by its number.
    #[must_use]
    pub fn call_pal(number: u32) -> [u8; 4] {
        number.to_le_bytes()
    }

    /// Reads so many bytes from the port that the argument says.
    #[must_use]
    pub fn reads_port(bytes: i16) -> Vec<u8> {
        port(bytes, call_pal::PORT_READ)
    }

    /// Writes them.
    #[must_use]
    pub fn writes_port(bytes: i16) -> Vec<u8> {
        port(bytes, call_pal::PORT_WRITE)
    }

    fn port(bytes: i16, number: u32) -> Vec<u8> {
        [bis(17, 16), lda(17, bytes, ZERO), number].map(u32::to_le_bytes).concat()
    }

    /// A jump that ends this many bytes after its start, less than 4 MiB.
    #[must_use]
    pub fn jump(distance: u64) -> Vec<u8> {
        br((distance as i32 - 4) / 4).to_le_bytes().into()
    }

    /// Loads a value to a register.
    #[must_use]
    pub fn load(register: u32, value: u64) -> Vec<u8> {
        // sll register, 32, register
        let shift = 0x12 << 26 | register << 21 | 32 << 13 | 1 << 12 | 0x39 << 5 | register;
        // Each addition has a sign, so what is before it is larger by one if it is negative.
        let part = |shift: u32, added: u64| (value.wrapping_add(added) >> shift) as i16;
        let low = 0x8000;
        let middle = low + 0x8000_0000;
        let high = middle + 0x8000_0000_0000;
        [
            ldah(register, part(48, high), ZERO),
            lda(register, part(32, middle), register),
            shift,
            ldah(register, part(16, low), register),
            lda(register, part(0, 0), register),
        ]
        .map(u32::to_le_bytes)
        .concat()
    }

    /// A native thread's system call: tag, then `a0` to `a3`.
    #[must_use]
    pub fn native_call(registers: [u64; 5]) -> Vec<u8> {
        let mut code: Vec<u8> = [0, 16, 17, 18, 19]
            .into_iter()
            .zip(registers)
            .flat_map(|(register, value)| load(register, value))
            .collect();
        code.extend(system_call());
        code
    }

    /// Writes 32 bits of the UTCB. To come before any system call.
    #[must_use]
    pub fn set_utcb(offset: usize, value: u32) -> Vec<u8> {
        const SCRATCH: u32 = 1;
        // $16 names the UTCB at the start.
        [load(SCRATCH, value.into()), stl(SCRATCH, offset as i16, 16).to_le_bytes().into()].concat()
    }
}

/// Gives a thread a thread pointer: that is a register as any other here, and programs load it
/// themselves.
///
/// # Errors
/// None.
pub fn set_thread_pointer(_: Thread, _: Word) -> Result<()> {
    Ok(())
}
