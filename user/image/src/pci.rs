// SPDX-License-Identifier: MIT OR Apache-2.0
//! A PCI device as the component that has it sees it: its configuration space as the root server
//! found it (PCI Local Bus Specification 3.0, chapter 6), but for the memory ranges, which lie
//! where the component has them. The device's own configuration space stays with the root server.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Devices on a bus.
pub const DEVICES: u8 = 32;
/// Words of a configuration space.
pub const WORDS: u8 = 64;
/// Base address registers of a device.
pub const BARS: usize = 6;
/// The word that holds the first of them.
const FIRST_BAR: usize = 4;

/// Memory that a device's registers are in.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Address, a multiple of `bytes`.
    pub address: u32,
    /// Bytes, a power of two and at least a page.
    pub bytes: u32,
}

/// A device.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The grant's name.
    pub name: String,
    config: Vec<u32>,
    ranges: [Option<Range>; BARS],
}

impl Device {
    /// From the device's configuration space and the ranges that are mapped.
    #[must_use]
    pub fn new(name: String, mut config: Vec<u32>, ranges: [Option<Range>; BARS]) -> Self {
        config.resize(usize::from(WORDS), 0);
        let bars = config.iter_mut().skip(FIRST_BAR);
        bars.zip(ranges).for_each(|(word, range)| *word = range.map_or(0, |range| range.address));
        Self { name, config, ranges }
    }

    /// The word at `offset`, in bytes.
    #[must_use]
    pub fn read(&self, offset: u8) -> u32 {
        self.config.get(usize::from(offset / 4)).copied().unwrap_or(u32::MAX)
    }

    /// Where the registers of base address register `bar` are mapped.
    #[must_use]
    pub fn range(&self, bar: usize) -> Option<Range> {
        *self.ranges.get(bar)?
    }

    /// Writes the word at `offset`: only a base address register takes it, and of a range only
    /// what tells its size, as in the device.
    pub fn write(&mut self, offset: u8, value: u32) {
        let at = usize::from(offset / 4);
        let range = at.checked_sub(FIRST_BAR).and_then(|bar| *self.ranges.get(bar)?);
        if let (Some(range), Some(word)) = (range, self.config.get_mut(at)) {
            *word = value & !(range.bytes - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        let config = (0..64).map(|word| word * 0x0101_0101).collect();
        let mut ranges = [None; BARS];
        ranges[4] = Some(Range { address: 0x5800_0000, bytes: 0x4000 });
        Device::new("d".into(), config, ranges)
    }

    #[test]
    fn shows_ranges_where_they_are_mapped() {
        let device = device();
        assert_eq!(device.read(0x20), 0x5800_0000);
        assert_eq!((0x10..0x28).step_by(4).filter(|bar| device.read(*bar) != 0).count(), 1);
        assert_eq!(device.read(0), 0);
        assert_eq!(device.read(0xfc), 63 * 0x0101_0101);
    }

    #[test]
    fn tells_sizes() {
        let mut device = device();
        device.write(0x20, u32::MAX);
        assert_eq!(device.read(0x20), !0x3fff);
        device.write(0x20, 0x5800_0000);
        assert_eq!(device.read(0x20), 0x5800_0000);
    }

    #[test]
    fn changes_nothing_else() {
        let mut device = device();
        let before = device.clone();
        (0..=0xfcu8)
            .step_by(4)
            .filter(|offset| *offset != 0x20)
            .for_each(|offset| device.write(offset, 0x1234_5678));
        assert_eq!(device, before);
    }
}
