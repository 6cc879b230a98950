// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a Multiboot 1 loader left (Multiboot Specification 0.6.96, section 3.3). This module reads
//! its information by `peek`, a function of the port that reads a word of physical memory.

use crate::loader;
use crate::platform::{Platform, refuse};
use abi::PhysAddr;
use kcore::boot::Range;
use kcore::ram::Ram;

/// What a loader leaves in EAX.
pub const MAGIC: u32 = 0x2BAD_B002;

/// In an entry of the memory map: RAM.
const USABLE: u32 = 1;

/// RAM as the loader reports it, whole pages.
pub fn memory_map<P: Platform>(peek: impl Fn(u32) -> u32, info: u32) -> Ram {
    if peek(info) & 1 << 6 == 0 {
        refuse::<P>(format_args!(
            "the boot loader gave no memory map: use a Multiboot loader such as GRUB"
        ));
    }
    let mut ram = Ram::default();
    let (bytes, start) = (peek(info + 44), peek(info + 48));
    let mut at = start;
    let end = start.saturating_add(bytes);
    while at < end {
        let long = |at| u64::from(peek(at + 4)) << 32 | u64::from(peek(at));
        if peek(at + 20) == USABLE {
            loader::add(&mut ram, long(at + 4), long(at + 12));
        }
        let Some(next) = at.checked_add(peek(at).saturating_add(4)) else { break };
        at = next;
    }
    ram
}

/// The address of the command line, which ends with a zero, if there is one.
pub fn command_line(peek: impl Fn(u32) -> u32, info: u32) -> Option<u32> {
    (peek(info) & 1 << 2 != 0).then(|| peek(info + 16))
}

/// A module that the loader left.
pub fn module(peek: impl Fn(u32) -> u32, info: u32, index: u32) -> Option<Range> {
    if peek(info) & 1 << 3 == 0 || index >= peek(info + 20) {
        return None;
    }
    let entry = peek(info + 24) + index * 16;
    let (base, end) = (peek(entry), peek(entry + 4));
    (end > base).then(|| Range { base: PhysAddr(base.into()), bytes: (end - base).into() })
}
