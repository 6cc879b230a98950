// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of tables, for what the processor cannot read of the core's: a Segment that is attached by
//! fewer rights than its tables give. QEMU checks rights in leaf tables only, so such a directory's
//! entry is not valid (`mmu::alpha`), and an access there is a fault.
//!
//! The copies are those of one space: its highest table, and for some entries of directories a
//! directory and a leaf table, in which pages have the rights that are left. They are made again at
//! each fault that they can repair, and forgotten when any mapping is removed.

use crate::{regs, space};
use abi::{Rights, UserAddr};
use arch_common::shared::Shared;
use kcore::{Space, Table};
use mmu::Format;
use mmu::alpha::Alpha as Tables;
use pool::{Link, Pool, Ref};

/// So many leaf tables are copied at once: an instruction accesses two pages at most, and is itself in
/// one.
const COPIES: usize = 4;
/// Entries of a table.
const ENTRIES: usize = Tables::ENTRIES;

/// The copies, in pages: the highest table, directories, leaf tables.
#[repr(C, align(8192))]
struct Pages {
    top: [u64; ENTRIES],
    directories: [[u64; ENTRIES]; COPIES],
    leaves: [[u64; ENTRIES]; COPIES],
}

static PAGES: Shared<Pages> = Shared::new(Pages {
    top: [0; ENTRIES],
    directories: [[0; ENTRIES]; COPIES],
    leaves: [[0; ENTRIES]; COPIES],
});

/// What there are copies of.
pub struct Shadow {
    /// Whose they are.
    owner: Link<Space>,
    /// The numbers of the leaf tables.
    copied: [Option<usize>; COPIES],
    /// Which goes next.
    next: usize,
}

/// Where a copy is: the physical address of its first entry.
fn place(entries: &[u64; ENTRIES]) -> abi::PhysAddr {
    abi::PhysAddr(entries.as_ptr().addr() as u64)
}

impl Shadow {
    /// None.
    pub const fn new() -> Self {
        Self { owner: Link::NULL, copied: [None; COPIES], next: 0 }
    }

    /// There is none any more.
    pub fn forget(&mut self) {
        if self.owner.get().is_some() {
            *self = Self::new();
            regs::forget_table();
        }
    }

    /// The physical address of the highest table that the processor reads for a space.
    pub fn table(&self, pool: &Pool, space: Ref<Space>) -> u32 {
        if self.owner.is(space) { PAGES.address() } else { pool[space].region.top.value() }
    }

    /// A space had a fault at an address, though its tables allow the access: whether it is made good.
    pub fn fill(
        &mut self,
        pool: &Pool,
        space: Ref<Space>,
        address: UserAddr,
        access: Rights,
    ) -> bool {
        let Some((directory, leaf)) = space::entries(pool, space, address) else { return false };
        let left = Tables::table_rights(directory);
        let allows = |rights: Rights| rights.intersection(left).contains(access);
        if !Tables::decode(leaf).is_some_and(|leaf| allows(leaf.rights)) {
            return false;
        }
        if left.contains(Rights::RWX) {
            // The processor reads it, unless it read a copy of what is above it.
            let had_copies = self.owner.is(space);
            self.forget();
            return had_copies;
        }
        if !self.owner.is(space) {
            *self = Self { owner: space.link(), ..Self::new() };
        }
        let number = Tables::table_index(address);
        if !self.copied.contains(&Some(number)) {
            self.copied[self.next] = Some(number);
            self.next = (self.next + 1) % COPIES;
        }
        self.copy(pool, space);
        true
    }

    /// Makes all copies again.
    fn copy(&mut self, pool: &Pool, space: Ref<Space>) {
        // SAFETY: the kernel has this reference only, and users cannot access the pages.
        let pages = unsafe { &mut *PAGES.get() };
        let Some(top) = pool[space].region.top.get() else { return };
        pages.top.copy_from_slice(pool[top].entries::<Tables>());
        for index in 0..COPIES {
            let Some(number) = self.copied[index] else { continue };
            let (upper, lower) = (number / ENTRIES, number % ENTRIES);
            let Some(directory) = table(pool[top].entries::<Tables>()[upper]) else { continue };
            let entry = pool[directory].entries::<Tables>()[lower];
            let Some(leaves) = table(entry) else { continue };
            let same = |other: &Option<usize>| other.is_some_and(|other| other / ENTRIES == upper);
            let first = self.copied.iter().position(same).unwrap_or(index);
            if first == index {
                pages.directories[index].copy_from_slice(pool[directory].entries::<Tables>());
                pages.top[upper] = Tables::table(place(&pages.directories[index]));
            }
            let left = Tables::table_rights(entry);
            for (copy, entry) in
                pages.leaves[index].iter_mut().zip(pool[leaves].entries::<Tables>())
            {
                *copy = Tables::decode(*entry).map_or(0, |leaf| {
                    Tables::leaf(mmu::Leaf { rights: leaf.rights.intersection(left), ..leaf })
                });
            }
            pages.directories[first][lower] = Tables::table(place(&pages.leaves[index]));
        }
        regs::drop_all();
    }
}

/// The table that an entry names.
fn table(entry: u64) -> Option<Ref<Table>> {
    Tables::decode_table(entry).map(|(physical, _)| Ref::new(physical.0 as u32))
}
