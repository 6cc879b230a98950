// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices of PCI bus 0. The root server finds them by [`find`]; a component sees those that it was
//! given as [`Device`]s.

use crate::port::{read8, read32, write8, write32};
use crate::region::Region;
use crate::{Env, Word};
use alloc::vec::Vec;
use image::pci::{BARS, Device, Range, WORDS};
use virtio_drivers::transport::pci::bus::{BarInfo, Command, ConfigurationAccess, DeviceFunction, PciRoot};

/// Configuration mechanism 1: where the address of a word goes, and the word.
const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;
const ENABLE: u32 = 1 << 31;
/// What the firmware wrote down about the interrupt line, in the lowest byte of this word.
const LINE: u8 = 0x3c;

/// Configuration spaces by the ports [`ADDRESS`] and [`DATA`].
struct Ports;

fn select(of: DeviceFunction, offset: u8) {
    let [bus, device, function, offset] = [of.bus, of.device, of.function, offset & 0xfc].map(u32::from);
    write32(ADDRESS, ENABLE | bus << 16 | device << 11 | function << 8 | offset);
}

impl ConfigurationAccess for Ports {
    fn read_word(&self, of: DeviceFunction, offset: u8) -> u32 {
        select(of, offset);
        read32(DATA)
    }

    fn write_word(&mut self, of: DeviceFunction, offset: u8, value: u32) {
        select(of, offset);
        write32(DATA, value);
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Self
    }
}

/// A device says that it could not carry out a request, or answers something that it was not asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// A device as it was found.
pub struct Found {
    /// Its configuration space.
    pub config: Vec<u32>,
    /// Where its registers are in the first 4 GiB of physical memory, in whole pages.
    pub ranges: [Option<Range>; BARS],
    /// The line of its interrupt, as the firmware says.
    pub line: u32,
}

const fn at(device: u8) -> DeviceFunction {
    DeviceFunction { bus: 0, device, function: 0 }
}

/// Looks for a device, and lets it answer at its addresses and reach memory. Needs the ports 0xcf8
/// to 0xcff, which command every device of the machine.
#[must_use]
pub fn find(device: u8) -> Option<Found> {
    if device >= image::pci::DEVICES || Ports.read_word(at(device), 0) == u32::MAX {
        return None;
    }
    let mut bus = PciRoot::new(Ports);
    let bars = bus.bars(at(device)).ok()?;
    let config: Vec<u32> = (0..WORDS).map(|word| Ports.read_word(at(device), word * 4)).collect();
    let (_, command) = bus.get_status_command(at(device));
    bus.set_command(at(device), (command | Command::MEMORY_SPACE | Command::BUS_MASTER) & !Command::INTERRUPT_DISABLE);
    Some(Found { config, ranges: bars.map(|bar| bar.and_then(whole_pages)), line: Ports.read_word(at(device), LINE) & 0xff })
}

/// The board's interrupt router, a PIIX3 (82371SB, 2.2.7): bytes from [`ROUTES`] on have the lines of four wires, of which each device has one.
const ROUTER: u8 = 1;
const ROUTER_ID: u32 = 0x7000_8086;
const ROUTES: u8 = 0x60;
/// Ports of a bit for each line that is level-triggered, as those of PCI devices are (82371SB, 2.5.5).
const LEVEL: u16 = 0x4d0;

/// Leads the interrupts of a device, and of those that share its wire, to another line, which nobody else uses. Whether the machine can.
#[must_use]
pub fn route(device: u8, line: u32) -> bool {
    if line > 15 || Ports.read_word(at(ROUTER), 0) != ROUTER_ID {
        return false;
    }
    let shift = u32::from(device.wrapping_sub(1) % 4) * 8;
    let routes = Ports.read_word(at(ROUTER), ROUTES);
    Ports.write_word(at(ROUTER), ROUTES, routes & !(0xff << shift) | line << shift);
    let port = LEVEL + line as u16 / 8;
    write8(port, read8(port) | 1 << (line % 8));
    true
}

/// A range of memory that shares no page with another device's.
fn whole_pages(bar: BarInfo) -> Option<Range> {
    let (address, bytes) = bar.memory_address_size()?;
    let (address, bytes) = (u32::try_from(address).ok()?, u32::try_from(bytes).ok()?);
    let whole = address.is_multiple_of(abi::PAGE_SIZE) && bytes.is_multiple_of(abi::PAGE_SIZE);
    (address != 0 && bytes != 0 && whole).then_some(Range { address, bytes })
}

/// The registers of a granted device behind base address register `bar`: reads and writes reach the device, in the order of the
/// program. `None` if the machine has no such device, or it has none there.
#[must_use]
pub fn registers(env: &Env, device: &str, bar: usize) -> Option<Region> {
    let range = env.start.pci.iter().find(|found| found.name == device)?.range(bar)?;
    Some(Region::of_place(range.address as Word, range.bytes))
}

/// What a granted device is: its maker (lower half) and the maker's number for it. `None` if the machine has no such device.
#[must_use]
pub fn identity(env: &Env, device: &str) -> Option<u32> {
    env.start.pci.iter().find(|found| found.name == device).map(|found| found.read(0))
}

/// The one device of a component, as the crate `virtio-drivers` wants it: at any address.
pub(crate) struct View(pub(crate) Device);

impl ConfigurationAccess for View {
    fn read_word(&self, _: DeviceFunction, offset: u8) -> u32 {
        self.0.read(offset)
    }

    fn write_word(&mut self, _: DeviceFunction, offset: u8, value: u32) {
        self.0.write(offset, value);
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Self(self.0.clone())
    }
}
