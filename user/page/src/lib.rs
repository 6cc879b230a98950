// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a terminal on a screen does, without the screen: where characters are, and which bytes keys
//! type.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod text;
mod typist;

pub use text::Page;
pub use typist::Typist;
