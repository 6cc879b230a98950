// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PC board: timer, time-stamp counter, power, and what it has in common with others: the
//! serial line for the kernel's own words, the interrupt controllers. What user level knows of it,
//! too, is in `boards/pc`.
//!
//! | module | room for |
//! |---|---|
//! | [`pit`] | the timer |
//! | [`tsc`] | the time-stamp counter, measured by the timer |
//! | `power` | the end of the machine |
//! | [`vga`] | the screen, for the kernel's own words |
#![cfg_attr(not(test), no_std)]

pub mod pit;
mod power;
pub mod tsc;
pub mod vga;

pub use plat_isa::{pic, uart};
pub use power::power_off;
pub use ruler::{Fault, Look};
