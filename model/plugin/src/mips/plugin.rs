// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the callbacks.

use super::guest::Guest;
use crate::plugin::Followed;
use crate::scoreboard::Single;
use model_core::mips::{Counter, Mips};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

pub(super) type Plugin = crate::plugin::Plugin<Mips>;

/// A chunk of code at its address.
#[derive(Clone)]
pub(super) struct Place {
    /// Its number among the chunks.
    pub(super) chunk: usize,
    pub(super) address: u64,
    /// Its instructions, if they are the kernel's.
    pub(super) code: Option<Rc<[u32]>>,
}

/// What only MIPS's callbacks need.
pub struct Own {
    /// Chunks at their addresses: callbacks are given an index.
    pub(super) places: Vec<Place>,
    index: HashMap<(usize, u64), usize>,
    /// The kernel's code that reads Cause to see why it is entered.
    pub(super) entry: Range<u32>,
    /// Whether user mode has executed `syscall`, and no entry came after it; whether the last entry
    /// was one; whether the kernel has executed `eret`, and none of its code came after it.
    pub(super) called: bool,
    pub(super) asks: bool,
    pub(super) returned: bool,
    /// Where the name of a case begins.
    pub(super) name: u32,
}

impl Own {
    /// Of a kernel that reads Cause there to see why it is entered.
    pub(super) fn new(entry: Range<u32>) -> Self {
        Self {
            places: Vec::new(),
            index: HashMap::new(),
            entry,
            called: false,
            asks: false,
            returned: false,
            name: 0,
        }
    }

    /// The index of a chunk at an address.
    pub(super) fn place(&mut self, place: Place) -> usize {
        let places = &mut self.places;
        *self.index.entry((place.chunk, place.address)).or_insert_with(|| {
            places.push(place);
            places.len() - 1
        })
    }
}

impl Followed for Mips {
    type Guest = Guest;
    type Own = Own;

    fn place() -> &'static Single<Plugin> {
        static PLACE: Single<Plugin> = Single::new();
        &PLACE
    }

    /// From power-on if tables will be walked.
    fn is_active(counter: &Counter) -> bool {
        counter.is_armed() || counter.wants_tables()
    }
}
