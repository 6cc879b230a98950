// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network's protocol (docs/net.md): rings of frames in memory that two sides share, the switch
//! between them, the rings of a card that its driver fills, and a tape, whose writer never waits.
//!
//! Nothing here trusts what the other side writes. The memory is a trait, so that all of it runs on
//! the host, too.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod addresses;
mod descriptors;
mod lane;
mod little;
mod port;
mod ring;
mod switch;
mod tape;

pub use addresses::{Address, Addresses, CARD};
pub use descriptors::{Descriptors, Given};
pub use lane::{Lane, Receiver, Sender};
pub use little::Little;
pub use port::{Layout, bytes};
pub use ring::{Broken, Consumer, Producer, Ring, Shared};
pub use switch::{Counters, Outcome, Switch};
pub use tape::{Reader, Writer};
