// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asking the clock server for the time of day.

use crate::{Result, Thread};
use abi::Word;

pub use image::protocol::clock::NOW;

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wall {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub seconds: u64,
    /// Nanoseconds beside them.
    pub nanoseconds: u32,
}

/// Asks `server` for the time of day.
///
/// # Errors
/// What the kernel says.
pub fn now(server: Thread) -> Result<Wall> {
    let [low, high, nanoseconds] = server.ask([NOW as Word, 0, 0])?;
    Ok(Wall {
        seconds: u64::from(high as u32) << 32 | u64::from(low as u32),
        nanoseconds: nanoseconds as u32,
    })
}
