// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha, of which there is the fast path of IPC and no more: `bench/alpha` measures it on a kernel's
//! own objects, which have this layout (docs/alpha.md).

pub mod frame;
pub mod layout;
pub mod message;
pub mod state;

/// The processor, by which other crates say what depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Processor;

/// A user register.
pub type Word = u64;

/// Whether a device that reads and writes memory sees what is in the data caches.
pub const DMA_IS_COHERENT: bool = true;
