// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI devices for components. Only the root server configures them, through the board's `Bus`. A
//! component gets the memory of its device's registers, the interrupt line, and a copy of the
//! configuration space.

use crate::board::Bus;
use crate::machine::say;
use crate::resources::{RW, Resources};
use core::ops::Range;
use image::layout::PCI_SPAN;
use image::pci::{BARS, Device, Range as Place};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::{Memory, Result, Space, Word, map};

/// A device that was assigned to a component.
pub struct Assigned {
    irq: Option<Word>,
    /// Its ranges, and where they are mapped.
    ranges: Vec<(Memory, Place)>,
    device: Device,
}

impl Assigned {
    /// Capability of its interrupt line, if it has one.
    pub const fn irq(&self) -> Option<Word> {
        self.irq
    }

    /// What the component is told.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Maps its ranges, whose addresses are counted from `base` on.
    pub fn map(&self, space: Space, base: Word) -> Result<()> {
        self.ranges.iter().try_for_each(|(memory, place)| {
            map::map(space, base + place.address as Word, *memory, 0, place.bytes as Word, RW)
        })
    }
}

/// Finds a device for the grant `name`, whose ranges are mapped at these addresses. If one of the
/// `others` with an interrupt line, which the component has already, has the same wire, that line is
/// for both. `None` if there is no device, or none that can be used, which is said.
pub fn find(
    resources: &mut Resources,
    name: &str,
    (device, others): (u8, &[u8]),
    addresses: Range<u32>,
) -> Option<Assigned> {
    let bus = Bus::open()
        .map_err(|error| say(format_args!("no use of the PCI bus: {}", error.text())))
        .ok()?;
    for (before, now) in bus.prepare(device) {
        say(format_args!("PCI device {device}: registers at {before:#x} are at {now:#x} now"));
    }
    let found = pci_bus::find(&bus, device)?;
    // A line that it does not have would be kept from who has it.
    let has_line = pci_bus::has_interrupt(&bus, device)
        && !others.iter().any(|other| bus.shares_wire(*other, device));
    let line = has_line.then(|| bus.line(resources, device));
    let irq = line.map(|line| resources.line(line)).transpose();
    let assigned = irq.and_then(|irq| assign(resources, name, found, (irq, addresses)));
    assigned
        .map_err(|error| {
            let with = line.map_or_else(String::new, |line| format!(" with interrupt line {line}"));
            say(format_args!("no use of PCI device {device}{with}: {}", error.text()));
        })
        .ok()
}

fn assign(
    resources: &mut Resources,
    name: &str,
    found: pci_bus::Found,
    (irq, addresses): (Option<Word>, Range<u32>),
) -> Result<Assigned> {
    let (mut ranges, mut mapped) = (Vec::new(), [None; BARS]);
    let mut address = addresses.start;
    // After that another grant may begin.
    let most = address.saturating_add(PCI_SPAN).min(addresses.end);
    for (range, mapped) in found.ranges.into_iter().zip(&mut mapped) {
        let Some(range) = range else { continue };
        // Aligned as in the device. What finds no room is as if the device did not have it.
        let place = address
            .checked_next_multiple_of(range.bytes)
            .map(|address| Place { address, bytes: range.bytes });
        let fits =
            |place: &Place| place.address.checked_add(place.bytes).is_some_and(|end| end <= most);
        let Some(place) = place.filter(fits) else { continue };
        let memory = resources.device(range.address as Word, range.bytes as Word)?;
        ranges.push((memory, place));
        *mapped = Some(place);
        address = place.address + place.bytes;
    }
    Ok(Assigned { irq, ranges, device: Device::new(name.into(), found.config, mapped) })
}
