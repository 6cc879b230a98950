// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines: boards, and their parts that a host has to do with: consoles, screens, networks.
//! `emulator` runs what was built on one.

pub mod accel;
pub mod board;
pub mod console;
pub mod cpus;
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
