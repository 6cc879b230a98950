// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens on IA-32: random selectors, TLS descriptors, debug registers and FPU state.

use crate::Random;
use crate::handler::{BYTES, SIZE, THERE};
use abi::arch::ia32::kip::FEATURE_SERVERS;
use abi::frame::vector;
use macadamia::alien::Alien;
use macadamia::{Frame, time};

/// Whether spaces can be small.
pub fn has_small_spaces() -> bool {
    time::kip().features & FEATURE_SERVERS != 0
}

/// I/O privilege, virtual interrupts, virtual 8086 mode: no user flags.
const PRIVILEGE: u32 = 0x001a_3000;
const INTERRUPTS: u32 = 0x200;

/// Whether an alien has a value that no user may have.
pub fn is_privileged(frame: &Frame) -> bool {
    frame.eflags & PRIVILEGE != 0 || frame.eflags & INTERRUPTS == 0
}

/// The exception of an alien's event.
pub fn exception(frame: &Frame) -> Option<u32> {
    Some(frame.vector).filter(|vector| *vector < 0x20)
}

/// Whether it is a system call.
pub fn is_system_call(frame: &Frame) -> bool {
    matches!(frame.vector, vector::SYSTEM_CALL | vector::SYSENTER)
}

/// A hostile frame.
pub fn frame(random: &mut Random, mild: bool) -> Frame {
    let selectors = |random: &mut Random| match random.below(4) {
        0 => random.next(),
        1 => 0x0033_003b ^ random.below(4),
        _ => 0x0023_0023,
    };
    let [eax, ebx, ecx, edx, esi, edi, ebp] =
        [(); 7].map(|()| match random.below(if mild { 2 } else { 3 }) {
            0 => random.value(),
            1 => THERE + random.below(BYTES),
            // A neighbour's addresses, relative to the alien's base.
            _ => (THERE + random.below(BYTES))
                .wrapping_add(SIZE.wrapping_mul(random.below(7).wrapping_sub(3))),
        });
    Frame {
        eax,
        ebx,
        ecx,
        edx,
        esi,
        edi,
        ebp,
        esp: if random.below(8) == 0 { random.value() } else { THERE + random.below(BYTES) },
        eip: if random.below(16) == 0 { random.value() } else { THERE + random.below(BYTES) },
        eflags: random.next(),
        ds_es: selectors(random),
        fs_gs: selectors(random),
        vector: random.next(),
        error: random.next(),
        address: random.next(),
        changed: random.next() & random.next(),
    }
}

/// Four random bytes. QEMU 10 allows ring 3 what no processor does: `iret` takes the VM flag and
/// the I/O privilege level, `mov` loads CS, `ltr` a task register whose loss ends QEMU. Code that
/// is `mild` has none of the bytes with which these begin; Bochs, which has none of these faults,
/// gets all bytes.
pub fn code(random: &mut Random, mild: bool) -> u32 {
    const NOP: u8 = 0x90;
    u32::from_le_bytes(
        random
            .next()
            .to_le_bytes()
            .map(|byte| if mild && matches!(byte, 0x0f | 0x8e | 0xcf) { NOP } else { byte }),
    )
}

/// Calls that change the alien's state; most of them are refused.
pub fn prepare(alien: &Alien, random: &mut Random) {
    let thread = alien.thread;
    let _ = match random.below(8) {
        0 => thread.set_tls(random.below(4), random.value(), random.next()),
        1 => thread.set_debug(random.below(9), random.value()).map(|_| ()),
        2 => thread.set_debug(7, 0x5 | random.next() & 0xffff_0000).map(|_| ()),
        3 => thread
            .fpu_sync()
            .map(|()| (0..128).for_each(|word| alien.set_fpu_word(word, random.next()))),
        _ => Ok(()),
    };
}
