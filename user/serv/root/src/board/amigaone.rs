// SPDX-License-Identifier: MIT OR Apache-2.0
//! The AmigaOne SE. The serial line and the switch are at I/O ports, as on a PC.

mod bus;

pub use super::ports::{Line, open};
pub use bus::Bus;
pub use macadamia::board::power_off;
