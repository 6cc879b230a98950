// SPDX-License-Identifier: MIT OR Apache-2.0
//! A PL031: it counts seconds.

use macadamia::Env;
use macadamia::region::{Region, Shared};

/// The register with the seconds since 1970-01-01 00:00 UTC, by its offset.
const SECONDS: u32 = 0;

/// The real-time clock.
pub struct Clock {
    registers: Region,
}

impl Clock {
    /// The one whose registers the description gives as `clock`. Panics if there are none.
    pub fn find(env: &Env) -> Self {
        let registers = Region::find(env, "clock")
            .unwrap_or_else(|| panic!("the system description gives no registers `clock`"));
        Self { registers }
    }

    /// Seconds since 1970-01-01 00:00 UTC.
    pub fn seconds(&self) -> u64 {
        u64::from(self.registers.read(SECONDS))
    }
}
