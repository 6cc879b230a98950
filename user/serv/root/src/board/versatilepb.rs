// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Versatile platform baseboard. What is used of it is mapped for that time: it is little, and
//! seldom.

mod bus;
mod own;

pub use bus::Bus;
pub use own::{Line, open, power_off};
