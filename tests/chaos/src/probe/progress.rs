// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another client of a disk: whether it gets answers.

use super::{Probe, rest};
use frames::Shared;
use image::protocol::disk::ANSWERS;
use image::protocol::net::CONSUMED;
use macadamia::region::Region;
use macadamia::{Env, Result};

/// The client's memory, as it was at the last check.
pub struct Progress {
    memory: Region,
    taken: u32,
}

impl Progress {
    /// The clients whose memory the component has as `answers-NAME`.
    pub fn of_clients(env: &Env) -> impl Iterator<Item = Self> {
        let named = env.start.grants.iter().filter(|grant| grant.name.starts_with("answers-"));
        named.filter_map(|grant| Some(Self { memory: Region::find(env, &grant.name)?, taken: 0 }))
    }
}

impl Probe for Progress {
    fn ask(&mut self, _: u32) -> Result<bool> {
        let taken = self.memory.read(ANSWERS + CONSUMED);
        if taken == core::mem::replace(&mut self.taken, taken) {
            return rest().map(|()| false);
        }
        Ok(true)
    }

    fn wrong(&self) -> u32 {
        0
    }

    fn report(&self) {}
}
