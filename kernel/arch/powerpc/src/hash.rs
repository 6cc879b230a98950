// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hashed table of a 604. It is in RAM that nothing else uses, and after it are the bits that
//! say which contexts are in use.
//!
//! `hash.S` inserts entries. [`insert`] does the same for the cases that `hash.S` leaves out, and
//! for all cases with the boot word `reload=slow`.

use crate::layout::RELOAD;
use crate::patch::write_code;
use crate::regs;
use abi::{PhysAddr, UserAddr};
use kcore::boot::Range;
use mmu::hash::{Group, Inserted, LEAST};
use mmu::sweep::{least_contexts, words};

/// Bytes of a table for this much RAM: an entry for every two pages, as in Linux/PPC, and at least
/// what the processor requires.
const fn table_bytes(ram: u32) -> u32 {
    let wanted = (ram / 1024).next_power_of_two();
    let least = (LEAST * size_of::<Group>()) as u32;
    if wanted < least { least } else { wanted }
}

/// Where the table is, and how many contexts there are.
#[derive(Clone, Copy)]
pub struct Place {
    table: Range,
    /// As many contexts as requested, and at least as many as are needed to sweep the table in
    /// time.
    pub contexts: u32,
}

/// The table and the bits after it.
pub struct Tables {
    /// The hashed table.
    pub table: &'static mut [Group],
    /// A bit for each context of a half.
    pub live: &'static mut [u32],
}

impl Place {
    /// Places for them after this address, in a machine with this much RAM.
    pub const fn new(after: PhysAddr, ram: u32, contexts: u32) -> Self {
        let bytes = table_bytes(ram);
        let least = least_contexts(bytes as usize / size_of::<Group>());
        let table = Range { base: after.align_up(bytes), bytes };
        Self { table, contexts: if contexts < least { least } else { contexts } }
    }

    const fn live_bytes(&self) -> u32 {
        words(self.contexts) as u32 * 4
    }

    /// The range of all of it, in whole pages.
    pub const fn range(&self) -> Range {
        Range {
            base: self.table.base,
            bytes: self.table.bytes + self.live_bytes().next_multiple_of(abi::PAGE_SIZE),
        }
    }

    /// Makes the processor search the table.
    ///
    /// # Safety
    /// Once, at boot; the kernel can access the RAM, and nothing else uses it.
    pub unsafe fn set_up(self) -> Tables {
        let Range { base: PhysAddr(base), bytes } = self.range();
        let (groups, end) =
            (self.table.bytes as usize / size_of::<Group>(), base + self.table.bytes);
        // SAFETY: the caller's: RAM is aligned for words, and only these references name it. All
        // bits of an entry can be zero. The processor only reads the table, as R and C are preset.
        unsafe {
            core::ptr::write_bytes(base as *mut u8, 0, bytes as usize);
            regs::set_hash(base, self.table.bytes);
            place_in_code(self.table);
            Tables {
                table: core::slice::from_raw_parts_mut(base as *mut Group, groups),
                live: core::slice::from_raw_parts_mut(end as *mut u32, words(self.contexts)),
            }
        }
    }
}

unsafe extern "C" {
    static hash_groups: [u32; 2];
}

/// Writes the table's place and size into `hash.S`: the first bit of a mask into a `rlwinm`, and
/// the upper half of an address into an `oris`.
///
/// # Safety
/// No user runs yet.
unsafe fn place_in_code(table: Range) {
    let [group, base] =
        [0, 1].map(|index| (&raw const hash_groups).cast::<u32>().wrapping_add(index));
    let first_bit = (table.bytes - 1).leading_zeros();
    // SAFETY: the two instructions there, which only a user's misses execute; and the only
    // reference to `RELOAD`.
    unsafe {
        write_code(group, group.read_volatile() | first_bit << 6);
        write_code(base, base.read_volatile() | table.base.0 >> 16);
        (*RELOAD.get()).mask = table.bytes - size_of::<Group>() as u32;
    }
}

/// Inserts the entry of a page.
pub fn insert(table: &mut [Group], vsid: u32, address: UserAddr, value: u32) {
    // SAFETY: assembly touches it only while no Rust runs, and this is the only reference.
    let reload = unsafe { &mut *RELOAD.get() };
    let inserted = mmu::hash::insert(table, vsid, address, value, &mut reload.hand);
    reload.evicts = reload.evicts.wrapping_add(u32::from(inserted == Inserted::Evicted));
}

/// How many entries were replaced by others.
pub fn evicts() -> u32 {
    // SAFETY: as above.
    unsafe { (*RELOAD.get()).evicts }
}
