// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contract between the kernel and everything above it: names of system
//! calls, layouts shared through memory, rights, errors. Nothing here acts.
//!
//! The manual (docs/manual.md) says how they belong together; its pages of system calls are made of
//! the comments here. What depends on the processor is in [`arch`].
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![warn(missing_docs)]

mod address;
pub mod arch;
pub mod boot;
pub mod error;
pub mod kip;
mod map_record;
pub mod object;
pub mod syscall;
pub mod tag;
pub mod utcb;

pub use address::{PhysAddr, UserAddr};
pub use arch::current::Word;
pub use arch::current::layout::{PAGE_SIZE, SHARED_SPAN, TABLE_SPAN, USER_END};
pub use arch::current::{frame, state};
pub use error::Error;
pub use frame::Frame;
pub use map_record::MapRecord;
pub use object::{CacheOp, Kind, Rights, ThreadState};
pub use syscall::{Op, Selector, call};
pub use tag::{Delivery, MessageKind, Tag};

/// The place that makes a Space a home ([`Op::CreateSpace`]).
pub const HOME: Word = 1;

/// Number of priorities; 255 is the most urgent.
pub const PRIORITIES: u32 = 256;
