// SPDX-License-Identifier: MIT OR Apache-2.0
//! The TLB: entries of two pages with an ASID.

use super::walk::{PAGE_SHIFT, Pair};
use crate::replacement::Victims;
use crate::tlb::TlbGeometry;

/// The key by which an entry is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// Its ASID.
    pub asid: u8,
    /// The number of the pair of pages.
    pub pair: u64,
}

impl Key {
    /// That of an address of an ASID.
    #[must_use]
    pub const fn new(asid: u8, address: u64) -> Self {
        Self { asid, pair: address >> (PAGE_SHIFT + 1) }
    }

    /// That of EntryHi.
    #[must_use]
    pub const fn of(entry_hi: u64) -> Self {
        Self::new(entry_hi as u8, entry_hi & 0xff_ffff_e000)
    }
}

/// What the kernel drops of an ASID's translations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// Two pages.
    Pair(Key),
    /// It is not known which: any of them.
    Some(u8),
}

impl Dropped {
    /// Whether these two pages are dropped, or may be.
    #[must_use]
    pub fn has(self, key: Key) -> bool {
        match self {
            Self::Pair(pair) => pair == key,
            Self::Some(asid) => asid == key.asid,
        }
    }
}

/// A TLB.
pub struct Tlb {
    entries: Vec<Option<(Key, Pair)>>,
    victims: Victims,
    /// Where the last hit was. It may be outdated, so it is compared.
    last: usize,
}

impl Tlb {
    /// An empty one. The geometry is sound ([`crate::Cpu::parse`] checks it); any entry takes any
    /// pair.
    pub fn new(geometry: &TlbGeometry) -> Self {
        let entries = geometry.entries as usize;
        Self {
            entries: vec![None; entries],
            victims: Victims::new(entries, entries, geometry.replacement),
            last: 0,
        }
    }

    fn find(&self, key: Key) -> Option<(usize, Pair)> {
        let held = |slot: usize| self.entries[slot].filter(|(held, _)| *held == key);
        if let Some((_, pair)) = held(self.last) {
            return Some((self.last, pair));
        }
        (0..self.entries.len()).find_map(|slot| Some((slot, held(slot)?.1)))
    }

    /// The entry of two pages, if it is held.
    pub fn look_up(&mut self, key: Key) -> Option<Pair> {
        let (slot, pair) = self.find(key)?;
        self.victims.touch(slot);
        self.last = slot;
        Some(pair)
    }

    /// Inserts what the tables have, in place of the entry for these pages, or of a random one
    /// (`tlbwr`).
    pub fn insert(&mut self, key: Key, pair: Pair) {
        let slot = self.find(key).map(|(slot, _)| slot);
        let slot = slot.or_else(|| self.entries.iter().position(Option::is_none));
        let slot = slot.unwrap_or_else(|| self.victims.choose(0));
        self.entries[slot] = Some((key, pair));
        self.victims.touch(slot);
        self.last = slot;
    }

    /// Forgets all pairs but these.
    pub fn retain(&mut self, stays: impl Fn(Key) -> bool) {
        for entry in &mut self.entries {
            *entry = entry.filter(|(key, _)| stays(*key));
        }
    }

    /// Drops all entries.
    pub fn flush(&mut self) {
        self.entries.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::Replacement;
    use crate::tlb::LargePages;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn tlb(entries: u32) -> Tlb {
        Tlb::new(&TlbGeometry {
            entries,
            ways: None,
            replacement: Replacement::Random,
            large: LargePages::Shared,
        })
    }

    #[test]
    fn an_entry_is_of_two_pages_of_an_asid() {
        let mut tlb = tlb(48);
        tlb.insert(Key::new(1, 0x2000), Pair([2, 0]));
        assert_eq!(tlb.look_up(Key::new(1, 0x3fff)), Some(Pair([2, 0])));
        assert_eq!(tlb.look_up(Key::new(2, 0x2000)), None, "another ASID");
        assert_eq!(tlb.look_up(Key::new(1, 0x4000)), None);
        assert_eq!(Key::of(0xffff_ff00_0000_2001), Key::new(1, 0x2000));
        tlb.retain(|key| !Dropped::Pair(Key::new(1, 0x3000)).has(key));
        assert_eq!(tlb.look_up(Key::new(1, 0x2000)), None);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8, u64, u32),
        Drop(u8, u64),
        Flush,
    }

    fn step() -> impl Strategy<Value = Step> {
        let place = || (0u8..3, 0u64..24);
        prop_oneof![
            8 => (place(), 0u32..9).prop_map(|((asid, pair), low)| Step::Insert(asid, pair << 13, low)),
            3 => place().prop_map(|(asid, pair)| Step::Drop(asid, pair << 13)),
            1 => Just(Step::Flush),
        ]
    }

    proptest! {
        /// What it holds is what was put in last, and it holds no pair twice and no more than it
        /// has entries for.
        #[test]
        fn it_holds_what_was_put_in(steps in proptest::collection::vec(step(), 1..200)) {
            let (mut tlb, mut all) = (tlb(8), HashMap::new());
            for step in steps {
                match step {
                    Step::Insert(asid, address, low) => {
                        let (key, pair) = (Key::new(asid, address), Pair([low; 2]));
                        tlb.insert(key, pair);
                        all.insert(key, pair);
                        prop_assert_eq!(tlb.look_up(key), Some(pair));
                    }
                    Step::Drop(asid, address) => {
                        let dropped = Dropped::Pair(Key::new(asid, address));
                        tlb.retain(|key| !dropped.has(key));
                        all.remove(&Key::new(asid, address));
                    }
                    Step::Flush => {
                        tlb.flush();
                        all.clear();
                    }
                }
                let held: Vec<_> = tlb.entries.iter().flatten().copied().collect();
                let keys: std::collections::HashSet<_> = held.iter().map(|(key, _)| *key).collect();
                prop_assert_eq!(keys.len(), held.len());
                prop_assert!(held.iter().all(|(key, pair)| all.get(key) == Some(pair)));
            }
        }
    }
}
