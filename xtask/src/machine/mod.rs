// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines: boards, the emulators that play them, and their consoles. A machine runs what was
//! built; what is run on it is told to it as commands, or by a session.

pub mod accel;
pub mod board;
mod console;
pub mod cpus;
pub mod emulator;
pub mod monitor;
pub mod network;
pub mod processor;
pub mod screen;
pub mod spaces;
mod terminal;
pub mod words;

use clap::ValueEnum;

/// An emulator.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Emulator {
    /// QEMU: fast.
    Qemu,
    /// Bochs: exact.
    Bochs,
}
