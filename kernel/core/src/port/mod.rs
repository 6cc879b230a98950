// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port contract: all that a processor and its board must supply, in parts.
//!
//! | part | what it says | functions that every port writes |
//! |---|---|---|
//! | [`Registers`] | a thread's registers, as words in memory | how to read and write them, what a handler sees, how a thread begins |
//! | [`Processor`] | what runs | where the hot words are |
//! | [`Translation`] | translation tables, and copies of them | where the pool is, a space's begin and end, what drops translations |
//! | [`Caches`] | caches of memory | none: where caches are physical and coherent there is nothing to do |
//! | [`Placement`] | where a space is among all addresses | none: spaces have all addresses, and share none |
//! | [`Board`] | clock, timer, interrupt controller | all |
//!
//! A port may leave a function that has a body as it is: the body is right for a processor that
//! does not have the feature.
//!
//! A port saves the registers of the thread that ran in its [`Context`] and decides in its own
//! entry code which of the kernel's entries to call. On the way out it loads what the thread in
//! [`Cpu::current`] needs: its space, its rarely loaded state, its registers.
//!
//! A port may have a fast path. It may do exactly what the portable code would have done, and only
//! if the hot words of both threads say so ([`crate::thread::gate`]).
//!
//! The functions of a [`Port`] are called with interrupts off. Each takes a bounded time: no longer
//! than 10,000 instructions for the largest range that a caller can name, or it puts the rest off.
//!
//! The columns of the tables in the parts say what the ports do. A cell begins with *as it is* if
//! the port leaves the function's body as it is: `./macadamia test source.manual` checks that. The
//! page docs/contract.md is made from all of this.

mod board;
mod caches;
mod placement;
mod processor;
mod registers;
mod translation;

pub use board::Board;
pub use caches::{Caches, Change};
pub use placement::{Area, Placement};
pub use processor::{Cpu, Nothing, Processor, Special};
pub use registers::{CONTEXT_WORDS, Context, Registers, STATE_WORDS, State};
pub use translation::{FaultIn, Translation};

/// A processor and its board: a type that has all parts.
pub trait Port: Processor + Translation + Caches + Placement + Board {}
impl<P: Processor + Translation + Caches + Placement + Board> Port for P {}
