// SPDX-License-Identifier: GPL-2.0-or-later
//! What the counter reads of a MIPS guest: tables.
//!
//! QEMU's interface gives no register of this processor, and reads memory with the rights of the
//! current mode; user mode cannot read the kernel's. So the plugin keeps a copy of what the kernel
//! has written since power-on; before that, memory was empty.

use crate::registers::Reader;
use model_core::Physical;
use model_core::mips::is_user;

const PAGE: u32 = abi::PAGE_SIZE;
/// The physical memory that kseg0 and kseg1 show.
const REACHED: u32 = 512 << 20;

/// The guest.
pub struct Guest {
    reader: Reader,
    /// By number of the physical page.
    pages: Vec<Option<Box<[u8; PAGE as usize]>>>,
}

impl Guest {
    /// With nothing in its memory.
    pub fn new() -> Self {
        Self { reader: Reader::new(), pages: vec![None; (REACHED / PAGE) as usize] }
    }

    /// Text of at most this many bytes that the current mode can read; none if it cannot.
    pub fn text(&mut self, address: u32, bytes: usize) -> String {
        self.reader
            .memory(address, bytes, |bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    }

    /// The kernel has written this many bytes at an address, which do not go beyond a page.
    pub fn stored(&mut self, address: u64, bytes: u32, value: u64) {
        let low = address as u32;
        if is_user(address) || !matches!(low >> 29, 4 | 5) {
            return;
        }
        let physical = low % REACHED;
        let page = &mut self.pages[(physical / PAGE) as usize];
        let copy = page.get_or_insert_with(|| Box::new([0; PAGE as usize]));
        let at = (physical % PAGE) as usize;
        let value = value.to_be_bytes();
        let written = &value[value.len() - (bytes as usize).min(value.len())..];
        copy[at..at + written.len()].copy_from_slice(written);
    }
}

impl Physical for Guest {
    fn read(&mut self, address: u32) -> Option<u32> {
        let Some(page) = self.pages.get((address / PAGE) as usize)? else { return Some(0) };
        let at = ((address % PAGE) & !3) as usize;
        page[at..at + 4].try_into().ok().map(u32::from_be_bytes)
    }
}
