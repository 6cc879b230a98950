// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk's protocol (docs/disk.md): several clients with a range of one disk each, and with
//! several requests under way.
//!
//! Nothing here trusts what a client writes, or what is on the disk. The memory is a trait, so that
//! all of it runs on the host, too.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod client;
mod gpt;
mod layout;
mod range;
mod server;

pub use client::Client;
pub use gpt::{NoPartition, partition};
pub use layout::{Layout, Request};
pub use range::{Claim, Range, Refused, ranges};
pub use server::{Attach, Job, Outcome, Server, Task, Transfer};
