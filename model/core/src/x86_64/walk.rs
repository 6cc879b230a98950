// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation tables of four levels, as the processor walks them (Intel SDM volume 3, section 4.5).

use crate::memory::NoMapping;

/// Physical memory, as far as translation tables are in it.
pub trait Memory {
    /// The entry at physical address `address`; `None` if it cannot be reached.
    fn entry(&mut self, address: u64) -> Option<u64>;
}

/// How much one entry maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Size {
    /// 4 KiB.
    #[default]
    Small,
    /// 2 MiB.
    Large,
    /// 1 GiB.
    Huge,
}

impl Size {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Small, Self::Large, Self::Huge];

    /// Binary logarithm of its bytes.
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            Self::Small => 12,
            Self::Large => 21,
            Self::Huge => 30,
        }
    }

    /// How many entries a walk to such a page reads.
    #[must_use]
    pub const fn levels(self) -> u32 {
        match self {
            Self::Small => 4,
            Self::Large => 3,
            Self::Huge => 2,
        }
    }

    const fn mask(self) -> u64 {
        (1 << self.shift()) - 1
    }
}

/// What a walk finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mapping {
    /// Physical address of the page.
    pub frame: u64,
    /// How large that is.
    pub size: Size,
    /// Whether a change of spaces leaves it.
    pub global: bool,
    /// Whether it may be written.
    pub writable: bool,
    /// Whether user mode may use it.
    pub user: bool,
    /// Whether code may be fetched from it.
    pub executable: bool,
}

impl Mapping {
    /// Physical address of linear address `address`, which it maps.
    #[must_use]
    pub const fn physical(&self, address: u64) -> u64 {
        self.frame | address & self.size.mask()
    }

    /// The page of 4 KiB that has `address`, of a page that has it.
    #[must_use]
    pub const fn piece(&self, address: u64) -> Self {
        let frame = self.physical(address) & !Size::Small.mask();
        Self { frame, size: Size::Small, ..*self }
    }

    /// Linear and physical address are the same: paging is off.
    #[must_use]
    pub const fn identity(address: u64) -> Self {
        Self {
            frame: address & !Size::Large.mask(),
            size: Size::Large,
            global: false,
            writable: true,
            user: true,
            executable: true,
        }
    }
}

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
const LARGE: u64 = 1 << 7;
const GLOBAL: u64 = 1 << 8;
const NO_EXECUTE: u64 = 1 << 63;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// The positions of the bits of an address that index the four tables, from the highest on.
const SHIFTS: [u32; 4] = [39, 30, 21, 12];

/// Whether the upper bits of an address are all equal to the highest bit that tables use.
const fn is_canonical(address: u64) -> bool {
    (address << 16) as i64 >> 16 == address as i64
}

/// Walks the tables below `root` (the value of CR3). `table` is told the physical address of each
/// table that is read, and where the bits are by which it is indexed.
///
/// # Errors
/// Says why nothing was found.
pub fn walk(
    memory: &mut impl Memory,
    root: u64,
    address: u64,
    mut table: impl FnMut(u64, u32),
) -> Result<Mapping, NoMapping> {
    if !is_canonical(address) {
        return Err(NoMapping::Absent);
    }
    let (mut at, mut all, mut any) = (root & ADDRESS, WRITABLE | USER, 0);
    for shift in SHIFTS {
        table(at, shift);
        let entry =
            memory.entry(at | (address >> shift & 0x1ff) << 3).ok_or(NoMapping::Unreachable)?;
        if entry & PRESENT == 0 {
            return Err(NoMapping::Absent);
        }
        (all, any) = (all & entry, any | entry);
        let size = match shift {
            12 => Some(Size::Small),
            21 if entry & LARGE != 0 => Some(Size::Large),
            30 if entry & LARGE != 0 => Some(Size::Huge),
            _ => None,
        };
        if let Some(size) = size {
            return Ok(Mapping {
                frame: entry & ADDRESS & !size.mask(),
                size,
                global: entry & GLOBAL != 0,
                writable: all & WRITABLE != 0,
                user: all & USER != 0,
                executable: any & NO_EXECUTE == 0,
            });
        }
        at = entry & ADDRESS;
    }
    Err(NoMapping::Absent)
}
