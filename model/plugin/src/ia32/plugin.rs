// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the callbacks.

use super::guest::Guest;
use super::sampler::Sampler;
use crate::plugin::Followed;
use crate::rings::{Rings, Turn};
use crate::scoreboard::Single;
use model_core::ia32::{Class, Ia32};

/// Numbers of general registers in encodings.
pub(super) const EAX: u8 = 0;
pub(super) const ECX: u8 = 1;
const ESP: u8 = 4;

pub(super) type Plugin = crate::plugin::Plugin<Ia32>;

/// What only IA-32's callbacks need.
pub struct Own {
    /// What takes samples; then nothing is counted.
    pub(super) sampler: Option<Sampler>,
    /// Linear address of the block in execution.
    pub(super) block: u32,
    /// Encodings of the `invlpg` instructions that were translated.
    pub(super) invlpg: Vec<Vec<u8>>,
}

impl Followed for Ia32 {
    type Guest = Guest;
    type Own = Own;

    fn place() -> &'static Single<Plugin> {
        static PLACE: Single<Plugin> = Single::new();
        &PLACE
    }
}

impl Rings for Ia32 {
    fn turn(instruction: &[u8]) -> Option<Turn> {
        match Class::decode(instruction) {
            Class::FarReturn => Some(Turn::ByFrame),
            Class::Sysexit => Some(Turn::ToUser),
            Class::OpenInterrupts => Some(Turn::Opens),
            Class::Halt => Some(Turn::Waits),
            _ => None,
        }
    }

    fn tag(guest: &Guest) -> u32 {
        guest.general(EAX)
    }

    fn stays(guest: &Guest) -> bool {
        guest.word(guest.general(ESP) + 4).is_some_and(|cs| cs & 3 == 0)
    }
}

/// How many samples are due; what is left counts for the next.
pub(super) fn take_due(plugin: &mut Plugin, every: u64) -> u64 {
    let until = &mut plugin.board.words().until;
    let due = 1 + *until / every;
    *until = (*until % every).wrapping_sub(every);
    due
}

/// Counts towards the next sample, or stops; this many instructions of the block in execution are
/// still to come.
pub(super) fn set_sampling(plugin: &mut Plugin, rest: u64) {
    if let Some(sampler) = &mut plugin.own.sampler {
        sampler.switch(&mut plugin.board.words().until, rest);
    }
}
