// SPDX-License-Identifier: GPL-2.0-or-later
//! What the counter reads of an ARM guest: registers, and translation tables.
//!
//! QEMU's interface reads memory with the rights of the current mode, and user mode may not read
//! tables. So the plugin keeps a copy of each page that the kernel has written since power-on, and
//! of those with queues of devices. A copy is made after the first write, when the writer can read
//! the page, and each later write changes it.

use crate::registers::{Handle, Reader, find};
use model_core::armv5::{Controls, World};
use model_core::{Physical, Privilege};

const PAGE: u32 = abi::PAGE_SIZE;
/// Numbers of registers.
const LR: usize = 14;
const PC: usize = 15;

/// The guest, in a callback that may read registers.
pub struct Guest {
    general: [Handle; 16],
    status: Handle,
    control: Handle,
    root: Handle,
    domains: Handle,
    process: Handle,
    reader: Reader,
    /// By number of the physical page.
    pages: Vec<Option<Box<[u8; PAGE as usize]>>>,
}

impl Guest {
    /// Looks the registers up, as [`find`] does.
    pub fn find() -> Option<Self> {
        let names = [
            "cpsr",
            "SCTLR",
            "TTBR0_EL1",
            "DACR",
            "FCSEIDR",
            "r0",
            "r1",
            "r2",
            "r3",
            "r4",
            "r5",
            "r6",
            "r7",
            "r8",
            "r9",
            "r10",
            "r11",
            "r12",
            "sp",
            "lr",
            "pc",
        ];
        let [status, control, root, domains, process, general @ ..] = find(names)?;
        let pages = vec![None; 1 << 20];
        Some(Self {
            general,
            status,
            control,
            root,
            domains,
            process,
            reader: Reader::new(),
            pages,
        })
    }

    /// A register by its number, in the present mode.
    pub fn general(&self, number: u8) -> u32 {
        self.reader.register(self.general[usize::from(number & 15)])
    }

    /// Text of at most this many bytes that the current mode can read; none if it cannot.
    pub fn text(&mut self, address: u32, bytes: usize) -> String {
        self.reader
            .memory(address, bytes, |bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    }

    /// The program counter, as it was when the block in execution began.
    pub fn pc(&self) -> u32 {
        self.reader.register(self.general[PC])
    }

    /// The program status.
    pub fn status(&self) -> u32 {
        self.reader.register(self.status)
    }

    /// The privilege that the processor has.
    pub fn privilege(&self) -> Privilege {
        const MODE: u32 = 0x1f;
        const USER: u32 = 0x10;
        if self.status() & MODE == USER { Privilege::User } else { Privilege::Kernel }
    }

    /// Whether it executes Thumb instructions.
    pub fn is_thumb(&self) -> bool {
        const THUMB: u32 = 1 << 5;
        self.status() & THUMB != 0
    }

    /// `value` has been written at a virtual address, which is at `physical`; it does not go beyond
    /// a page. The first write that `copies` the page makes the copy: it is in the page by now.
    pub fn stored(&mut self, address: u32, physical: u32, value: &[u8], copies: bool) {
        let page = &mut self.pages[(physical / PAGE) as usize];
        let at = (physical % PAGE) as usize;
        match page {
            Some(copy) => copy[at..at + value.len()].copy_from_slice(value),
            None if copies => {
                *page = self
                    .reader
                    .memory(address & !(PAGE - 1), PAGE as usize, |bytes| {
                        bytes.try_into().ok().map(Box::new)
                    })
                    .flatten()
            }
            None => {}
        }
    }
}

impl Physical for Guest {
    fn read(&mut self, address: u32) -> Option<u32> {
        let page = self.pages[(address / PAGE) as usize].as_ref()?;
        let at = ((address % PAGE) & !3) as usize;
        page[at..at + 4].try_into().ok().map(u32::from_le_bytes)
    }
}

impl World for Guest {
    fn controls(&mut self) -> Controls {
        let read = |register| self.reader.register(register);
        Controls {
            control: read(self.control),
            root: read(self.root),
            domains: read(self.domains),
            process: read(self.process),
        }
    }

    fn link(&mut self) -> u32 {
        self.reader.register(self.general[LR])
    }
}
