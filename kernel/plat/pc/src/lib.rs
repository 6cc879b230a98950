// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PC board: serial line for the kernel's own words, interrupt controller,
//! timer, time-stamp counter, power.
//!
//! | module | room for |
//! |---|---|
//! | `io` | access to I/O ports |
//! | [`pic`] | the interrupt controllers |
//! | [`pit`] | the timer |
//! | [`tsc`] | the time-stamp counter, measured by the timer |
//! | [`uart`] | the serial line |
//! | `power` | the end of the machine |
#![no_std]

mod io;
pub mod pic;
pub mod pit;
mod power;
pub mod tsc;
pub mod uart;

pub use power::power_off;
pub use ruler::Fault;
pub use tsc::TscScale;
