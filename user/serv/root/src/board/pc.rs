// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PC.

mod bus;

pub use super::ports::{Line, open};
pub use bus::Bus;
pub use macadamia::board::power_off;
