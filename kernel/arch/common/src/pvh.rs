// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader left that starts kernels as Xen starts PVH guests, which QEMU does (Xen, *x86/HVM
//! direct boot ABI*, `start_info.h`). This module reads it by `peek`, a function of the port that
//! reads a word of physical memory.

use crate::{loader, rsdp};
use abi::PhysAddr;
use kcore::boot::Range;
use kcore::ram::Ram;

/// The first word of the information.
pub const MAGIC: u32 = 0x336e_c578;
/// The type of the note in the image that says where such a loader enters it.
pub const NOTE: u32 = 18;

/// Offsets in the information: its version, the number of modules, the address of their list, of
/// the command line, of the firmware's pointer to its tables and of the memory map, and that map's
/// number of entries. Addresses have 64 bits.
mod info {
    pub const VERSION: u32 = 4;
    pub const MODULES: u32 = 12;
    pub const MODULE_LIST: u32 = 16;
    pub const COMMAND_LINE: u32 = 24;
    pub const POINTER: u32 = 32;
    pub const MEMORY_MAP: u32 = 40;
    pub const ENTRIES: u32 = 48;
}
/// Bytes of an entry of the memory map: base, bytes, type.
const ENTRY: u32 = 24;
/// In such an entry: RAM.
const USABLE: u32 = 1;

/// Reads a number of 64 bits.
fn long(peek: &impl Fn(u32) -> u32, at: u32) -> u64 {
    u64::from(peek(at + 4)) << 32 | u64::from(peek(at))
}

/// RAM as the loader reports it, whole pages; nothing if it reports none.
pub fn memory_map(peek: impl Fn(u32) -> u32, info: u32) -> Option<Ram> {
    if peek(info) != MAGIC || peek(info + info::VERSION) == 0 {
        return None;
    }
    let start = u32::try_from(long(&peek, info + info::MEMORY_MAP)).ok()?;
    let mut ram = Ram::default();
    let whole = |at: u32| at.checked_add(ENTRY).map(|_| at);
    let entry = |number: u32| start.checked_add(number.checked_mul(ENTRY)?).and_then(whole);
    for at in (0..peek(info + info::ENTRIES)).map_while(entry) {
        if peek(at + 16) == USABLE {
            loader::add(&mut ram, long(&peek, at), long(&peek, at + 8));
        }
    }
    Some(ram)
}

/// The address of the command line, which ends with a zero, if there is one.
pub fn command_line(peek: impl Fn(u32) -> u32, info: u32) -> Option<u32> {
    u32::try_from(long(&peek, info + info::COMMAND_LINE)).ok().filter(|start| *start != 0)
}

/// Where the firmware's list of its tables is, if it is known.
pub fn list(peek: impl Fn(u32) -> u32, info: u32) -> Option<u64> {
    let pointer = u32::try_from(long(&peek, info + info::POINTER)).ok()?;
    rsdp::list(&peek, pointer, rsdp::BYTES)
}

/// The first module that the loader left.
pub fn module(peek: impl Fn(u32) -> u32, info: u32) -> Option<Range> {
    if peek(info + info::MODULES) == 0 {
        return None;
    }
    let entry = u32::try_from(long(&peek, info + info::MODULE_LIST)).ok()?;
    let base = u32::try_from(long(&peek, entry)).ok()?;
    let bytes = u32::try_from(long(&peek, entry + 8)).ok().filter(|bytes| *bytes != 0)?;
    base.checked_add(bytes)?;
    Some(Range { base: PhysAddr(base.into()), bytes: bytes.into() })
}
