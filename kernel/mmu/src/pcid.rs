// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which space has which PCID, and which value CR3 gets for it (Intel SDM volume 3, sections 4.10.1
//! and 4.10.4).
//!
//! A space has a *word*, which code that enters the space loads into CR3 without any test, fast
//! paths included. So the word has to be right at any time.
//!
//! | the word has | a load of it |
//! |---|---|
//! | a PCID, and [`KEEP`] | uses the translations that the TLB has of this PCID |
//! | a PCID without it | drops those: they are another space's, or some have changed |
//! | PCID 0 | drops those of PCID 0, which all spaces without one of their own share |
//!
//! A space without a PCID gets one when the slow path enters it; if none is free, it takes the PCID
//! of another space, usually of one that the slow path has neither entered nor left recently.
//! Nothing is flushed for that: the first entry of a space with a new PCID drops what the TLB has
//! of this PCID. If a mapping changes while the space is not entered, the space loses [`KEEP`]
//! until its next entry.

use crate::tags::{First, Tags};

/// Bit of the word: what the TLB has of this PCID stays. It is not read back from CR3.
pub const KEEP: u64 = 1 << 63;
/// The PCID.
const PCID: u64 = 0xfff;

/// What is to be done to enter a space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<O> {
    /// What is written to CR3, if anything is.
    pub load: Option<u64>,
    /// The space's word from then on.
    pub word: u64,
    /// The space that has lost its PCID: its word is [`without`] one from now on.
    pub loser: Option<O>,
}

/// What is to be done when mappings of a space have changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The space is entered: its translations of these mappings are dropped now.
    Now,
    /// The space has this word from now on.
    Word(u64),
}

/// PCIDs below `N`, and which space has each: an `O`.
pub struct Pcids<O, const N: usize>(Tags<O, N, 1>);

impl<O: Copy + PartialEq, const N: usize> Pcids<O, N> {
    /// No space has one. PCID 0 is given to none.
    #[must_use]
    pub const fn new() -> Self {
        Self(Tags::new([(1, N as u16)]))
    }

    /// The portable kernel enters a space with this word, while CR3 reads as `loaded`.
    pub fn enter(&mut self, space: O, word: u64, loaded: u64) -> Entry<O> {
        let is_loaded = is_entered(word, loaded);
        // A fast path may have entered the space that is to be left, and noted nothing.
        self.0.used((loaded & PCID) as u16);
        if word & PCID != 0 {
            self.0.used((word & PCID) as u16);
            // It is or was entered since something has changed.
            return Entry { load: (!is_loaded).then_some(word), word: word | KEEP, loser: None };
        }
        let Some(grant) = self.0.take(0, space, |_| false) else {
            return Entry { load: (!is_loaded).then_some(word), word, loser: None };
        };
        let load = word | u64::from(grant.tag);
        let loser = if let First::Evict(loser) = grant.first { Some(loser) } else { None };
        Entry { load: Some(load), word: load | KEEP, loser }
    }

    /// A space with this word ends. It is not entered any more.
    pub fn leave(&mut self, space: O, word: u64) {
        self.0.give_back((word & PCID) as u16, space);
    }
}

impl<O: Copy + PartialEq, const N: usize> Default for Pcids<O, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a space with this word is entered while CR3 reads as `loaded`.
#[must_use]
pub const fn is_entered(word: u64, loaded: u64) -> bool {
    loaded == word & !KEEP
}

/// The word of a space that has lost its PCID.
#[must_use]
pub const fn without(word: u64) -> u64 {
    word & !(KEEP | PCID)
}

/// Mappings of a space with this word have changed, while CR3 reads as `loaded`.
#[must_use]
pub const fn changed(word: u64, loaded: u64) -> Change {
    if is_entered(word, loaded) { Change::Now } else { Change::Word(word & !KEEP) }
}
