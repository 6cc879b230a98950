// SPDX-License-Identifier: MIT OR Apache-2.0
//! The screen's protocol and what its server decides (docs/screen.md): rectangles, the rings of
//! both sides, what is to be copied where, who gets which key, and what the bytes of keyboards and
//! mice mean.
//!
//! Nothing here trusts what the other side writes. The memory is a trait, so that all of it runs on
//! the host, too.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

pub use embedded_graphics;

mod canvas;
mod desk;
mod event;
mod keyboard;
mod layout;
mod mode;
mod mouse;
mod rectangle;
mod rings;
mod scene;

pub use canvas::{Canvas, colour};
pub use desk::{Desk, Input, View};
pub use event::{Event, Packet, key};
pub use keyboard::{Key, Set1, Set2};
pub use layout::{Layout, Place};
pub use mode::Mode;
pub use mouse::{Mouse, Moved};
pub use rectangle::Rectangle;
pub use rings::{Client, Server};
pub use scene::{Layer, ROWS, Scene, Strips};
