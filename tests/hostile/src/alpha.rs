// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens on Alpha: calls of PALcode, addresses of the kernel and of its devices, programs that
//! continue at odd addresses.

use crate::handler::{BYTES, THERE};
use crate::{EDGE, POOL, Random};
use abi::Word;
use abi::arch::alpha::call_pal;
use abi::frame::vector;
use macadamia::Frame;
use macadamia::alien::Alien;

/// Where the kernel has PALcode, its image, I/O ports and the board's registers.
const KERNELS: [Word; 4] =
    [0xffff_fc00_0000_0000, 0xffff_fc00_0001_0000, 0xffff_fd01_fc00_0000, 0xffff_fd01_a000_0000];

/// Whether spaces can be small.
pub fn has_small_spaces() -> bool {
    false
}

/// Whether an alien has what no user has: a register that is the kernel's. None is.
pub fn is_privileged(frame: &Frame) -> bool {
    // PALmode goes on at odd addresses.
    frame.pc & 3 != 0
}

/// The exception that an alien's event is.
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
        pc: if random.below(8) == 0 { place(random, 16) } else { place(random, 16) & !3 },
        vector: random.next(),
        error: random.next(),
        address: random.next(),
        changed: random.next() & random.next(),
    }
}

/// A random instruction, one time in four of those that load and store, one in eight a call of
/// PALcode, one in eight one of PALcode's own, one in eight a system call.
pub fn code(random: &mut Random, _: bool) -> u32 {
    const LOADS: u32 = 8;
    /// The opcodes of PALcode.
    const OWN: [u32; 5] = [0x19, 0x1b, 0x1d, 0x1e, 0x1f];
    let word = random.bits();
    match random.below(8) {
        0 => word & 0x03ff_ffff | (LOADS + random.below(8) as u32) << 26,
        1 => word & 0x03ff_ffff | (0x28 + random.below(8) as u32) << 26,
        2 => word & 0xff,
        3 => call_pal::SYSTEM_CALL,
        4 => word & 0x03ff_ffff | OWN[random.below(5) as usize] << 26,
        _ => word,
    }
}

/// Calls that change what the alien will find: none.
pub fn prepare(_: &Alien, _: &mut Random) {}
