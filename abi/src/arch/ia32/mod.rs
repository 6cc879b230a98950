// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32. The table of [`syscall`](crate::syscall) has the registers of a system call.

pub mod frame;
pub mod kip;
pub mod layout;
pub mod marker;
pub mod message;
pub mod state;

/// The processor, by which other crates say what depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Processor;

/// A user register.
pub type Word = u32;

/// Whether a device that reads and writes memory sees what is in the data caches.
pub const DMA_IS_COHERENT: bool = true;
