// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCIDs against a model of a TLB: no space ever uses another space's translation, or one that has
//! changed.

use mmu::pcid::{Change, KEEP, Pcids, changed, is_entered, without};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Spaces, pages of each, and PCIDs, 0 among them.
const SPACES: usize = 12;
const PAGES: usize = 4;
const TAGS: usize = 8;
const PCID: u64 = 0xfff;
/// The tables of boot, which no space has.
const BOOT: u64 = 0x1000;

/// What a processor has, and what is true.
struct Model {
    cr3: u64,
    /// By PCID and page: whose translation, and which change of it it is of.
    tlb: BTreeMap<(u64, usize), (u64, u32)>,
    words: [u64; SPACES],
    changes: [[u32; PAGES]; SPACES],
    pcids: Pcids<usize, TAGS>,
    /// Loads that dropped nothing.
    kept: u32,
}

/// Where a space has its tables.
fn tables(space: usize) -> u64 {
    (space as u64 + 2) << 12
}

impl Model {
    fn new() -> Self {
        Self {
            cr3: BOOT,
            tlb: BTreeMap::new(),
            words: std::array::from_fn(tables),
            changes: [[0; PAGES]; SPACES],
            pcids: Pcids::new(),
            kept: 0,
        }
    }

    fn load(&mut self, word: u64) {
        if word & KEEP == 0 {
            self.tlb.retain(|(pcid, _), _| *pcid != word & PCID);
        } else {
            self.kept += 1;
        }
        self.cr3 = word & !KEEP;
    }

    /// By the slow way.
    fn enter(&mut self, space: usize) {
        let entry = self.pcids.enter(space, self.words[space], self.cr3);
        if let Some(loser) = entry.loser {
            assert_ne!(loser, space);
            self.words[loser] = without(self.words[loser]);
        }
        if let Some(load) = entry.load {
            self.load(load);
        }
        self.words[space] = entry.word;
        assert!(is_entered(self.words[space], self.cr3) && self.cr3 & !PCID == tables(space));
    }

    /// A fast path enters another space than the one that runs.
    fn switch(&mut self, space: usize) {
        if self.cr3 & !PCID != tables(space) {
            self.load(self.words[space]);
        }
    }

    /// Who runs accesses a page.
    fn access(&mut self, page: usize) {
        let Some(space) = (0..SPACES).find(|space| self.cr3 & !PCID == tables(*space)) else {
            return;
        };
        let right = (tables(space), self.changes[space][page]);
        let used = *self.tlb.entry((self.cr3 & PCID, page)).or_insert(right);
        assert_eq!(used, right, "a translation that is no more, or another space's");
    }

    fn change(&mut self, space: usize, page: usize) {
        self.changes[space][page] += 1;
        match changed(self.words[space], self.cr3) {
            Change::Now => _ = self.tlb.remove(&(self.cr3 & PCID, page)),
            Change::Word(word) => self.words[space] = word,
        }
    }

    /// A space ends, and another one has its tables.
    fn renew(&mut self, space: usize) {
        if is_entered(self.words[space], self.cr3) {
            self.load(BOOT);
        }
        self.pcids.leave(space, self.words[space]);
        self.words[space] = tables(space);
        self.changes[space].iter_mut().for_each(|change| *change += 1);
    }
}

proptest! {
    #[test]
    fn nobody_uses_a_wrong_translation(events in prop::collection::vec((0..16u32, 0..SPACES, 0..PAGES), 1..400)) {
        let mut model = Model::new();
        for (what, space, page) in events {
            match what {
                0..=3 => model.enter(space),
                4..=7 => model.switch(space),
                8..=12 => model.access(page),
                13..=14 => model.change(space, page),
                _ => model.renew(space),
            }
            // Two spaces never have one PCID.
            let mut owned: Vec<u64> = model.words.iter().map(|word| word & PCID).filter(|tag| *tag != 0).collect();
            owned.sort_unstable();
            owned.dedup();
            prop_assert_eq!(owned.len(), model.words.iter().filter(|word| *word & PCID != 0).count());
        }
    }
}

/// Two spaces that take turns keep what the TLB has of them, and a change costs that once.
#[test]
fn turns_keep_translations() {
    let mut model = Model::new();
    for _ in 0..3 {
        (0..2).for_each(|space| model.enter(space));
    }
    assert_eq!(model.kept, 4);
    model.change(0, 0);
    (0..3).for_each(|_| (0..2).for_each(|space| model.enter(space)));
    assert_eq!(model.kept, 9);
}

/// A space that only fast paths enter, while more than there are PCIDs take turns, keeps its own.
#[test]
fn who_is_entered_by_fast_paths_counts_as_used() {
    let mut model = Model::new();
    // The first one loses its own when all were used.
    (0..2).rev().for_each(|space| model.enter(space));
    for _ in 0..8 {
        for client in 1..SPACES {
            model.enter(client);
            model.switch(0);
        }
    }
    assert_ne!(model.words[0] & PCID, 0);
}
