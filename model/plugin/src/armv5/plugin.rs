// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the callbacks.

use super::guest::Guest;
use crate::plugin::Followed;
use crate::scoreboard::Single;
use model_core::armv5::Armv5;

pub(super) type Plugin = crate::plugin::Plugin<Armv5>;

/// What only ARM's callbacks need.
pub struct Own {
    /// Virtual address of the block in execution.
    pub(super) block: u32,
}

impl Followed for Armv5 {
    type Guest = Guest;
    type Own = Own;

    fn place() -> &'static Single<Plugin> {
        static PLACE: Single<Plugin> = Single::new();
        &PLACE
    }
}
