// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI of the AmigaOne: an Articia S. No firmware has assigned addresses and interrupt lines to
//! devices, so this module does.

use crate::resources::{RW, Resources, registers};
use abi::PAGE_SIZE;
use image::Places;
use macadamia::Result;
use macadamia::alloc::vec::Vec;
use macadamia::board::pci as board;
use macadamia::map::Window;
use macadamia::port::{read8, write8};

/// Where the two registers of the bridge are seen: below where the root server looks at components.
const ADDRESS: u32 = Places::LOW.own_end - 2 * PAGE_SIZE;
const DATA: u32 = Places::LOW.own_end - 3 * PAGE_SIZE;
/// Bytes of addresses for each device.
const DEVICE_BYTES: u32 = 16 << 20;

/// The line of each of the four wires, of which each device has one; and the bits of the ISA
/// bridge's configuration space that say so: an offset, and a shift (VT82C686B, registers 55 to
/// 57).
const WIRES: [(u32, u8, u32); 4] = [(9, 0x54, 12), (10, 0x54, 16), (11, 0x54, 20), (5, 0x54, 28)];
/// Ports of a bit for each line that is level-triggered, as those of PCI devices are.
const LEVEL: u16 = 0x4d0;

/// The bus.
pub struct Bus {
    address: Window,
    data: Window,
}

fn window(at: u32, register: u32) -> Result<Window> {
    let (memory, offset) = registers(register & !(PAGE_SIZE - 1))?;
    Window::open(at, memory, offset, PAGE_SIZE, RW)
}

impl pci_bus::Bus for Bus {
    fn read(&self, device: u8, offset: u8) -> u32 {
        self.select(device, offset);
        u32::from_le(self.data.read(board::DATA % PAGE_SIZE))
    }

    fn write(&self, device: u8, offset: u8, value: u32) {
        self.select(device, offset);
        self.data.write(board::DATA % PAGE_SIZE, value.to_le());
    }
}

impl Bus {
    fn select(&self, device: u8, offset: u8) {
        let address = board::ENABLE | u32::from(device) << 11 | u32::from(offset & 0xfc);
        self.address.write(board::ADDRESS % PAGE_SIZE, address.to_le());
    }

    /// Leads the four wires to lines.
    ///
    /// # Errors
    /// What the kernel says of a mapping.
    pub fn open() -> Result<Self> {
        use pci_bus::Bus as _;
        let bus =
            Self { address: window(ADDRESS, board::ADDRESS)?, data: window(DATA, board::DATA)? };
        for (line, offset, shift) in WIRES {
            let routes = bus.read(board::ISA_BRIDGE, offset);
            bus.write(board::ISA_BRIDGE, offset, routes & !(0xf << shift) | line << shift);
            let port = LEVEL + line as u16 / 8;
            write8(port, read8(port) | 1 << (line % 8));
        }
        Ok(bus)
    }

    /// Gives a device its addresses, instead of those that it has, which are below 4 GiB.
    pub fn prepare(&self, device: u8) -> Vec<(u64, u32)> {
        if pci_bus::is_there(self, device) {
            let first = board::MEMORY + u32::from(device) * DEVICE_BYTES;
            pci_bus::place(self, device, (first, first + DEVICE_BYTES));
        }
        Vec::new()
    }

    /// The interrupt line of a device: its wire's.
    pub const fn line(&self, _: &Resources, device: u8) -> u32 {
        WIRES[(device % 4) as usize].0
    }

    /// Whether two devices have one wire, and so one interrupt line.
    pub const fn shares_wire(&self, one: u8, two: u8) -> bool {
        one % 4 == two % 4
    }
}
