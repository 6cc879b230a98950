// SPDX-License-Identifier: MIT OR Apache-2.0
//! The board clipper. The serial line is at I/O ports, as on a PC, and so is what ends the machine.

pub use super::ports::{Line, open};

use crate::resources::Resources;
use macadamia::alloc::vec::Vec;
use macadamia::board::reset;
use macadamia::{Error, Result, port};

/// Ends the machine, if a reset does, as in QEMU.
pub fn power_off() {
    port::write8(reset::PORT, reset::NOW);
}

/// PCI, which no component drives here yet.
pub struct Bus;

impl pci_bus::Bus for Bus {
    fn read(&self, _: u8, _: u8) -> u32 {
        !0
    }

    fn write(&self, _: u8, _: u8, _: u32) {}
}

impl Bus {
    /// It cannot be used.
    ///
    /// # Errors
    /// `Unsupported`, always.
    pub const fn open() -> Result<Self> {
        Err(Error::Unsupported)
    }

    /// Nothing.
    /// Nothing.
    pub const fn prepare(&self, _: u8) -> Vec<(u64, u32)> {
        Vec::new()
    }

    /// There are no devices.
    pub const fn shares_wire(&self, _: u8, _: u8) -> bool {
        false
    }

    /// No line.
    pub const fn line(&self, _: &Resources, _: u8) -> u32 {
        0
    }
}
