// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARM's Versatile PB board (DUI 0225D): the serial line for the kernel's messages, interrupt
//! controllers, timer, the counter of 24 MHz, power.
//!
//! What servers know of the board, too, is in `boards/versatilepb`.
//!
//! | module | room for |
//! |---|---|
//! | [`registers`] | where the kernel maps the board's registers |
//! | [`counter`] | the counter of 24 MHz |
//! | [`timer`] | the timer |
//! | [`uart`] | the serial line |
//! | [`vic`] | the interrupt controllers |
//! | `power` | the end of the machine |
#![no_std]

pub mod counter;
mod power;
pub mod registers;
pub mod timer;
pub mod uart;
pub mod vic;

pub use power::power_off;
