// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Malta board. The serial line is at I/O ports, as on a PC; what ends the machine is a register
//! in memory.

pub use super::ports::{Line, open};

use crate::resources::{RW, Resources, registers};
use abi::{PAGE_SIZE, Word};
use image::Places;
use macadamia::alloc::vec::Vec;
use macadamia::board::reset;
use macadamia::map::Window;
use macadamia::{Error, Result};

/// Where the board's registers are seen: below where the root server looks at components.
const BOARD: Word = Places::LOW.own_end as Word - 2 * PAGE_SIZE;

/// Ends the machine, if a reset does, as in QEMU.
pub fn power_off() {
    let registers = registers(reset::PAGE.into())
        .and_then(|(memory, offset)| Window::open(BOARD, memory, offset, PAGE_SIZE, RW));
    if let Ok(registers) = registers {
        registers.write(reset::OFFSET.into(), reset::NOW);
    }
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
