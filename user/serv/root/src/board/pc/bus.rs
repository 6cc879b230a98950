// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI of the PC: configuration mechanism 1, and interrupt lines as the firmware chose them, or as
//! this module sets the board's interrupt router.

use crate::resources::{Resources, devices};
use macadamia::Result;
use macadamia::alloc::vec::Vec;
use macadamia::port::{read8, read32, write8, write32};

/// Configuration mechanism 1: where the address of a word goes, and the word.
const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;
const ENABLE: u32 = 1 << 31;
/// What the firmware wrote down about the interrupt line, in the lowest byte of this word.
const LINE: u8 = 0x3c;

/// The board's interrupt router, a PIIX3 (82371SB, 2.2.7): bytes from [`ROUTES`] on have the lines
/// of four wires, of which each device has one.
const ROUTER: u8 = 1;
const ROUTER_ID: u32 = 0x7000_8086;
const ROUTES: u8 = 0x60;
/// Ports of a bit for each line that is level-triggered, as those of PCI devices are (82371SB,
/// 2.5.5).
const LEVEL: u16 = 0x4d0;

/// Interrupt lines that devices of PCI can be led to, as no device of a PC needs to have them:
/// those that a second printer and the firmware's power management would have.
const SPARE_LINES: [u32; 2] = [5, 9];

/// Where the addresses of PCI devices end below 4 GiB: the I/O APIC and the firmware are after it.
const MEMORY_END: u32 = 0xfec0_0000;
/// They begin at a multiple of this: the firmware keeps the end of RAM below to itself, so that it
/// looks like addresses of devices.
const MEMORY_START: u32 = 256 << 20;

/// The bus.
pub struct Bus;

impl pci_bus::Bus for Bus {
    fn read(&self, device: u8, offset: u8) -> u32 {
        select(device, offset);
        read32(DATA)
    }

    fn write(&self, device: u8, offset: u8, value: u32) {
        select(device, offset);
        write32(DATA, value);
    }
}

fn select(device: u8, offset: u8) {
    write32(ADDRESS, ENABLE | u32::from(device) << 11 | u32::from(offset & 0xfc));
}

/// The wire of a device's first pin, of four.
fn wire(device: u8) -> u32 {
    (device.wrapping_sub(1) % 4).into()
}

impl Bus {
    /// The ports are the root server's since `open`.
    pub const fn open() -> Result<Self> {
        Ok(Self)
    }

    /// The firmware has given each device its addresses; where there is RAM above 4 GiB some are
    /// above that, and are moved. Returns where those were, and where they are.
    pub fn prepare(&self, device: u8) -> Vec<(u64, u32)> {
        let first = devices().ok().and_then(|first| u32::try_from(first).ok());
        let first = first.and_then(|at| at.checked_next_multiple_of(MEMORY_START));
        first.map_or_else(Vec::new, |first| pci_bus::lower(self, device, (first, MEMORY_END)))
    }

    /// The interrupt line of a device. If a component already has that line, a spare one takes its
    /// place, if there is any.
    pub fn line(&self, resources: &Resources, device: u8) -> u32 {
        let found = pci_bus::Bus::read(self, device, LINE) & 0xff;
        let spare = [found].into_iter().chain(SPARE_LINES).find(|line| resources.is_spare(*line));
        spare.filter(|line| *line == found || self.route(device, *line)).unwrap_or(found)
    }

    /// Whether two devices have one wire, and so one interrupt line, wherever that is led to. On a
    /// machine with another router that is not known.
    pub fn shares_wire(&self, one: u8, two: u8) -> bool {
        pci_bus::Bus::read(self, ROUTER, 0) == ROUTER_ID && wire(one) == wire(two)
    }

    /// Leads the interrupts of a device, and of those that share its wire, to another line, which
    /// nothing else uses. Whether the machine can.
    fn route(&self, device: u8, line: u32) -> bool {
        use pci_bus::Bus as _;
        if line > 15 || self.read(ROUTER, 0) != ROUTER_ID {
            return false;
        }
        let shift = wire(device) * 8;
        let routes = self.read(ROUTER, ROUTES);
        self.write(ROUTER, ROUTES, routes & !(0xff << shift) | line << shift);
        let port = LEVEL + line as u16 / 8;
        write8(port, read8(port) | 1 << (line % 8));
        true
    }
}
