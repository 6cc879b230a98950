// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keyboard, mouse and tablet.

mod ps2;
pub mod tablet;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod i8042;
#[cfg(target_arch = "arm")]
mod pl050;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub use i8042::Inputs;
#[cfg(target_arch = "arm")]
pub use pl050::Inputs;
