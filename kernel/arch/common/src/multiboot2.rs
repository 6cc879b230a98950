// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a Multiboot 2 loader left (Multiboot2 Specification 2.0, section 3.6): a sequence of tags.
//! This module reads them by `peek`, a function of the port that reads a word of physical memory.

use crate::{loader, rsdp};
use abi::PhysAddr;
use kcore::boot::Range;
use kcore::ram::Ram;

/// What a loader leaves in EAX.
pub const MAGIC: u32 = 0x36d7_6289;
/// The first word of the header in the image.
pub const HEADER: u32 = 0xe852_50d6;
/// Types of tags, which the header may ask for.
pub const MODULE: u32 = 3;
/// See [`MODULE`].
pub const MEMORY_MAP: u32 = 6;
/// The kernel's command line.
const COMMAND_LINE: u32 = 1;
/// Copies of the firmware's pointer to its tables: of the second revision and later, and of the
/// first.
const POINTERS: [u32; 2] = [15, 14];
/// The last one.
const END: u32 = 0;
/// In an entry of the memory map: RAM; the firmware's tables.
const USABLE: u32 = 1;
const TABLES: u32 = 3;

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

/// The ranges of this type in the memory map, the first address of each and its bytes; nothing if
/// the loader reports no map.
fn ranges<'a>(
    peek: &'a impl Fn(u32) -> u32,
    info: u32,
    kind: u32,
) -> Option<impl Iterator<Item = (u64, u64)> + 'a> {
    let (tag, bytes) = tags(peek, info, MEMORY_MAP).next()?;
    let long = move |at: u32| u64::from(peek(at + 4)) << 32 | u64::from(peek(at));
    let entry_bytes = peek(tag + 8).max(24);
    let entries = (tag + 16..tag.saturating_add(bytes)).step_by(entry_bytes as usize);
    Some(entries.filter(move |at| peek(at + 16) == kind).map(move |at| (long(at), long(at + 8))))
}

/// RAM as the loader reports it, whole pages; nothing if it reports none.
pub fn memory_map(peek: impl Fn(u32) -> u32, info: u32) -> Option<Ram> {
    let mut ram = Ram::default();
    ranges(&peek, info, USABLE)?.for_each(|(base, bytes)| loader::add(&mut ram, base, bytes));
    Some(ram)
}

/// Where the firmware's list of its tables is, if it is known.
pub fn list(peek: impl Fn(u32) -> u32, info: u32) -> Option<u64> {
    let list = |kind: u32| {
        let (tag, bytes) = tags(&peek, info, kind).next()?;
        rsdp::list(&peek, tag + 8, bytes - 8)
    };
    POINTERS.into_iter().find_map(list)
}

/// The pages of the firmware's tables: the range of the memory map in which their list is.
pub fn tables(peek: impl Fn(u32) -> u32, info: u32, list: u64) -> Option<Range> {
    let mut all = ranges(&peek, info, TABLES)?;
    let has_it = |(base, bytes): &(u64, u64)| list >= *base && list - *base < *bytes;
    let (base, bytes) = all.find(has_it)?;
    loader::pages(base, bytes)
}

/// The address of the command line, which ends with a zero, if there is one.
pub fn command_line(peek: impl Fn(u32) -> u32, info: u32) -> Option<u32> {
    tags(&peek, info, COMMAND_LINE).next().map(|(tag, _)| tag + 8)
}

/// A module that the loader left.
pub fn module(peek: impl Fn(u32) -> u32, info: u32, index: usize) -> Option<Range> {
    let (tag, _) = tags(&peek, info, MODULE).nth(index)?;
    let (base, end) = (peek(tag + 8), peek(tag + 12));
    (end > base).then(|| Range { base: PhysAddr(base.into()), bytes: (end - base).into() })
}
