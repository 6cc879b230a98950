// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the callbacks.

use super::guest::Guest;
use super::sampler::Sampler;
use crate::arguments::Arguments;
use crate::chunks::Chunks;
use crate::end::End;
use crate::scoreboard::{Scoreboard, Single};
use model_core::ia32::Counter;
use qemu_plugin_sys as qemu;

/// Numbers of general registers in encodings.
pub(super) const EAX: u8 = 0;
pub(super) const ECX: u8 = 1;

/// What the callbacks work on.
pub(super) struct Plugin {
    pub(super) counter: Counter,
    /// What takes samples; then nothing is counted.
    pub(super) sampler: Option<Sampler>,
    pub(super) guest: Option<Guest>,
    /// Linear address of the block in execution.
    pub(super) block: u32,
    pub(super) board: Scoreboard,
    pub(super) chunks: Chunks,
    /// Encodings of the `invlpg` instructions that were translated.
    pub(super) invlpg: Vec<Vec<u8>>,
    pub(super) arguments: Arguments,
    pub(super) end: End,
}

/// That of the machine.
pub(super) static PLUGIN: Single<Plugin> = Single::new();

/// What a callback does, until the machine's end. Callbacks do not nest.
pub(super) fn with(act: impl FnOnce(&mut Plugin)) {
    if let Some(plugin) = PLUGIN.get().as_mut() {
        act(plugin);
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
        let entering = self.counter.latency().is_some_and(|latency| latency.is_entry());
        let words = self.board.words();
        (words.armed, words.entering) = (u64::from(self.counter.is_armed()), u64::from(entering));
    }

    /// How many samples are due; what is left counts for the next.
    pub(super) fn take_due(&mut self, every: u64) -> u64 {
        let until = &mut self.board.words().until;
        let due = 1 + *until / every;
        *until = (*until % every).wrapping_sub(every);
        due
    }

    /// Counts towards the next sample, or stops; this many instructions of the block in execution
    /// are still to come.
    pub(super) fn set_sampling(&mut self, rest: u64) {
        if let Some(sampler) = &mut self.sampler {
            sampler.switch(&mut self.board.words().until, rest);
        }
    }

    /// A word of the scoreboard, for QEMU's code.
    pub(super) fn word(&self, offset: usize) -> qemu::qemu_plugin_u64 {
        self.board.word(offset)
    }
}
