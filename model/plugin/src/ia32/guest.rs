// SPDX-License-Identifier: GPL-2.0-or-later
//! What the counter reads of the guest: registers and translation tables.
//!
//! QEMU's interface reads memory only by linear addresses. So tables are read where the kernel's
//! part shows physical memory: in the window that an argument names, and in the large pages of the
//! first directory, which is the kernel's own.

use super::registers::Registers;
use model_core::ia32::{SegmentRegister, World, privilege};
use model_core::{Physical, Privilege};
use std::ops::Range;

/// The guest, in a callback that may read registers.
pub struct Guest {
    registers: Registers,
    /// Linear addresses at which physical memory appears, and where that begins.
    windows: Vec<(Range<u32>, u32)>,
    /// The first directory.
    first_root: Option<u32>,
    /// How often its large pages were looked for.
    looked: u32,
}

/// The kernel's part may have got large pages since they were looked for, but not for ever.
const LOOKS: u32 = 100;

impl Guest {
    /// With physical memory from 0 on at `window`.
    pub fn new(registers: Registers, window: Range<u32>) -> Self {
        Self { registers, windows: vec![(window, 0)], first_root: None, looked: 0 }
    }

    /// The privilege that the processor has.
    pub fn privilege(&self) -> Privilege {
        privilege(self.registers.cs(), self.registers.cr0(), self.registers.eflags())
    }

    /// The instruction pointer, as it was when the block in execution began.
    pub fn eip(&self) -> u32 {
        self.registers.eip()
    }

    /// A general register by its number in encodings.
    pub fn general(&self, number: u8) -> u32 {
        self.registers.general(number)
    }

    /// The word at a linear address, if the present tables map it.
    pub fn word(&self, address: u32) -> Option<u32> {
        self.registers.memory(address)
    }

    /// Appends bytes from a linear address on, within a page; false if the present tables do not
    /// map it.
    pub fn read_bytes(&self, address: u32, count: usize, to: &mut Vec<u8>) -> bool {
        self.registers.bytes(address, count, to)
    }

    /// Tables are used; the first ones matter.
    pub fn note_root(&mut self, root: u32) {
        if root != 0 {
            self.first_root.get_or_insert(root & !0xfff);
        }
    }

    /// The first tables, when others are or were used: they are the kernel's own.
    pub fn first_root(&self) -> Option<u32> {
        self.first_root
    }

    fn linear(&self, physical: u32) -> Option<u32> {
        let inside = |(window, base): &(Range<u32>, u32)| {
            let offset = physical.checked_sub(*base)?;
            (offset < window.end - window.start).then(|| window.start + offset)
        };
        self.windows.iter().find_map(inside)
    }

    /// Adds the large pages of the first directory to the windows.
    fn look(&mut self) {
        const LARGE: u32 = 0x81;
        const SHIFT: u32 = 22;
        self.looked += 1;
        let Some(directory) = self.first_root.and_then(|root| self.linear(root)) else { return };
        for index in self.windows[0].0.start >> SHIFT..1 << (32 - SHIFT) {
            let window = index << SHIFT..(index << SHIFT).saturating_add(1 << SHIFT);
            if let Some(entry) = self.registers.memory(directory + index * 4)
                && entry & LARGE == LARGE
                && self.windows.iter().all(|(known, _)| known.start != window.start)
            {
                self.windows.push((window, entry & (u32::MAX << SHIFT)));
            }
        }
    }
}

impl Physical for Guest {
    fn read(&mut self, address: u32) -> Option<u32> {
        let mut linear = self.linear(address);
        if linear.is_none() && self.looked < LOOKS {
            self.look();
            linear = self.linear(address);
        }
        self.registers.memory(linear?)
    }
}

impl World for Guest {
    fn root(&mut self) -> u32 {
        self.registers.cr3()
    }

    fn paging(&mut self) -> bool {
        self.registers.cr0() >> 31 != 0
    }

    fn is_native(&mut self, base: u32) -> bool {
        self.registers.memory(base.wrapping_add(abi::utcb::KIP_ADDRESS)) == Some(abi::kip::MAGIC)
    }

    fn selector(&mut self, register: SegmentRegister) -> u16 {
        self.registers.selector(register)
    }

    fn read_linear(&mut self, address: u32, count: usize) -> Option<Vec<u8>> {
        let mut found = Vec::with_capacity(count);
        self.registers.bytes(address, count, &mut found).then_some(found)
    }
}
