// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the callbacks.

use super::guest::Guest;
use crate::arguments::Arguments;
use crate::chunks::Chunks;
use crate::end::End;
use crate::scoreboard::{Scoreboard, Single};
use model_core::mips::Counter;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// A chunk of code at its address.
#[derive(Clone)]
pub(super) struct Place {
    /// Its number among the chunks.
    pub(super) chunk: usize,
    pub(super) address: u64,
    /// Its instructions, if they are the kernel's.
    pub(super) code: Option<Rc<[u32]>>,
}

/// What the callbacks work on.
pub(super) struct Plugin {
    pub(super) counter: Counter,
    pub(super) guest: Option<Guest>,
    pub(super) board: Scoreboard,
    pub(super) chunks: Chunks,
    /// Chunks at their addresses: callbacks are given an index.
    pub(super) places: Vec<Place>,
    pub(super) index: HashMap<(usize, u64), usize>,
    pub(super) arguments: Arguments,
    pub(super) end: End,
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

/// That of the machine.
pub(super) static PLUGIN: Single<Plugin> = Single::new();

/// What a callback does with the guest, until the machine's end. Callbacks do not nest.
pub(super) fn with(act: impl FnOnce(&mut Plugin, &mut Guest)) {
    if let Some(plugin) = PLUGIN.get().as_mut()
        && let Some(mut guest) = plugin.guest.take()
    {
        act(plugin, &mut guest);
        plugin.guest = Some(guest);
        if plugin.counter.is_enough() {
            plugin.end.ask();
        }
    }
}

impl Plugin {
    /// Instructions executed up to now.
    pub(super) fn executed(&mut self) -> u64 {
        self.board.words().executed
    }

    /// Tells QEMU's code which callbacks are wanted.
    pub(super) fn publish(&mut self) {
        let inside = self.counter.latency().is_some_and(|latency| !latency.is_entry());
        let words = self.board.words();
        words.inside = u64::from(inside);
        self.board.words().armed = u64::from(self.is_active());
    }

    /// Whether everything is told: from power-on if tables will be walked.
    pub(super) fn is_active(&self) -> bool {
        self.counter.is_armed() || self.counter.wants_tables()
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
