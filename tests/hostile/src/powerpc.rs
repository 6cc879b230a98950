// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens on PowerPC: random machine state, single steps, instructions of the FPU, addresses of the
//! kernel and of its devices.

use crate::Random;
use crate::handler::{BYTES, THERE};
use abi::frame::{USER_FLAGS, vector};
use macadamia::Frame;
use macadamia::alien::Alien;

/// Bits of the machine state that every thread has: interrupts, user mode, machine checks,
/// translation.
const RUNNING: u32 = 0xd030;
/// The addresses of I/O ports, of the kernel's image and of its devices.
const KERNELS: [u32; 3] = [0xfe00_0000, 0, 0xfec0_0000];

/// Whether spaces can be small.
pub fn has_small_spaces() -> bool {
    false
}

/// Whether an alien has a value that no user may have.
pub fn is_privileged(frame: &Frame) -> bool {
    frame.msr & !USER_FLAGS != RUNNING
}

/// The exception of an alien's event.
pub fn exception(frame: &Frame) -> Option<u32> {
    Some(frame.vector).filter(|vector| *vector < 0x20)
}

/// Whether it is a system call.
pub fn is_system_call(frame: &Frame) -> bool {
    frame.vector == vector::SYSTEM_CALL
}

/// An address among the random code, and some others.
fn place(random: &mut Random, others: u32) -> u32 {
    match random.below(others) {
        0 => random.value(),
        1 => KERNELS[random.below(KERNELS.len() as u32) as usize] + random.below(0x1000),
        _ => THERE + random.below(BYTES),
    }
}

/// A hostile frame.
pub fn frame(random: &mut Random, _: bool) -> Frame {
    Frame {
        gpr: core::array::from_fn(|_| {
            if random.below(2) == 0 { random.value() } else { place(random, 16) & !3 }
        }),
        lr: place(random, 8),
        ctr: place(random, 8),
        xer: random.next(),
        cr: random.next(),
        pc: place(random, 16),
        msr: random.next(),
        vector: random.next(),
        error: random.next(),
        address: random.next(),
        changed: random.next() & random.next(),
    }
}

/// Whether an instruction is one of the vector units, which neither processor has. It is invalid
/// there, but QEMU takes it for one of a disabled unit, has no such exception for these processors,
/// and aborts.
const fn is_of_a_vector_unit(word: u32) -> bool {
    match word >> 26 {
        4 | 57 | 60..=62 => true,
        31 => match word >> 1 & 0x3ff {
            51 | 115 | 179 | 211 | 243 | 307 | 403 | 435 => true,
            // Loads and stores.
            other => matches!(other % 32, 6 | 7 | 12 | 13),
        },
        _ => false,
    }
}

/// A random instruction: one time in four a load or store, and one in eight an instruction of the
/// FPU. Mild code has none of a vector unit.
pub fn code(random: &mut Random, mild: bool) -> u32 {
    const LOADS: u32 = 32;
    const FLOATS: u32 = 48;
    const SYSTEM_CALL: u32 = 17 << 26 | 2;
    /// `lwarx`, which needs an aligned address.
    const RESERVE: u32 = 31 << 26 | 20 << 1;
    let word = random.next();
    let word = match random.below(8) {
        0 | 1 => word & 0x03ff_ffff | (LOADS + random.below(FLOATS - LOADS)) << 26,
        2 => word & 0x03ff_ffff | (FLOATS + random.below(8)) << 26,
        // Words at random are hardly ever of these two.
        3 if word & 7 == 0 => SYSTEM_CALL,
        3 if word & 7 == 1 => RESERVE | word & 0x03ff_f800,
        _ => word,
    };
    if mild && is_of_a_vector_unit(word) { word & 0x03ff_ffff | LOADS << 26 } else { word }
}

/// Calls that change the alien's state.
pub fn prepare(alien: &Alien, random: &mut Random) {
    if random.below(8) == 0 {
        let _ = alien.thread.fpu_sync();
    }
}
