// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the port records for a space, and which tables the processor uses.

use crate::{paging, regs};
use abi::UserAddr;
use arch_common::place;
use core::ops::Range;
use kcore::Space;
use mmu::pcid::{Change, KEEP, Pcids, changed, is_entered, without};
use pool::{Link, Pool, Ref};
use x86_64_context::hw::{HIGH, TABLE};

/// PCIDs that are used.
const PCIDS: usize = 64;

/// Which space has which PCID, if there are PCIDs, and which bits of a space's word are loaded.
pub struct Spaces {
    pcids: Option<Pcids<Link<Space>, PCIDS>>,
    mask: u64,
}

/// What is loaded into CR3 to enter a space (`mmu::pcid`): without PCIDs the address of its highest
/// table.
fn word(pool: &Pool, space: Ref<Space>) -> u64 {
    let hw = &pool[space].hw;
    u64::from(hw[HIGH]) << 32 | u64::from(hw[TABLE])
}

fn set_word(pool: &mut Pool, space: Ref<Space>, word: u64) {
    let hw = &mut pool[space].hw;
    (hw[TABLE], hw[HIGH]) = (word as u32, (word >> 32) as u32);
}

/// A space was made, whose highest table is at this address of the pool.
pub fn created(pool: &mut Pool, space: Ref<Space>, top: u32) {
    set_word(pool, space, place::physical(top).into());
}

impl Spaces {
    /// No space has a PCID yet. If the processor has no PCIDs, they may still be shown: CR3 has
    /// them for the machine model, and each load of CR3 drops all translations that are not global.
    pub const fn new(has_pcids: bool, shows: bool) -> Self {
        let pcids = if has_pcids || shows { Some(Pcids::new()) } else { None };
        Self { pcids, mask: if has_pcids { u64::MAX } else { !KEEP } }
    }

    /// Loads the tables of a space, if they are not loaded. CR3 itself says whose tables are
    /// loaded, because fast paths load them, too.
    pub fn enter(&mut self, pool: &mut Pool, space: Ref<Space>) {
        let (before, loaded) = (word(pool, space), regs::read_cr3());
        let load = match &mut self.pcids {
            None => (!is_entered(before, loaded)).then_some(before),
            Some(pcids) => {
                let entry = pcids.enter(space.link(), before, loaded);
                if let Some(loser) = entry.loser.and_then(Link::get) {
                    set_word(pool, loser, without(word(pool, loser)));
                }
                set_word(pool, space, entry.word & self.mask);
                entry.load.map(|load| load & self.mask)
            }
        };
        if let Some(load) = load {
            // SAFETY: the table has the kernel's part (`Translation::space_created`).
            unsafe { regs::write_cr3(load) };
        }
    }

    /// A space ends: its tables are not the processor's any more.
    pub fn dropped(&mut self, pool: &Pool, space: Ref<Space>) {
        let word = word(pool, space);
        if is_entered(word, regs::read_cr3()) {
            // SAFETY: boot's table is the kernel's part, and stays.
            unsafe { regs::write_cr3(paging::top_physical().into()) };
        }
        if let Some(pcids) = &mut self.pcids {
            pcids.leave(space.link(), word);
        }
    }
}

/// Afterwards the processor uses no older translations of a range of a space.
pub fn invalidate(pool: &mut Pool, space: Ref<Space>, range: &Range<UserAddr>) {
    match changed(word(pool, space), regs::read_cr3()) {
        Change::Now => paging::flush(range.start.0..range.end.0),
        Change::Word(word) => set_word(pool, space, word),
    }
}
