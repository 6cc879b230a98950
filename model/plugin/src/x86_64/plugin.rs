// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the callbacks.

use super::guest::Guest;
use super::registers::{RAX, RSP};
use crate::plugin::Followed;
use crate::rings::{Rings, Turn};
use crate::scoreboard::Single;
use model_core::x86_64::{Class, X86_64};

pub(super) type Plugin = crate::plugin::Plugin<X86_64>;

/// What only x86-64's callbacks need.
pub struct Own {
    /// Address of the block in execution.
    pub(super) block: u64,
    /// Encodings of the `invlpg` instructions that were translated.
    pub(super) invlpg: Vec<Vec<u8>>,
}

impl Followed for X86_64 {
    type Guest = Guest;
    type Own = Own;

    fn place() -> &'static Single<Plugin> {
        static PLACE: Single<Plugin> = Single::new();
        &PLACE
    }
}

impl Rings for X86_64 {
    fn turn(instruction: &[u8]) -> Option<Turn> {
        match Class::decode(instruction) {
            Class::FarReturn => Some(Turn::ByFrame),
            Class::Sysret => Some(Turn::ToUser),
            Class::OpenInterrupts => Some(Turn::Opens),
            Class::Halt => Some(Turn::Waits),
            _ => None,
        }
    }

    fn tag(guest: &Guest) -> u32 {
        guest.general(RAX) as u32
    }

    fn stays(guest: &Guest) -> bool {
        guest.word(guest.general(RSP) + 8).is_some_and(|cs| cs & 3 == 0)
    }
}
