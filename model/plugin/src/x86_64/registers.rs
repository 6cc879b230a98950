// SPDX-License-Identifier: GPL-2.0-or-later
//! x86-64's registers, and memory at linear addresses.

use crate::registers::{Handle, Reader, find};

/// Numbers of general registers in encodings.
pub const RAX: u8 = 0;
/// See [`RAX`].
pub const RCX: u8 = 1;
/// See [`RAX`].
pub const RSP: u8 = 4;

/// Handles of the registers that are read. Its functions are called where [`Reader`]'s are.
pub struct Registers {
    rip: Handle,
    rflags: Handle,
    ss: Handle,
    cr0: Handle,
    cr3: Handle,
    /// In the order of their numbers in encodings.
    general: [Handle; 16],
    reader: Reader,
}

impl Registers {
    /// Looks the registers up, as [`find`] does.
    pub fn find() -> Option<Self> {
        let names = [
            "rip", "eflags", "ss", "cr0", "cr3", "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi",
            "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
        ];
        let [rip, rflags, ss, cr0, cr3, general @ ..] = find(names)?;
        Some(Self { rip, rflags, ss, cr0, cr3, general, reader: Reader::new() })
    }

    /// The 64 bits at a linear address, if the present tables map them.
    pub fn memory(&self, address: u64) -> Option<u64> {
        let read = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        self.reader.memory(address, 8, read).flatten()
    }

    /// Bytes from a linear address on, if the present tables map all of them.
    pub fn bytes(&self, address: u64, count: usize) -> Option<Vec<u8>> {
        self.reader.memory(address, count, <[u8]>::to_vec)
    }

    /// The instruction pointer.
    pub fn rip(&self) -> u64 {
        self.reader.wide(self.rip)
    }
    /// The flags, as QEMU has them: the lower half.
    pub fn rflags(&self) -> u64 {
        self.reader.register(self.rflags).into()
    }
    /// The stack segment's selector.
    pub fn ss(&self) -> u32 {
        self.reader.register(self.ss)
    }
    /// Control register 0.
    pub fn cr0(&self) -> u64 {
        self.reader.wide(self.cr0)
    }
    /// Control register 3.
    pub fn cr3(&self) -> u64 {
        self.reader.wide(self.cr3)
    }
    /// A general register by its number in encodings, 0 to 15.
    pub fn general(&self, number: u8) -> u64 {
        self.reader.wide(self.general[usize::from(number & 15)])
    }
}
