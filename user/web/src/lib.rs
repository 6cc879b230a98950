// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a web server parses bytes that anybody may send: requests, their answers, and bounds for
//! both in bytes and in time. The program that has the connections asks [`Limits`] which to accept,
//! and an [`Exchange`] what to send on each.
//!
//! Nothing here reads or writes, or knows the time: all of it runs on the host, too.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod answer;
mod exchange;
mod limits;

pub use answer::{BUSY, Body, PAGE, Site};
pub use exchange::{ANSWER, Exchange, IDLE, MOST, PART, REQUEST, TIME};
pub use limits::{Entry, Guest, Limits};
