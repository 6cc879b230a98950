// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens on x86-64: random bases of FS and GS, and FPU state, non-canonical addresses.

use crate::handler::{BYTES, THERE};
use crate::{EDGE, POOL, Random};
use abi::Word;
use abi::call::SetState;
use abi::frame::vector;
use abi::state::{GS_BASE, THREAD_POINTER};
use abi::utcb::FPU_SIZE;
use macadamia::alien::Alien;
use macadamia::{Frame, sys};

/// I/O privilege, virtual interrupts, virtual 8086 mode: no user flags.
const PRIVILEGE: Word = 0x001a_3000;
const INTERRUPTS: Word = 0x200;

/// Whether spaces can be small.
pub fn has_small_spaces() -> bool {
    false
}

/// Whether an alien has a value that no user may have.
pub fn is_privileged(frame: &Frame) -> bool {
    frame.rflags & PRIVILEGE != 0 || frame.rflags & INTERRUPTS == 0
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
        _ => THERE + random.below(BYTES),
    }
}

/// A hostile frame.
pub fn frame(random: &mut Random, _: bool) -> Frame {
    Frame {
        r: core::array::from_fn(|_| {
            if random.below(2) == 0 { random.value() } else { place(random, 16) }
        }),
        rsp: place(random, 8),
        rip: place(random, 16),
        rflags: random.next(),
        fs_base: place(random, 4),
        vector: random.next(),
        error: random.next(),
        address: random.next(),
        changed: random.next() & random.next(),
    }
}

/// Four random bytes, one time in eight a system call and two of them. In mild code none of these
/// bytes begins an instruction that QEMU 10 allows ring 3 and no processor does (see IA-32); and
/// none is C4, which `vpinsrb`, `vpinsrw` and `vpinsrd` have: with 256 bits, a form that does not
/// exist, QEMU 10 ends at an assertion.
pub fn code(random: &mut Random, mild: bool) -> u32 {
    const NOP: u8 = 0x90;
    const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];
    let bytes = random.bits().to_le_bytes();
    let mut bytes = bytes
        .map(|byte| if mild && matches!(byte, 0x0f | 0x8e | 0xc4 | 0xcf) { NOP } else { byte });
    if random.below(8) == 0 {
        bytes[..2].copy_from_slice(&SYSTEM_CALL);
    }
    u32::from_le_bytes(bytes)
}

/// Calls that change the alien's state; some of them are refused.
pub fn prepare(alien: &Alien, random: &mut Random) {
    let thread = alien.thread;
    let _ = match random.below(8) {
        part @ 0..2 => sys::call(SetState {
            thread: thread.into(),
            part: if part == 0 { THREAD_POINTER.into() } else { GS_BASE.into() },
            values: [random.value(), random.next()],
        })
        .map(|_| ()),
        2 => thread.fpu_sync().map(|()| {
            (0..FPU_SIZE / 4).for_each(|word| alien.set_fpu_word(word, random.bits()));
        }),
        _ => Ok(()),
    };
}
