// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Versatile platform baseboard. The root server uses little of it, and rarely: so it maps the
//! registers only while it uses them.

mod bus;
mod own;

pub use bus::Bus;
pub use own::{Line, open, power_off};
