// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sweep: removes entries of the hashed table that no space can use, some groups at a time.
//!
//! A space that gets another context leaves its entries in the table. No space can use these
//! *zombies*, but they fill groups. The idle loop removes them (Dougan, Mackerras, Yodaiken 1999,
//! section 7).
//!
//! Because of the same sweep, contexts can be given out again. When one half of them is used up,
//! the other half is given out, and no space keeps a context of the first half: all entries of that
//! half are zombies. Before that half is given out again, the whole table has to be swept, so the
//! kernel sweeps a share of it for each context that it gives out. Nothing has to wait for more
//! than that.

use crate::hash::{Group, VALID};
use crate::vsid::{Contexts, Function};

/// Groups of a step. An entry takes up to 28 instructions, so a step takes 7,200; 64 groups would
/// be more than 10,000.
pub const STEP: usize = 32;

/// Contexts, which of them spaces have, and where the sweep is.
#[derive(Debug)]
pub struct Sweep<'a> {
    contexts: Contexts,
    /// What says which space an entry belongs to.
    function: Function,
    /// A bit for each context of a half: whether a space has it. The bits of contexts that were not
    /// given out mean nothing.
    live: &'a mut [u32],
    /// The next group.
    at: usize,
    /// Groups to sweep until the table has nothing of the other half.
    before_turn: usize,
    /// Groups to sweep until the table has no zombie.
    dirty: usize,
    /// Groups to sweep for each context that is given out.
    share: usize,
    /// Entries that were found in this pass: those of spaces, and zombies.
    found: [u32; 2],
    counts: Counts,
}

/// What a sweep has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Zombies that were removed.
    pub swept: u32,
    /// Entries of spaces, in the last pass over the whole table.
    pub live: u32,
    /// Zombies that this pass left.
    pub zombies: u32,
    /// How often the halves changed places.
    pub turns: u32,
}

/// A context that was given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Its number.
    pub context: u32,
    /// Whether it is the first of its half. All spaces lose their contexts then, and nothing in the
    /// TLB may be used.
    pub is_turn: bool,
}

/// The fewest contexts for a table with this many groups: with fewer, a half would be used up
/// before the table is swept.
#[must_use]
pub const fn least_contexts(groups: usize) -> u32 {
    2 * (groups.div_ceil(STEP) as u32 + 1)
}

/// Words of bits for so many contexts.
#[must_use]
pub const fn words(contexts: u32) -> usize {
    (contexts / 2).div_ceil(u32::BITS) as usize
}

impl<'a> Sweep<'a> {
    /// No space has any of the contexts. `function` makes their VSIDs; the table has this many
    /// groups, and is empty. `groups` is 0 if the processor searches no table.
    #[must_use]
    pub const fn new(
        contexts: Contexts,
        function: Function,
        live: &'a mut [u32],
        groups: usize,
    ) -> Self {
        let share = groups.div_ceil(contexts.least() as usize);
        Self {
            contexts,
            function,
            live,
            at: 0,
            before_turn: 0,
            dirty: 0,
            share,
            found: [0; 2],
            counts: Counts { swept: 0, live: 0, zombies: 0, turns: 0 },
        }
    }

    /// Gives out a context.
    pub fn take(&mut self, table: &mut [Group]) -> Taken {
        let groups = self.share.min(self.before_turn);
        self.sweep(table, groups, true);
        self.before_turn -= groups;
        let (context, is_turn) = match self.contexts.take() {
            Some(context) => (context, false),
            None => {
                debug_assert_eq!(self.before_turn, 0);
                self.contexts.turn();
                self.counts.turns = self.counts.turns.wrapping_add(1);
                (self.before_turn, self.dirty) = (table.len(), table.len());
                (self.contexts.take().unwrap_or_default(), true)
            }
        };
        self.set_live(context, true);
        Taken { context, is_turn }
    }

    /// A space lost its context.
    pub fn forget(&mut self, context: u32, table: &[Group]) {
        self.set_live(context, false);
        self.dirty = table.len();
    }

    /// All spaces lost their contexts.
    pub const fn forget_all(&mut self, table: &[Group]) {
        self.contexts.forget_all();
        self.dirty = table.len();
    }

    fn set_live(&mut self, context: u32, is_live: bool) {
        let Some(index) = self.contexts.index(context) else { return };
        if let Some(word) = self.live.get_mut((index / u32::BITS) as usize) {
            let bit = 1 << (index % u32::BITS);
            *word = if is_live { *word | bit } else { *word & !bit };
        }
    }

    fn is_live(&self, context: u32) -> bool {
        let Some(index) = self.contexts.index(context) else { return false };
        self.live
            .get((index / u32::BITS) as usize)
            .is_some_and(|word| word & 1 << (index % u32::BITS) != 0)
    }

    /// Removes zombies from at most [`STEP`] groups, or only counts them, except what has to be
    /// swept before the other half is given out. Returns whether there were groups that may have
    /// any.
    pub fn step(&mut self, table: &mut [Group], takes_out: bool) -> bool {
        let groups = self.dirty.min(STEP);
        let takes_out = takes_out || self.before_turn > 0;
        self.sweep(table, groups, takes_out);
        if takes_out {
            self.before_turn = self.before_turn.saturating_sub(groups);
        }
        groups != 0
    }

    /// Sweeps this many groups.
    fn sweep(&mut self, table: &mut [Group], groups: usize, takes_out: bool) {
        for _ in 0..groups {
            self.sweep_group(&mut table[self.at], takes_out);
            self.at += 1;
            if self.at == table.len() {
                ([self.counts.live, self.counts.zombies], self.found, self.at) =
                    (self.found, [0; 2], 0);
            }
        }
        self.dirty = self.dirty.saturating_sub(groups);
    }

    fn sweep_group(&mut self, group: &mut Group, takes_out: bool) {
        for pte in group.iter_mut().filter(|pte| pte[0] & VALID != 0) {
            if self.is_live(self.function.context(pte[0] >> 7)) {
                self.found[0] += 1;
            } else if takes_out {
                *pte = [0; 2];
                self.counts.swept = self.counts.swept.wrapping_add(1);
            } else {
                self.found[1] += 1;
            }
        }
    }

    /// What was found.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }
}
