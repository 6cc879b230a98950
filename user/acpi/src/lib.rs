// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a PC is turned off, as its firmware's tables say (*Advanced Configuration and Power Interface
//! Specification* 6.5, chapters 4, 5 and 7).
//!
//! What stands at fixed places is read, and of the firmware's program one package, which is a
//! constant: the sleep state "off". The program itself is not executed.
//! Tables are read by `read`, which has a byte of physical memory, or nothing where it may not.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use core::ops::Range;

/// What turns the machine off when it is written somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// This word at an I/O port.
    Port(u16, u16),
    /// This byte at a physical address.
    Memory(u64, u8),
}

/// Where the pointer to all tables is on a machine with a BIOS, at a multiple of 16 (5.2.5.1).
const FIRMWARE: Range<u64> = 0xe_0000..0x10_0000;
const STEP: usize = 16;
/// What it begins with, and bytes that add up to zero.
const POINTER: &[u8] = b"RSD PTR ";
const CHECKED: u64 = 20;
/// Offsets in it: its revision, and two lists of tables, with addresses of 32 and of 64 bits; the
/// second is there from this revision on.
mod pointer {
    pub const REVISION: u64 = 15;
    pub const LIST: u64 = 16;
    pub const WIDE_LIST: u64 = 24;
    pub const WIDE: u64 = 2;
}

/// What the two lists begin with, and the bytes of an address in each (5.2.7, 5.2.8).
const LISTS: [(&[u8], u64); 2] = [(b"XSDT", 8), (b"RSDT", 4)];

/// In each table: how many bytes it has; where what is its own begins (5.2.6).
const LENGTH: u64 = 4;
const HEADER: u64 = 36;
/// No table begins after this address: so no offset in one is beyond all addresses.
const LAST: u64 = u64::MAX >> 1;
/// More tables than any machine has, and bytes of a program.
const TABLES: u64 = 256;
const PROGRAM: u64 = 1 << 20;

/// The table of fixed registers, and offsets in it: the firmware's program, by 32 and by 64 bits; the
/// control register at a port; flags; the control register of a machine that has no other (5.2.9).
const FIXED: &[u8] = b"FACP";
mod fixed {
    pub const PROGRAM: u64 = 40;
    pub const CONTROL: u64 = 64;
    pub const FLAGS: u64 = 112;
    pub const WIDE_PROGRAM: u64 = 140;
    pub const SLEEP_CONTROL: u64 = 244;
}
/// In the flags: there is that register and no other.
const IS_REDUCED: u64 = 1 << 20;
/// In a description of a register: in which space it is, and where (5.2.3.2).
const ADDRESS: u64 = 4;
const IN_MEMORY: u8 = 0;

/// In the two registers: where the type of sleep is, and that it begins (4.8.3.2.1, 4.8.3.7).
const TYPE: u32 = 10;
const BEGIN: u16 = 1 << 13;
const REDUCED_TYPE: u32 = 2;
const REDUCED_BEGIN: u8 = 1 << 5;

/// The name of the sleep state in the firmware's program, and that a package follows; a constant of a
/// byte follows (20.2.3, 20.2.5.4).
const STATE: &[u8] = b"_S5_\x12";
const BYTE: u8 = 0x0a;
/// Types of sleep are less.
const TYPES: u8 = 8;

