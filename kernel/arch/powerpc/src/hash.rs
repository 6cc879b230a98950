// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hashed table of a 604, which lies in RAM that nobody else has.

use crate::regs;
use kcore::boot::Range;
use mmu::hash::{Group, LEAST};

/// Bytes of a table for so much RAM: an entry for each two pages, as Linux/PPC has it, and at least what the processor wants.
pub const fn bytes(ram: u32) -> u32 {
    let wanted = (ram / 1024).next_power_of_two();
    let least = (LEAST * size_of::<Group>()) as u32;
    if wanted < least { least } else { wanted }
}

/// Makes the processor walk a table in this RAM, at a multiple of its bytes.
///
/// # Safety
/// Once, at boot; the kernel reaches the RAM, and nobody else has it.
pub unsafe fn set_up(place: Range) -> &'static mut [Group] {
    let groups = place.bytes as usize / size_of::<Group>();
    // SAFETY: the caller's: RAM is aligned for words, and only this reference names it. All bits of an entry can be zero.
    let table = unsafe {
        core::ptr::write_bytes(place.base.0 as *mut u8, 0, place.bytes as usize);
        core::slice::from_raw_parts_mut(place.base.0 as *mut Group, groups)
    };
    // SAFETY: the caller's; the processor only reads it, as R and C are preset.
    unsafe { regs::set_hash(place.base.0, place.bytes) };
    table
}
