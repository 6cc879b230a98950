// SPDX-License-Identifier: MIT OR Apache-2.0
//! The card: it shows memory, a word a pixel with red in bits 16 to 23, row after row without a gap.
//! That memory is all that the server has of it once it is set up.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod dispi;
#[cfg(target_arch = "arm")]
mod pl110;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub use dispi::open;
#[cfg(target_arch = "arm")]
pub use pl110::open;