/// How this machine is turned off, if it says so. The list of tables is at this address, as a boot
/// loader says; if there is none, it is found as on a machine with a BIOS.
pub fn off(read: &impl Fn(u64) -> Option<u8>, list: Option<u64>) -> Option<Off> {
    let named = list.filter(|list| *list <= LAST).and_then(|list| {
        let known = LISTS.into_iter().find(|(name, _)| is_at(read, list, name));
        known.map(|(_, width)| (list, width))
    });
    let table = named
        .and_then(|list| fixed_table(read, list))
        .or_else(|| fixed_table(read, find_list(read)?))?;
    let wide = number(read, table + LENGTH, 4)
        .filter(|bytes| *bytes >= fixed::WIDE_PROGRAM + 8)
        .and_then(|_| number(read, table + fixed::WIDE_PROGRAM, 8))
        .filter(|address| *address != 0);
    let program = wide.or_else(|| number(read, table + fixed::PROGRAM, 4))?;
    let kind = sleep_type(read, program)?;
    if number(read, table + fixed::FLAGS, 4)? & IS_REDUCED == 0 {
        let port = u16::try_from(number(read, table + fixed::CONTROL, 4)?).ok()?;
        return (port != 0).then_some(Off::Port(port, u16::from(kind) << TYPE | BEGIN));
    }
    let register = table + fixed::SLEEP_CONTROL;
    let address = number(read, register + ADDRESS, 8)?;
    (read(register)? == IN_MEMORY)
        .then_some(Off::Memory(address, kind << REDUCED_TYPE | REDUCED_BEGIN))
}

/// A number of so many bytes, the lowest first.
fn number(read: &impl Fn(u64) -> Option<u8>, at: u64, bytes: u64) -> Option<u64> {
    (0..bytes)
        .rev()
        .try_fold(0, |number, byte| Some(number << 8 | u64::from(read(at.checked_add(byte)?)?)))
}

/// Whether this is there.
fn is_at(read: &impl Fn(u64) -> Option<u8>, at: u64, bytes: &[u8]) -> bool {
    (at..).zip(bytes).all(|(at, byte)| read(at) == Some(*byte))
}

/// Where the list of tables is on a machine with a BIOS, and the bytes of an address in it.
fn find_list(read: &impl Fn(u64) -> Option<u8>) -> Option<(u64, u64)> {
    let is_valid = |at: &u64| {
        let sum = |sum: u8, at| Some(sum.wrapping_add(read(at)?));
        is_at(read, *at, POINTER) && (*at..*at + CHECKED).try_fold(0, sum) == Some(0)
    };
    let found = FIRMWARE.step_by(STEP).find(is_valid)?;
    let is_wide = u64::from(read(found + pointer::REVISION)?) >= pointer::WIDE;
    let wide = if is_wide { number(read, found + pointer::WIDE_LIST, 8)? } else { 0 };
    Some(if wide == 0 { (number(read, found + pointer::LIST, 4)?, 4) } else { (wide, 8) })
}

/// Where the table of fixed registers is, by a list and the bytes of an address in it.
fn fixed_table(read: &impl Fn(u64) -> Option<u8>, (list, width): (u64, u64)) -> Option<u64> {
    let count = number(read, list.checked_add(LENGTH)?, 4)?.checked_sub(HEADER)? / width;
    let first = list.checked_add(HEADER)?;
    (0..count.min(TABLES))
        .filter_map(|index| number(read, first.checked_add(index * width)?, width))
        .find(|table| *table <= LAST && is_at(read, *table, FIXED))
}

/// The type of the sleep state "off", by the firmware's program.
fn sleep_type(read: &impl Fn(u64) -> Option<u8>, program: u64) -> Option<u8> {
    let bytes = number(read, program.checked_add(LENGTH)?, 4)?.min(PROGRAM);
    let range = program.checked_add(HEADER)?..program.checked_add(bytes)?;
    let package = range.map_while(|at| read(at).map(|_| at)).find(|at| is_at(read, *at, STATE))?;
    // The package's length, of one to four bytes; how many things it has; the first of them.
    let length = package.checked_add(STATE.len() as u64)?;
    let first = length.checked_add(u64::from(read(length)? >> 6) + 2)?;
    let kind = match read(first)? {
        BYTE => read(first.checked_add(1)?)?,
        // Zero and one are written without that.
        constant => Some(constant).filter(|constant| *constant <= 1)?,
    };
    (kind < TYPES).then_some(kind)
}
