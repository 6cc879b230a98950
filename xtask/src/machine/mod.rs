// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines: boards, and the parts of a machine that the host has to do with, such as consoles,
//! screens and networks.
//!
//! It owns boards/*.toml and the choice of a board. It does not know what runs on a machine:
//! `emulator` starts what `build` made.

pub mod accel;
pub mod board;
pub mod console;
pub mod cpus;
pub mod debugger;
pub mod folders;
pub mod monitor;
pub mod network;
pub mod processor;
pub mod screen;
pub mod spaces;
pub mod terminal;
pub mod words;
pub mod xserver;

use clap::ValueEnum;

/// An emulator.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Emulator {
    /// QEMU: fast.
    Qemu,
    /// Bochs: exact.
    Bochs,
}
