// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders of the host (docs/folders.md): a client's messages of 9P2000.L are checked, and given to
//! a device for each folder, which answers them.
//!
//! Nothing here trusts what the client writes. All that the server knows of requests under way is in
//! memory that outlives it, so that its next life goes on where it ended. That memory is a trait, so
//! that all of it runs on the host, too.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod client;
pub mod field;
mod layout;
mod message;
mod queue;
mod server;
mod slots;

pub use client::Client;
pub use layout::{Layout, Own, Request};
pub use message::{Checked, Errno, check};
pub use queue::LENGTH;
pub use server::{Attach, Outcome, Places, Server};
