// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens on ARMv5TE: random status and thread pointers, ARM and Thumb code, the kernel's helpers.

use crate::Random;
use crate::handler::{BYTES, THERE};
use abi::call;
use abi::frame::vector;
use macadamia::alien::Alien;
use macadamia::{Frame, sys};

/// Mode, F and I of the status, and J: bits that a user may not change.
const CONTROL: u32 = 0x0100_00df;
const USER: u32 = 0x10;
/// The part of the last page that has the helpers.
const HELPERS: u32 = 0xffff_0f60;
const HELPER_BYTES: u32 = 0xa0;

/// Whether spaces can be small.
pub fn has_small_spaces() -> bool {
    false
}

/// Whether an alien has a value that no user may have.
pub fn is_privileged(frame: &Frame) -> bool {
    frame.cpsr & CONTROL != USER
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
        1 => HELPERS + random.below(HELPER_BYTES),
        _ => THERE + random.below(BYTES),
    }
}

/// A hostile frame.
pub fn frame(random: &mut Random, _: bool) -> Frame {
    Frame {
        r: core::array::from_fn(|_| {
            if random.below(2) == 0 { random.value() } else { place(random, 16) & !3 }
        }),
        sp: place(random, 8),
        lr: place(random, 8),
        pc: place(random, 16),
        cpsr: random.next(),
        vector: random.next(),
        error: random.next(),
        address: random.next(),
        changed: random.next() & random.next(),
    }
}

/// A random instruction, half of the time one that is always executed in ARM state.
pub fn code(random: &mut Random, _: bool) -> u32 {
    const ALWAYS: u32 = 0xe;
    let word = random.next();
    if random.below(2) == 0 { word } else { word & 0x0fff_ffff | ALWAYS << 28 }
}

/// Calls that change the alien's state; some of them are refused.
pub fn prepare(alien: &Alien, random: &mut Random) {
    if random.below(4) == 0 {
        let part = random.below(2) * random.value();
        let _ = sys::call(call::SetState {
            thread: alien.thread.into(),
            part,
            values: [random.value(), random.next()],
        });
    }
    if random.below(8) == 0 {
        let _ = alien.thread.fpu_sync();
    }
}
