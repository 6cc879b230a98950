// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the callbacks.

use super::guest::Guest;
use crate::plugin::Followed;
use crate::scoreboard::Single;
use model_core::powerpc::PowerPc;

pub(super) type Plugin = crate::plugin::Plugin<PowerPc>;

impl Followed for PowerPc {
    type Guest = Guest;
    type Own = ();

    fn place() -> &'static Single<Plugin> {
        static PLACE: Single<Plugin> = Single::new();
        &PLACE
    }
}
