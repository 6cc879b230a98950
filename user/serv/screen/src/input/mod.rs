// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keyboard and mouse.

mod ps2;

#[cfg(target_arch = "x86")]
mod i8042;
#[cfg(target_arch = "arm")]
mod pl050;

#[cfg(target_arch = "x86")]
pub use i8042::Inputs;
#[cfg(target_arch = "arm")]
pub use pl050::Inputs;
