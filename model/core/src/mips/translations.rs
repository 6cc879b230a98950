// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of translations that a processor might still have, and that the kernel's tables no
//! longer have.
//!
//! A TLB without limits holds each pair of pages that was used under an ASID until the kernel drops
//! it. What it holds is compared with the kernel's tables when it is used, once after each return
//! to user mode, because nothing changes while user mode runs. If QEMU reports which memory it
//! accessed, that has to be what the tables say, too.

use super::tlb::{Dropped, Key};
use super::walk::{Pair, walk};
use crate::memory::{NoMapping, Physical};
use rustc_hash::FxHashMap;

/// A pair that may be held.
#[derive(Clone, Copy)]
struct Held {
    pair: Pair,
    /// The stretch of user mode in which each of its pages was compared, and for what.
    compared: [Option<(u32, bool)>; 2],
}

/// The result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It used what the tables have.
    Good,
    /// It used something else.
    Stale,
    /// The tables cannot be read.
    Unknown,
}

/// What a TLB might hold.
#[derive(Default)]
pub struct Translations {
    held: FxHashMap<Key, Held>,
    /// Counts stretches of user mode.
    stretch: u32,
    /// The kernel has filled the TLB for an address that is not known: one that is accessed in this
    /// stretch.
    is_filled: bool,
}

impl Translations {
    /// User mode continues: the kernel may have changed anything.
    pub fn enter_user(&mut self) {
        self.stretch = self.stretch.wrapping_add(1);
    }

    /// The kernel is entered.
    pub fn leave_user(&mut self) {
        self.is_filled = false;
    }

    /// The kernel fills the TLB itself.
    pub fn fill(&mut self) {
        self.is_filled = true;
    }

    /// User mode has read, written or fetched at an address with an ASID, whose tables are at
    /// `top`. The physical address is given if it is known.
    pub fn access(
        &mut self,
        (key, address): (Key, u64),
        write: bool,
        top: u32,
        physical: Option<u32>,
        memory: &mut impl Physical,
    ) -> Verdict {
        const IN_PAGE: u32 = 0xfff;
        let odd = (address >> 12 & 1) as usize;
        let held = self.held.get(&key).copied();
        if let Some(held) = held.filter(|held| {
            held.compared[odd]
                .is_some_and(|(stretch, written)| stretch == self.stretch && (written || !write))
        }) && physical.is_none_or(|at| at == held.pair.page(address).physical(address))
        {
            return Verdict::Good;
        }
        let now = match walk(memory, top, address, |_| ()) {
            Err(NoMapping::Unreachable) => return Verdict::Unknown,
            found => found.unwrap_or_default(),
        };
        let (page, is_allowed) = (now.page(address), now.page(address).permits(write));
        // An entry that forbids the access has the kernel replace it.
        let used = held.map(|held| held.pair.page(address)).filter(|page| page.permits(write));
        let is_right = used.is_none_or(|used| used.is_at(page)) || self.is_filled;
        let is_seen = physical.is_none_or(|at| (at ^ page.physical(address)) & !IN_PAGE == 0);
        let mut compared =
            held.filter(|held| held.pair == now).map_or([None; 2], |held| held.compared);
        compared[odd] = Some((self.stretch, write));
        // Reported once for each change.
        self.held.insert(key, Held { pair: now, compared });
        if is_allowed && is_right && is_seen { Verdict::Good } else { Verdict::Stale }
    }

    /// The kernel drops something of an ASID.
    pub fn drop(&mut self, dropped: Dropped) {
        match dropped {
            Dropped::Pair(key) => drop(self.held.remove(&key)),
            Dropped::Some(_) => self.held.retain(|key, _| !dropped.has(*key)),
        }
    }

    /// Everything is dropped.
    pub fn flush(&mut self) {
        self.held.clear();
    }
}
