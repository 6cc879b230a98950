// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices of PCI bus 0, as the root server has them: which there are, where their registers are, and
//! where they are put. A bus is looked at by [`Bus`].
#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use image::pci::{BARS, Range, WORDS};
use virtio_drivers::transport::pci::bus::{
    BarInfo, Command, ConfigurationAccess, DeviceFunction, PciRoot,
};

/// Bytes of a page: what a component is given is whole pages.
const PAGE: u32 = 4096;

/// Offset of a word of the configuration space: the interrupt line in bits 7 to 0, the pin in bits
/// 15 to 8.
const INTERRUPT: u8 = 0x3c;
/// Likewise: the header's type in bits 22 to 16.
const HEADER_TYPE: u8 = 0x0c;

/// How configuration spaces of bus 0 are reached. Who has that commands every device of the
/// machine.
pub trait Bus {
    /// Reads the 32 bits at an offset, a multiple of 4, of a device's configuration space. Its
    /// lowest byte is the one at that offset.
    fn read(&self, device: u8, offset: u8) -> u32;
    /// Writes them.
    fn write(&self, device: u8, offset: u8, value: u32);
}

/// A bus as the crate `virtio-drivers` wants it.
struct Access<'a, B>(&'a B);

impl<B: Bus> ConfigurationAccess for Access<'_, B> {
    fn read_word(&self, of: DeviceFunction, offset: u8) -> u32 {
        self.0.read(of.device, offset)
    }

    fn write_word(&mut self, of: DeviceFunction, offset: u8, value: u32) {
        self.0.write(of.device, offset, value);
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Self(self.0)
    }
}

/// A device as it was found.
pub struct Found {
    /// Its configuration space.
    pub config: Vec<u32>,
    /// Where its registers are in the first 4 GiB of physical memory, in whole pages.
    pub ranges: [Option<Range>; BARS],
}

const fn at(device: u8) -> DeviceFunction {
    DeviceFunction { bus: 0, device, function: 0 }
}

/// Whether there is a device of this number.
#[must_use]
pub fn is_there(bus: &impl Bus, device: u8) -> bool {
    device < image::pci::DEVICES && bus.read(device, 0) != u32::MAX
}

/// Gives each range of a device an address from `first` on, below `end`, as a machine without
/// firmware leaves that to its system. What finds no room has none.
pub fn place(bus: &impl Bus, device: u8, (first, end): (u32, u32)) {
    let mut root = PciRoot::new(Access(bus));
    let Ok(bars) = root.bars(at(device)) else { return };
    let mut next = first;
    for (index, bar) in (0..).zip(bars) {
        let Some((wide, size)) =
            bar.and_then(|bar| Some((bar.takes_two_entries(), bar.memory_address_size()?.1)))
        else {
            continue;
        };
        let Some(size) = u32::try_from(size).ok().filter(|size| size.is_power_of_two()) else {
            continue;
        };
        let Some(address) = next.checked_next_multiple_of(size) else { continue };
        let Some(after) = address.checked_add(size).filter(|after| *after <= end) else { continue };
        if wide {
            root.set_bar_64(at(device), index, address.into());
        } else {
            root.set_bar_32(at(device), index, address);
        }
        next = after;
    }
}

/// Moves what a device has above the first 4 GiB, of which no component is given anything, to
/// addresses from `first` on, below `end`, that no device of the bus has. What finds no room stays.
/// So does all on a bus with a bridge to another one, whose devices are not known. A device's other
/// functions are not known either. Returns what was moved: where it was, and where it is.
pub fn lower(bus: &impl Bus, device: u8, (first, end): (u32, u32)) -> Vec<(u64, u32)> {
    let mut moved = Vec::new();
    if !is_there(bus, device) || (0..image::pci::DEVICES).any(|device| is_bridge(bus, device)) {
        return moved;
    }
    let mut root = PciRoot::new(Access(bus));
    let Ok(bars) = root.bars(at(device)) else { return moved };
    for (index, bar) in (0..).zip(bars) {
        let Some((before, size)) = bar.and_then(|bar| bar.memory_address_size()) else { continue };
        if u32::try_from(before).is_err()
            && let Some(address) = gap(bus, size, (first, end))
        {
            // It answers nowhere while only half of the address is written.
            let (_, command) = root.get_status_command(at(device));
            root.set_command(at(device), command & !Command::MEMORY_SPACE);
            root.set_bar_64(at(device), index, address.into());
            root.set_command(at(device), command);
            moved.push((before, address));
        }
    }
    moved
}

/// Whether there is a device that leads to another bus: its configuration space has another layout
/// (PCI Local Bus Specification 3.0, 6.2.1, *Header Type*).
fn is_bridge(bus: &impl Bus, device: u8) -> bool {
    is_there(bus, device) && bus.read(device, HEADER_TYPE) >> 16 & 0x7f != 0
}

/// A multiple of `size` from `first` on where no device has any of so many bytes below `end`.
fn gap(bus: &impl Bus, size: u64, (first, end): (u32, u32)) -> Option<u32> {
    let mut root = PciRoot::new(Access(bus));
    let there = (0..image::pci::DEVICES).filter(|device| is_there(bus, *device));
    let taken: Vec<(u64, u64)> = there
        .filter_map(|device| root.bars(at(device)).ok())
        .flat_map(|bars| bars.into_iter().flatten().filter_map(|bar| bar.memory_address_size()))
        .collect();
    let mut address = u64::from(first).checked_next_multiple_of(size)?;
    loop {
        let after = address.checked_add(size).filter(|after| *after <= end.into())?;
        let overlaps =
            |(start, bytes): &&(u64, u64)| *start < after && address < start.saturating_add(*bytes);
        let Some((start, bytes)) = taken.iter().find(overlaps) else {
            return u32::try_from(address).ok();
        };
        address = start.checked_add(*bytes)?.checked_next_multiple_of(size)?;
    }
}

/// Whether a device raises interrupts: its byte *interrupt pin* says by which pin (PCI Local Bus
/// Specification 3.0, 6.2.4).
#[must_use]
pub fn has_interrupt(bus: &impl Bus, device: u8) -> bool {
    bus.read(device, INTERRUPT) >> 8 & 0xff != 0
}

/// Looks for a device, and lets it answer at its addresses and reach memory.
#[must_use]
pub fn find(bus: &impl Bus, device: u8) -> Option<Found> {
    if !is_there(bus, device) {
        return None;
    }
    let mut root = PciRoot::new(Access(bus));
    let bars = root.bars(at(device)).ok()?;
    let config: Vec<u32> = (0..WORDS).map(|word| bus.read(device, word * 4)).collect();
    let (_, command) = root.get_status_command(at(device));
    root.set_command(
        at(device),
        (command | Command::MEMORY_SPACE | Command::BUS_MASTER) & !Command::INTERRUPT_DISABLE,
    );
    Some(Found { config, ranges: bars.map(|bar| bar.and_then(whole_pages)) })
}

/// A range of memory that shares no page with another device's.
fn whole_pages(bar: BarInfo) -> Option<Range> {
    let (address, bytes) = bar.memory_address_size()?;
    let (address, bytes) = (u32::try_from(address).ok()?, u32::try_from(bytes).ok()?);
    let whole = address.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE);
    (address != 0 && bytes != 0 && whole).then_some(Range { address, bytes })
}
