// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI of the Versatile platform baseboard, as QEMU's device `versatile_pci` has it. No firmware
//! has assigned addresses to devices, so this module does.

use super::own::{SYSTEM, window};
use crate::resources::Resources;
use abi::PAGE_SIZE;
use macadamia::alloc::vec::Vec;
use macadamia::board::pci as board;
use macadamia::board::system;
use macadamia::{Error, Result};

/// Offsets in a configuration space: what a device is, its command, its class, its first base
/// address register, its interrupt line.
const ID: u8 = 0;
const COMMAND: u8 = 4;
const CLASS: u8 = 8;
const BASE: u8 = 0x10;
const LINE: u8 = 0x3c;
/// In the command: answers at its addresses, reaches memory, may write whole lines.
const ON: u32 = 1 << 1 | 1 << 2 | 1 << 4;
/// Base address registers by which devices reach RAM.
const INBOUND: u8 = 3;

/// The bus.
pub struct Bus;

impl pci_bus::Bus for Bus {
    fn read(&self, device: u8, offset: u8) -> u32 {
        read(board::CONFIG, device, offset)
    }

    fn write(&self, device: u8, offset: u8, value: u32) {
        write(board::CONFIG, device, offset, value);
    }
}

/// The page that has a word of a configuration space, and where in it.
const fn place(config: u32, device: u8, offset: u8) -> (u32, u32) {
    let address = config + (device as u32) * board::CONFIG_BYTES + (offset & 0xfc) as u32;
    (address & !(PAGE_SIZE - 1), address % PAGE_SIZE)
}

/// A word of PCI, which has its low byte first; registers of the board itself are as the processor
/// has words.
///
/// What cannot be mapped reads as a device that is not there.
fn read(config: u32, device: u8, offset: u8) -> u32 {
    let (page, at) = place(config, device, offset);
    window(SYSTEM, page).map_or(u32::MAX, |window| u32::from_le(window.read(at)))
}

fn write(config: u32, device: u8, offset: u8, value: u32) {
    let (page, at) = place(config, device, offset);
    if let Ok(window) = window(SYSTEM, page) {
        window.write(at, value.to_le());
    }
}

impl Bus {
    /// Sets the bridge up: addresses of its window are those of the bus, and devices reach RAM
    /// where it is.
    ///
    /// # Errors
    /// `BadState` if there is no backplane, or no bridge on it.
    pub fn open() -> Result<Self> {
        let registers = window(SYSTEM, system::REGISTERS)?;
        if registers.read(system::PCI) & system::PCI_PRESENT == 0 {
            return Err(Error::BadState);
        }
        registers.write(system::PCI, system::PCI_PRESENT);
        drop(registers);
        let is_bridge = |device: &u8| {
            read(board::OWN_CONFIG, *device, ID) == board::BRIDGE
                && read(board::OWN_CONFIG, *device, CLASS) == board::BRIDGE_CLASS
        };
        let bridge = (0..image::pci::DEVICES).find(is_bridge).ok_or(Error::BadState)?;
        let registers = window(SYSTEM, board::REGISTERS)?;
        registers.write(board::OWN_DEVICE, bridge.into());
        registers.write(board::WINDOW_TOP, board::MEMORY >> 28);
        for at in board::RAM_TOP {
            registers.write(at, 0);
        }
        drop(registers);
        let command = read(board::CONFIG, bridge, COMMAND);
        write(board::CONFIG, bridge, COMMAND, command | ON);
        (0..INBOUND).for_each(|register| write(board::CONFIG, bridge, BASE + 4 * register, 0));
        // QEMU takes systems that write nothing here for old ones, which know the interrupt lines
        // by the names that it once had for them.
        write(board::OWN_CONFIG, 0, LINE, 0);
        Ok(Self)
    }

    /// Gives a device its addresses. There is no firmware, whose addresses it would move.
    pub fn prepare(&self, device: u8) -> Vec<(u64, u32)> {
        if pci_bus::is_there(self, device) {
            let first = board::MEMORY + u32::from(device) * board::DEVICE_BYTES;
            pci_bus::place(self, device, (first, first + board::DEVICE_BYTES));
        }
        Vec::new()
    }

    /// The interrupt line of a device, one of four: as the board's wires go.
    pub const fn line(&self, _: &Resources, device: u8) -> u32 {
        board::FIRST_LINE + (device as u32 + board::LINE_OF_0) % board::LINES
    }

    /// Whether two devices have one wire, and so one interrupt line.
    pub const fn shares_wire(&self, one: u8, two: u8) -> bool {
        one as u32 % board::LINES == two as u32 % board::LINES
    }
}
