// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a web server makes of bytes that anybody may send: requests, their answers, and bounds for
//! both in bytes and in time. Who has the connections asks [`Limits`] whom to let in, and lets an
//! [`Exchange`] say what goes over each.
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
