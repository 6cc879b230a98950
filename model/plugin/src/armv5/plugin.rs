// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the callbacks.

use super::guest::Guest;
use crate::arguments::Arguments;
use crate::chunks::Chunks;
use crate::end::End;
use crate::scoreboard::{Scoreboard, Single};
use model_core::armv5::Counter;

/// What the callbacks work on.
pub(super) struct Plugin {
    pub(super) counter: Counter,
    pub(super) guest: Option<Guest>,
    /// Virtual address of the block in execution.
    pub(super) block: u32,
    pub(super) board: Scoreboard,
    pub(super) chunks: Chunks,
    pub(super) arguments: Arguments,
    pub(super) end: End,
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
        (words.armed, words.inside) = (u64::from(self.counter.is_armed()), u64::from(inside));
    }
}
