// SPDX-License-Identifier: MIT OR Apache-2.0
//! A terminal without its screen: where characters are, and which bytes keys produce.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod text;
mod typist;

pub use text::Page;
pub use typist::{Layout, Typist};
