// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that the firmware has put above 4 GiB come below.

use pci_bus::{Bus, find, lower};
use std::cell::RefCell;
use std::collections::BTreeMap;

const COMMAND: u8 = 4;
const HEADER_TYPE: u8 = 0x0c;
const FIRST_BAR: u8 = 0x10;
/// In the command: it answers in memory.
const MEMORY: u32 = 2;
/// In a base address register: it has 64 bits.
const WIDE: u32 = 4;

const MIB: u32 = 1 << 20;

/// A bus: of each device and word what is there, and which bits can be written.
#[derive(Default)]
struct Simulated {
    words: RefCell<BTreeMap<(u8, u8), (u32, u32)>>,
    /// Devices whose address was changed while they answered.
    torn: RefCell<Vec<u8>>,
}

impl Simulated {
    /// Adds a device that answers.
    fn device(&self, device: u8) {
        let mut words = self.words.borrow_mut();
        words.insert((device, 0), (0x1041_1af4, 0));
        words.insert((device, COMMAND), (MEMORY, 0xffff));
    }

    /// Gives it a base address register of so many bytes, and of 64 bits if it is `wide`.
    fn bar(&self, device: u8, bar: u8, address: u64, bytes: u64, wide: bool) {
        let (mask, at) = (!(bytes - 1), FIRST_BAR + 4 * bar);
        let mut words = self.words.borrow_mut();
        let kind = if wide { WIDE } else { 0 };
        words.insert((device, at), (address as u32 | kind, mask as u32));
        if wide {
            words.insert((device, at + 4), ((address >> 32) as u32, (mask >> 32) as u32));
        }
    }

    /// The address in a register of 64 bits.
    fn address(&self, device: u8, bar: u8) -> u64 {
        let at = FIRST_BAR + 4 * bar;
        u64::from(self.read(device, at + 4)) << 32 | u64::from(self.read(device, at) & !0xf)
    }
}

impl Bus for Simulated {
    fn read(&self, device: u8, offset: u8) -> u32 {
        let words = self.words.borrow();
        let nothing = if words.contains_key(&(device, 0)) { 0 } else { u32::MAX };
        words.get(&(device, offset)).map_or(nothing, |(value, _)| *value)
    }

    fn write(&self, device: u8, offset: u8, value: u32) {
        if (FIRST_BAR..FIRST_BAR + 24).contains(&offset) && self.read(device, COMMAND) & MEMORY != 0
        {
            self.torn.borrow_mut().push(device);
        }
        if let Some((word, mask)) = self.words.borrow_mut().get_mut(&(device, offset)) {
            *word = *word & !*mask | value & *mask;
        }
    }
}

/// Where there is room below 4 GiB.
const ROOM: (u32, u32) = (0xc000_0000, 0xc010_0000);
/// Where the firmware has put what there is.
const HIGH: u64 = 0x38_0000_0000;

/// A device whose registers of 64 bits are above 4 GiB.
fn high(bytes: u64) -> Simulated {
    let bus = Simulated::default();
    bus.device(6);
    bus.bar(6, 1, 0xc000_0000, 4096, false);
    bus.bar(6, 4, HIGH, bytes, true);
    bus
}

#[test]
fn what_is_above_finds_a_gap_below() {
    let bus = high(16 << 10);
    bus.device(3);
    bus.bar(3, 0, 0xc000_4000, 16 << 10, false);
    assert_eq!(lower(&bus, 6, ROOM), [(HIGH, 0xc000_8000)], "the first gap that is aligned");
    assert_eq!(bus.address(6, 4), 0xc000_8000);
    assert_eq!(bus.read(6, COMMAND) & MEMORY, MEMORY, "it answers again");
    assert_eq!(*bus.torn.borrow(), [], "it did not answer while it was moved");
    assert_eq!(lower(&bus, 6, ROOM), [], "there is nothing above any more");
    let ranges = find(&bus, 6).expect("a device").ranges;
    assert_eq!(ranges[4].map(|range| (range.address, range.bytes)), Some((0xc000_8000, 16 << 10)));
}

#[test]
fn what_finds_no_room_stays() {
    let bus = high(u64::from(MIB));
    assert_eq!(lower(&bus, 6, ROOM), [], "its own page is in the way");
    assert_eq!(bus.address(6, 4), HIGH);
    assert!(find(&bus, 6).expect("a device").ranges[4].is_none(), "no component gets it");
    assert_eq!(lower(&bus, 6, (0xc000_0000, 0xc020_0000)), [(HIGH, 0xc010_0000)]);
}

#[test]
fn nothing_moves_on_a_bus_with_a_bridge() {
    let bus = high(16 << 10);
    bus.device(1);
    bus.words.borrow_mut().insert((1, HEADER_TYPE), (1 << 16, 0));
    assert_eq!(lower(&bus, 6, ROOM), []);
    assert_eq!(bus.address(6, 4), HIGH);
}

#[test]
fn a_device_that_is_not_there_has_nothing() {
    let bus = high(16 << 10);
    assert_eq!(lower(&bus, 7, ROOM), []);
    assert_eq!(lower(&bus, 32, ROOM), []);
}
