// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the IP server does with its clients' requests (docs/ip.md), around smoltcp.
//!
//! Nothing here trusts what a client says, or what comes from the network. Memory and the card are
//! traits, so that all of it runs on the host, too.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod guard;
mod link;
mod sockets;
mod tcp;
mod udp;
mod waiting;
mod words;

pub use link::{Configuration, Setup};
pub use sockets::{Memory, Sockets};
pub use tcp::BYTES;
pub use words::Words;
