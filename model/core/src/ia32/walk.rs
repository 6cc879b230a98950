// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation tables of IA-32, two levels, as the processor walks them.

use crate::memory::{NoMapping, Physical};

/// What a walk finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mapping {
    /// Physical address of the 4-KiB page.
    pub frame: u32,
    /// Whether the entry is of a large page (4 MiB). `frame` is then that of its first page.
    pub large: bool,
    /// Whether a change of spaces leaves it.
    pub global: bool,
    /// Whether it may be written.
    pub writable: bool,
    /// Whether user mode may use it.
    pub user: bool,
}

impl Mapping {
    /// Physical address of linear address `address`, which it maps.
    #[must_use]
    pub fn physical(&self, address: u32) -> u32 {
        if self.large { self.frame | address & 0x3f_ffff } else { self.frame | address & 0xfff }
    }

    /// The page of 4 KiB that has `address`, of a large page that has it.
    #[must_use]
    pub fn piece(&self, address: u32) -> Self {
        Self { frame: self.physical(address) & !0xfff, large: false, ..*self }
    }

    /// Linear and physical address are the same: paging is off.
    #[must_use]
    pub fn identity(address: u32) -> Self {
        Self { frame: address & !0x3f_ffff, large: true, global: false, writable: true, user: true }
    }
}

const PRESENT: u32 = 1;
const WRITABLE: u32 = 2;
const USER: u32 = 4;
const LARGE: u32 = 1 << 7;
const GLOBAL: u32 = 1 << 8;

/// Walks the tables below `root` (the value of CR3). `table` is told the physical address of the
/// second-level table, if there is one.
///
/// # Errors
/// Says why nothing was found.
pub fn walk(
    memory: &mut impl Physical,
    root: u32,
    address: u32,
    mut table: impl FnMut(u32),
) -> Result<Mapping, NoMapping> {
    let upper =
        memory.read((root & !0xfff) | (address >> 22) << 2).ok_or(NoMapping::Unreachable)?;
    if upper & PRESENT == 0 {
        return Err(NoMapping::Absent);
    }
    if upper & LARGE != 0 {
        let flag = |bit| upper & bit != 0;
        return Ok(Mapping {
            frame: upper & !0x3f_ffff,
            large: true,
            global: flag(GLOBAL),
            writable: flag(WRITABLE),
            user: flag(USER),
        });
    }
    table(upper & !0xfff);
    let lower = memory
        .read((upper & !0xfff) | (address >> 12 & 0x3ff) << 2)
        .ok_or(NoMapping::Unreachable)?;
    if lower & PRESENT == 0 {
        return Err(NoMapping::Absent);
    }
    let both = upper & lower;
    Ok(Mapping {
        frame: lower & !0xfff,
        large: false,
        global: lower & GLOBAL != 0,
        writable: both & WRITABLE != 0,
        user: both & USER != 0,
    })
}
