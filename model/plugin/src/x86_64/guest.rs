// SPDX-License-Identifier: GPL-2.0-or-later
//! What the counter reads of the guest: registers and translation tables.
//!
//! QEMU's interface reads memory only by linear addresses. So tables are read where the kernel's
//! part, which each space has, shows physical memory: in the window that an argument names, and in
//! the large pages of the last directory, which is the kernel's.

use super::registers::Registers;
use abi::arch::x86_64::layout::KIP_ADDRESS;
use model_core::Privilege;
use model_core::x86_64::{Memory, World, privilege};
use std::ops::Range;

/// The upper half of each of the kernel's addresses.
const ONES: u64 = 0xffff_ffff_0000_0000;
/// The window that is said of Linux alone, on each processor; and where its physical memory is, with
/// four levels of tables and without KASLR (Linux, `Documentation/arch/x86/x86_64/mm.rst`).
const LINUX: u32 = 0xc000_0000;
const LINUX_DIRECT: u64 = 0xffff_8880_0000_0000;
/// What the last directory spans begins there.
const LAST_GIB: u64 = ONES | 0xc000_0000;
/// Its entries, and binary logarithm of what each spans.
const ENTRIES: u64 = 512;
const SHIFT: u32 = 21;
/// Of an entry: the address of a table or a page.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// The guest, in a callback that may read registers.
pub struct Guest {
    registers: Registers,
    /// Linear addresses at which physical memory appears, and where that begins.
    windows: Vec<(Range<u64>, u64)>,
    /// The first highest table: the kernel's own.
    first_root: Option<u64>,
    /// How often its large pages were looked for.
    looked: u32,
}

/// The kernel's part may have got large pages since they were looked for, but not for ever.
const LOOKS: u32 = 100;

impl Guest {
    /// With physical memory from 0 on at `window`, lower halves of addresses; or where Linux alone
    /// has it, if the window is Linux's.
    pub fn new(registers: Registers, window: &Range<u32>) -> Self {
        let upper = if window.start == LINUX { LINUX_DIRECT - u64::from(LINUX) } else { ONES };
        let window = upper + u64::from(window.start)..upper + u64::from(window.end);
        Self { registers, windows: vec![(window, 0)], first_root: None, looked: 0 }
    }

    /// The privilege that the processor has.
    pub fn privilege(&self) -> Privilege {
        privilege(self.registers.ss(), self.registers.cr0(), self.registers.rflags())
    }

    /// The instruction pointer, as it was when the block in execution began.
    pub fn rip(&self) -> u64 {
        self.registers.rip()
    }

    /// A general register by its number in encodings.
    pub fn general(&self, number: u8) -> u64 {
        self.registers.general(number)
    }

    /// The 64 bits at a linear address, if the present tables map them.
    pub fn word(&self, address: u64) -> Option<u64> {
        self.registers.memory(address)
    }

    /// A text of this many bytes at a linear address.
    pub fn text(&self, address: u64, count: usize) -> String {
        let bytes = self.registers.bytes(address, count).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Tables are used; the first ones matter.
    pub fn note_root(&mut self) {
        let root = self.registers.cr3() & ADDRESS;
        if root != 0 {
            self.first_root.get_or_insert(root);
        }
    }

    fn linear(&self, physical: u64) -> Option<u64> {
        let inside = |(window, base): &(Range<u64>, u64)| {
            let offset = physical.checked_sub(*base)?;
            (offset < window.end - window.start).then(|| window.start + offset)
        };
        self.windows.iter().find_map(inside)
    }

    /// The table that the last entry of another leads to.
    fn last(&self, table: u64) -> Option<u64> {
        Some(self.word(self.linear(table)? + (ENTRIES - 1) * 8)? & ADDRESS)
    }

    /// Adds the large pages of the kernel's directory to the windows.
    fn look(&mut self) {
        const LARGE: u64 = 0x81;
        self.looked += 1;
        let upper = self.first_root.and_then(|top| self.last(top));
        let directory = upper.and_then(|upper| self.last(upper));
        let Some(directory) = directory.and_then(|directory| self.linear(directory)) else {
            return;
        };
        for index in 0..ENTRIES {
            let start = LAST_GIB + (index << SHIFT);
            let window = start..start.saturating_add(1 << SHIFT);
            if let Some(entry) = self.word(directory + index * 8)
                && entry & LARGE == LARGE
                && self.windows.iter().all(|(known, _)| known.start != window.start)
            {
                self.windows.push((window, entry & ADDRESS & !((1 << SHIFT) - 1)));
            }
        }
    }
}

impl Memory for Guest {
    fn entry(&mut self, address: u64) -> Option<u64> {
        let mut linear = self.linear(address);
        if linear.is_none() && self.looked < LOOKS {
            self.look();
            linear = self.linear(address);
        }
        self.word(linear?)
    }
}

impl World for Guest {
    fn root(&mut self) -> u64 {
        self.registers.cr3()
    }

    fn paging(&mut self) -> bool {
        self.registers.cr0() >> 31 & 1 != 0
    }

    fn is_native(&mut self) -> bool {
        self.word(KIP_ADDRESS).map(|word| word as u32) == Some(abi::kip::MAGIC)
    }
}
