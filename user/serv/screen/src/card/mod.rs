// SPDX-License-Identifier: MIT OR Apache-2.0
//! The card: it shows memory, one word for each pixel with red in bits 16 to 23, row after row
//! without a gap. Once the card is set up, the server uses only that memory.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod dispi;
#[cfg(target_arch = "arm")]
mod pl110;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub use dispi::open;
#[cfg(target_arch = "arm")]
pub use pl110::open;
