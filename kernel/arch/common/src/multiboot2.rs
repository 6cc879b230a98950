// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a Multiboot 2 loader left (Multiboot2 Specification 2.0, section 3.6): a sequence of tags.
//! This module reads them by `peek`, a function of the port that reads a word of physical memory.

use crate::loader;
use abi::PhysAddr;
use kcore::boot::Range;
use kcore::ram::Ram;

/// What a loader leaves in EAX.
pub const MAGIC: u32 = 0x36d7_6289;
/// What the header in the image begins with.
pub const HEADER: u32 = 0xe852_50d6;
/// Types of tags, which the header may ask for.
pub const MODULE: u32 = 3;
/// See [`MODULE`].
pub const MEMORY_MAP: u32 = 6;
/// The kernel's command line.
const COMMAND_LINE: u32 = 1;
/// The last one.
const END: u32 = 0;
/// In an entry of the memory map: RAM.
const USABLE: u32 = 1;

/// The tags of a type: where each is, and its bytes.
fn tags<'a>(
    peek: &'a impl Fn(u32) -> u32,
    info: u32,
    kind: u32,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let end = info.saturating_add(peek(info));
    let mut at = info + 8;
    let all = core::iter::from_fn(move || {
        let (found, bytes) = (peek(at), peek(at + 4));
        if at >= end || found == END || bytes < 8 {
            return None;
        }
        let tag = (at, bytes);
        at = at.checked_add(bytes.checked_next_multiple_of(8)?)?;
        Some((found, tag))
    });
    all.filter(move |(found, _)| *found == kind).map(|(_, tag)| tag)
}

/// RAM as the loader reports it, whole pages; nothing if it reports none.
pub fn memory_map(peek: impl Fn(u32) -> u32, info: u32) -> Option<Ram> {
    let (tag, bytes) = tags(&peek, info, MEMORY_MAP).next()?;
    let mut ram = Ram::default();
    let long = |at| u64::from(peek(at + 4)) << 32 | u64::from(peek(at));
    let entry_bytes = peek(tag + 8).max(24);
    for at in (tag + 16..tag.saturating_add(bytes)).step_by(entry_bytes as usize) {
        if peek(at + 16) == USABLE {
            loader::add(&mut ram, long(at), long(at + 8));
        }
    }
    Some(ram)
}

/// Where the command line is, which ends with a zero, if there is one.
pub fn command_line(peek: impl Fn(u32) -> u32, info: u32) -> Option<u32> {
    tags(&peek, info, COMMAND_LINE).next().map(|(tag, _)| tag + 8)
}

/// A module that the loader left.
pub fn module(peek: impl Fn(u32) -> u32, info: u32, index: usize) -> Option<Range> {
    let (tag, _) = tags(&peek, info, MODULE).nth(index)?;
    let (base, end) = (peek(tag + 8), peek(tag + 12));
    (end > base).then(|| Range { base: PhysAddr(base.into()), bytes: (end - base).into() })
}
