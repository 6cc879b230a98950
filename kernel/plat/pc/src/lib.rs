// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PC board: serial line for the kernel's own words, interrupt controller,
//! timer, time-stamp counter, power. What user level knows of it, too, is in `boards/pc`.
//!
//! | module | room for |
//! |---|---|
//! | `lines` | what keeps an interrupt controller's lines quiet |
//! | [`pic`] | the interrupt controllers |
//! | [`pit`] | the timer |
//! | [`tsc`] | the time-stamp counter, measured by the timer |
//! | [`uart`] | the serial line |
//! | `power` | the end of the machine |
#![cfg_attr(not(test), no_std)]

mod lines;
pub mod pic;
pub mod pit;
mod power;
pub mod tsc;
pub mod uart;

pub use power::power_off;
pub use ruler::Fault;
pub use tsc::TscScale;
