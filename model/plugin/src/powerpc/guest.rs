// SPDX-License-Identifier: GPL-2.0-or-later
//! What the counter reads of a PowerPC guest: registers, and tables.
//!
//! QEMU's interface reads memory with the rights of the current mode, and user mode may read
//! neither the kernel's tables nor the hashed table. So the plugin keeps a copy of each page that
//! the kernel has written since power-on. A copy is made after the first write, when the writer can
//! read the page, and each later write changes it. The kernel's addresses are physical ones; the
//! addresses of Linux alone are as far from them as its memory is from 0.

use crate::registers::{Handle, Reader, find};
use model_core::powerpc::{Bat, Controls, LINUX, World};
use model_core::{Physical, Privilege};

const PAGE: u32 = abi::PAGE_SIZE;
/// The machine state: user mode.
const USER: u32 = 1 << 14;
/// SRR1 after a fetch, DSISR after a load or store: the hashed table has no entry.
const NOT_FOUND: u32 = 1 << 30;

/// The guest, in a callback that may read registers.
pub struct Guest {
    general: [Handle; 32],
    state: Handle,
    link: Handle,
    /// SRR1, SPRG0, SPRG1, SDR1, DSISR.
    special: [Handle; 5],
    bats: [Handle; 16],
    reader: Reader,
    /// By number of the physical page.
    pages: Vec<Option<Box<[u8; PAGE as usize]>>>,
    /// Bytes of memory, if Linux alone runs, else 0.
    alone: u32,
}

impl Guest {
    /// Looks the registers up, as [`find`] does, of a guest that is Linux alone with this many
    /// bytes of memory, or 0.
    pub fn find(alone: u32) -> Option<Self> {
        const GENERAL: [&str; 32] = [
            "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13",
            "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25",
            "r26", "r27", "r28", "r29", "r30", "r31",
        ];
        const BATS: [&str; 16] = [
            "ibat0u", "ibat0l", "ibat1u", "ibat1l", "ibat2u", "ibat2l", "ibat3u", "ibat3l",
            "dbat0u", "dbat0l", "dbat1u", "dbat1l", "dbat2u", "dbat2l", "dbat3u", "dbat3l",
        ];
        let [state, link, special @ ..] =
            find(["msr", "lr", "srr1", "sprg0", "sprg1", "sdr1", "dsisr"])?;
        let pages = vec![None; 1 << 20];
        Some(Self {
            general: find(GENERAL)?,
            state,
            link,
            special,
            bats: find(BATS)?,
            reader: Reader::new(),
            pages,
            alone,
        })
    }

    /// A register, whose high byte is first.
    fn register(&self, register: Handle) -> u32 {
        self.reader.register(register).swap_bytes()
    }

    /// A general register by its number.
    pub fn general(&self, number: u8) -> u32 {
        self.register(self.general[usize::from(number & 31)])
    }

    /// Text of at most this many bytes that the current mode can read; none if it cannot.
    pub fn text(&mut self, address: u32, bytes: usize) -> String {
        self.reader
            .memory(address, bytes, |bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    }

    /// The privilege that the processor has.
    pub fn privilege(&self) -> Privilege {
        if self.register(self.state) & USER != 0 { Privilege::User } else { Privilege::Kernel }
    }

    /// The physical address of one of the kernel's. Linux alone has its memory where it is, with
    /// translation off, and from [`LINUX`] on; what it writes to programs is no table.
    const fn physical(&self, address: u32) -> Option<u32> {
        match address {
            _ if self.alone == 0 || address < self.alone => Some(address),
            LINUX.. if address - LINUX < self.alone => Some(address - LINUX),
            _ => None,
        }
    }

    /// The kernel has written this many bytes at an address, which may lie in two pages.
    pub fn stored(&mut self, address: u32, bytes: u32) {
        for at in [address, address + bytes - 1]
            .into_iter()
            .take(if address / PAGE == (address + bytes - 1) / PAGE { 1 } else { 2 })
        {
            let Some(physical) = self.physical(at) else { continue };
            let page = &mut self.pages[(physical / PAGE) as usize];
            let first = at & !(PAGE - 1);
            match page {
                Some(copy) => {
                    let (from, to) = (address.max(first), (address + bytes).min(first + PAGE));
                    let range = (from - first) as usize..(to - first) as usize;
                    let _ = self.reader.memory(from, range.len(), |bytes| {
                        copy[range].copy_from_slice(&bytes[..(to - from) as usize])
                    });
                }
                None => {
                    *page = self
                        .reader
                        .memory(first, PAGE as usize, |bytes| bytes.try_into().ok().map(Box::new))
                        .flatten()
                }
            }
        }
    }
}

impl Physical for Guest {
    fn read(&mut self, address: u32) -> Option<u32> {
        let page = self.pages[(address / PAGE) as usize].as_ref()?;
        let at = ((address % PAGE) & !3) as usize;
        page[at..at + 4].try_into().ok().map(u32::from_be_bytes)
    }
}

impl World for Guest {
    fn controls(&mut self) -> Controls {
        let bat = |index: usize| Bat {
            upper: self.register(self.bats[index]),
            lower: self.register(self.bats[index + 1]),
        };
        let bats = [0, 8].map(|first| [0, 2, 4, 6].map(|index| bat(first + index)));
        let [_, directory, _, hash, _] = self.special.map(|register| self.register(register));
        Controls { hash, alone: self.alone, directory, bats, ..Controls::default() }
    }

    fn thread(&mut self) -> u32 {
        self.register(self.special[2])
    }

    fn left_user(&mut self) -> bool {
        self.register(self.special[0]) & USER != 0
    }

    fn found_nothing(&mut self, fetch: bool) -> bool {
        self.register(self.special[if fetch { 0 } else { 4 }]) & NOT_FOUND != 0
    }

    fn link(&mut self) -> u32 {
        self.register(self.link)
    }
}
