// SPDX-License-Identifier: GPL-2.0-or-later
//! IA-32's registers, and memory at linear addresses.

use crate::registers::{Handle, Reader, find};
use model_core::ia32::SegmentRegister;

/// Handles of the registers that are read. Its functions are called where [`Reader`]'s are.
pub struct Registers {
    eip: Handle,
    eflags: Handle,
    cr0: Handle,
    cr3: Handle,
    /// In the order of their numbers in encodings.
    segments: [Handle; 6],
    /// In the order of their numbers in encodings.
    general: [Handle; 8],
    reader: Reader,
}

impl Registers {
    /// Looks the registers up, as [`find`] does.
    pub fn find() -> Option<Self> {
        let names = [
            "eip", "eflags", "cr0", "cr3", "es", "cs", "ss", "ds", "fs", "gs", "eax", "ecx", "edx",
            "ebx", "esp", "ebp", "esi", "edi",
        ];
        let [eip, eflags, cr0, cr3, es, cs, ss, ds, fs, gs, general @ ..] = find(names)?;
        let segments = [es, cs, ss, ds, fs, gs];
        Some(Self { eip, eflags, cr0, cr3, segments, general, reader: Reader::new() })
    }

    fn read(&self, register: Handle) -> u32 {
        self.reader.register(register)
    }

    /// The word at a linear address, if the present tables map it.
    pub fn memory(&self, address: u32) -> Option<u32> {
        let read = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
        self.reader.memory(address, 4, read).flatten()
    }

    /// Appends bytes from a linear address on; false if the present tables do not map all of them.
    pub fn bytes(&self, address: u32, count: usize, to: &mut Vec<u8>) -> bool {
        self.reader.memory(address, count, |bytes| to.extend_from_slice(bytes)).is_some()
    }

    /// The instruction pointer.
    pub fn eip(&self) -> u32 {
        self.read(self.eip)
    }
    /// The code segment's selector.
    pub fn cs(&self) -> u32 {
        self.selector(SegmentRegister::Cs).into()
    }
    /// The selector in a segment register. A memory callback may ask for it, too: QEMU keeps
    /// selectors nowhere else than in the processor's state.
    pub fn selector(&self, register: SegmentRegister) -> u16 {
        self.read(self.segments[register as usize]) as u16
    }
    /// The flags.
    pub fn eflags(&self) -> u32 {
        self.read(self.eflags)
    }
    /// Control register 0.
    pub fn cr0(&self) -> u32 {
        self.read(self.cr0)
    }
    /// Control register 3.
    pub fn cr3(&self) -> u32 {
        self.read(self.cr3)
    }
    /// A general register by its number in encodings, 0 to 7.
    pub fn general(&self, number: u8) -> u32 {
        self.read(self.general[usize::from(number & 7)])
    }
}
