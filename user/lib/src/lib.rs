// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library for native components: start-up, typed capabilities, messages,
//! notifications, threads, a heap, output.
//!
//! A component is a binary with `#![no_std] #![no_main]` and [`main!`](crate::main)`(function)`,
//! where `function` takes an [`Env`]. Every thread runs on a stack of [`STACK_BYTES`], which is
//! aligned to its size, and whose last word is the address of the thread's UTCB: so the library
//! finds the UTCB without FS or GS, which belong to programs.
//!
//! Safe code can make any system call: the kernel protects components from each other, but not a
//! component from itself. If a component unmaps its own heap, or fills memory that is in use
//! ([`map`], [`start::fill`]), Rust's guarantees no longer hold in that component, but they hold in
//! all others. [`map::Window`] accesses the component's own memory without that risk.
#![no_std]
#![cfg_attr(target_arch = "mips64", feature(asm_experimental_arch))]
#![warn(missing_docs)]

pub extern crate alloc;

pub mod alien;
mod arch;
pub mod cap;
pub mod card;
pub mod clock;
pub mod console;
pub mod disk;
pub mod dma;
pub mod folder;
pub mod heartbeat;
pub mod interval;
pub mod ipc;
pub mod map;
pub mod net;
pub mod pci;
pub mod ranges;
pub mod region;
pub mod screen;
pub mod start;
pub mod sys;
pub mod thread;
pub mod time;
pub mod utcb;
// The crate has the processor's order of bytes in its queues and registers, and virtio the low one
// first.
#[cfg(target_endian = "little")]
pub mod virtio;

pub use abi::{Error, Frame, MessageKind, Rights, Word};
pub use arch::board;
#[cfg(target_arch = "powerpc")]
pub use arch::counts;
pub use arch::named_counts as kernel_counts;
#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
pub use board::io as port;
pub use cap::{Irq, Memory, Quota, Segment, Space, Thread};
pub use image::slot;
pub use ipc::Received;
pub use start::Env;

/// Bytes of every stack, and its alignment.
pub const STACK_BYTES: u32 = image::layout::STACK_BYTES;

/// What a system call returns.
pub type Result<T> = core::result::Result<T, Error>;
