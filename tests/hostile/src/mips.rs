// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens on MIPS: instructions of coprocessor 0, addresses of the kernel and of its devices,
//! programs that continue at odd addresses.

use crate::handler::{BYTES, THERE};
use crate::{EDGE, POOL, Random};
use abi::Word;
use abi::frame::vector;
use macadamia::Frame;
use macadamia::alien::Alien;

/// The addresses of the kernel's vectors, its image, I/O ports and the board's registers; and the
/// segment that maps all of physical memory.
const KERNELS: [Word; 5] = [
    0xffff_ffff_8000_0000,
    0xffff_ffff_8020_0000,
    0xffff_ffff_b800_0000,
    0xffff_ffff_bf00_0000,
    0x9000_0000_0000_0000,
];

/// Whether spaces can be small.
pub fn has_small_spaces() -> bool {
    false
}

/// Whether an alien has a value that no user may have: something in the kernel's registers.
pub fn is_privileged(frame: &Frame) -> bool {
    frame.r[0] | frame.r[26] | frame.r[27] != 0
}

/// The exception of an alien's event.
pub fn exception(frame: &Frame) -> Option<Word> {
    Some(frame.vector).filter(|vector| *vector < 0x20)
}

/// Whether it is a system call.
pub fn is_system_call(frame: &Frame) -> bool {
    frame.vector == vector::SYSTEM_CALL
}

/// An address among the random code, and some others.
fn place(random: &mut Random, others: Word) -> Word {
    match random.below(others) {
        0 => random.value(),
        1 => EDGE - random.below(4),
        2 => POOL + random.below(1 << 20),
        3 => KERNELS[random.below(KERNELS.len() as Word) as usize] + random.below(0x1000),
        _ => THERE + random.below(BYTES),
    }
}

/// A hostile frame.
pub fn frame(random: &mut Random, _: bool) -> Frame {
    Frame {
        r: core::array::from_fn(|_| {
            if random.below(2) == 0 { random.value() } else { place(random, 16) & !7 }
        }),
        hi: random.next(),
        lo: random.next(),
        pc: if random.below(8) == 0 { place(random, 16) } else { place(random, 16) & !3 },
        vector: random.next(),
        error: random.next(),
        address: random.next(),
        changed: random.next() & random.next(),
    }
}

/// A random instruction: one time in four a load or store, one in eight an instruction of
/// coprocessor 0, one in eight a system call.
pub fn code(random: &mut Random, _: bool) -> u32 {
    const LOADS: u32 = 32;
    const COPROCESSOR: u32 = 16 << 26;
    const SYSTEM_CALL: u32 = 12;
    let word = random.bits();
    match random.below(8) {
        0 | 1 => word & 0x03ff_ffff | (LOADS + random.below(32) as u32) << 26,
        2 => word & 0x03ff_ffff | COPROCESSOR,
        3 => SYSTEM_CALL,
        _ => word,
    }
}

/// Calls that change the alien's state: none.
pub fn prepare(_: &Alien, _: &mut Random) {}
