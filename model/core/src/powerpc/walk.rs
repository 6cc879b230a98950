// SPDX-License-Identifier: MIT OR Apache-2.0
//! How an address is translated: by BATs, segments and the hashed table (*Programming Environments
//! for 32-bit Microprocessors*, chapter 7), and by the tables from which these are filled. Those
//! are this kernel's (`kernel/mmu/src/powerpc.rs`), or those of Linux alone
//! (`arch/powerpc/include/asm/book3s/32/pgtable.h`).

use super::instruction::special;
use super::vsid::is_shut;
use crate::memory::{NoMapping, Physical};

/// Binary logarithm of a page's bytes.
const PAGE: u32 = 12;
/// Address part of the second word of an entry.
const FRAME: u32 = !0xfff;
/// In that word: R, which this kernel sets in every usable entry.
const PRESENT: u32 = 0x100;
/// In that word: C. A processor checks it when the page is written.
const CHANGED: u32 = 0x80;
/// In that word: W, writes go to memory as well as to the cache.
const THROUGH: u32 = 0x40;
/// In that word: I, not cached.
const UNCACHED: u32 = 0x20;
/// In that word: PP.
const RIGHTS: u32 = 3;
/// PP: with either key the page may be read and written.
const READ_WRITE: u32 = 2;
/// PP: with either key the page may only be read.
const READ_ONLY: u32 = 3;
/// In a directory's entry of this kernel: pages below it may only be read. It is not needed, and
/// not applied, if the segment's key forbids writes already.
const NO_WRITE: u32 = 2;
/// In a segment register: the key of user mode.
const KEY: u32 = 0x2000_0000;
/// In an entry of this kernel's directories: it is a page of 4 MiB.
const LARGE: u32 = 4;
/// In an entry of this kernel's directories: it is a server's, in its window (docs/powerpc.md,
/// *Servers*).
const SERVERS: u32 = 0x40;
/// In an entry of this kernel's directories: it is a Segment's.
const SEGMENTS: u32 = 0x800;
/// The bits of this kernel's entries that the processor does not get.
const SOFTWARE: u32 = 0xe04;
/// In an entry of Linux's tables: there is a page.
const LINUX_PRESENT: u32 = 1;
/// In that entry: the page may be written; it was written.
const LINUX_WRITE: u32 = 0x480;

/// Where Linux alone has its memory. The kernel of this project has nothing there.
pub const LINUX: u32 = 0xc000_0000;

/// What an address is translated to: the second word of an entry of the hashed table, as the TLB
/// holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mapping(pub u32);

impl Mapping {
    /// For an address that is not translated, and is cached.
    #[must_use]
    pub const fn identity(address: u32) -> Self {
        Self(address & FRAME | PRESENT | CHANGED | READ_WRITE)
    }

    /// The physical address of an address.
    #[must_use]
    pub const fn physical(self, address: u32) -> u32 {
        self.0 & FRAME | address & !FRAME
    }

    /// Whether a cache may hold it.
    #[must_use]
    pub const fn is_cached(self) -> bool {
        self.0 & UNCACHED == 0
    }

    /// Whether writes stay in the cache.
    #[must_use]
    pub const fn is_written_back(self) -> bool {
        self.0 & (UNCACHED | THROUGH) == 0
    }

    /// Whether user mode may do this by a segment with or without the key (*Programming
    /// Environments*, table 7-11).
    #[must_use]
    pub const fn permits(self, write: bool, key: bool) -> bool {
        match self.0 & RIGHTS {
            READ_WRITE => true,
            READ_ONLY => !write,
            // One that only those without the key may read, or write.
            rights => !key || rights != 0 && !write,
        }
    }

    /// The same for Linux's use of the keys: a mode that can access a page may write it, unless it
    /// is read-only.
    const fn of_linux(self) -> Self {
        if self.0 & RIGHTS == READ_ONLY { self } else { Self(self.0 & !RIGHTS | READ_WRITE) }
    }

    /// Whether C is set: without it a processor writes the hashed table, or asks software to, when
    /// the page is written.
    #[must_use]
    pub const fn is_changed(self) -> bool {
        self.0 & CHANGED != 0
    }
}

/// A block address translation register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bat {
    /// Address, size, and which modes see it.
    pub upper: u32,
    /// Physical address, attributes, rights.
    pub lower: u32,
}

impl Bat {
    /// Whether user mode sees it.
    #[must_use]
    pub const fn is_users(self) -> bool {
        self.upper & 1 != 0
    }

    /// The translation of an address by it.
    #[must_use]
    pub const fn find(self, address: u32, user: bool) -> Option<Mapping> {
        let inside = (self.upper & 0x1ffc) << 15 | 0x1_ffff;
        let sees = self.upper & if user { 1 } else { 2 } != 0;
        if !sees || (address ^ self.upper) & !inside != 0 {
            return None;
        }
        // The attributes are at the same place as in an entry, W, I, M, G, and so are the rights.
        Some(Mapping(
            (self.lower & !inside | address & inside) & FRAME
                | self.lower & 0x7b
                | PRESENT
                | CHANGED,
        ))
    }
}

/// The registers that determine how an access is translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Controls {
    /// SDR1: the hashed table; 0 if there is none. On a 603 Linux alone has its directory there,
    /// four bits further up.
    pub hash: u32,
    /// Bytes of memory, from 0 on, if Linux alone runs; 0 if this kernel does.
    pub alone: u32,
    /// SPRG0: the directory of the space whose VSIDs are loaded.
    pub directory: u32,
    /// Instruction BATs, data BATs.
    pub bats: [[Bat; 4]; 2],
    /// Segment registers.
    pub segments: [u32; 16],
    /// RPA: the second word of an entry that is loaded into the TLB (603), without bits that RPA
    /// does not have.
    pub loaded: u32,
}

/// By what an address is translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// A BAT, or not at all.
    Block(Mapping),
    /// By the TLB, under this VSID.
    Page(u32),
}

impl Controls {
    /// How an address is translated. The kernel's addresses are physical ones unless a BAT maps
    /// them: then translation is off. Linux alone maps its memory by BATs, which the emulator does
    /// not report, and everything else, such as programs, by pages.
    #[must_use]
    pub fn way(&self, address: u32, user: bool, fetch: bool) -> Way {
        if !user && address.wrapping_sub(LINUX) < self.alone {
            return Way::Block(Mapping::identity(address - LINUX));
        }
        let block = self.bats[usize::from(!fetch)].iter().find_map(|bat| bat.find(address, user));
        match block {
            Some(mapping) => Way::Block(mapping),
            None if user || self.alone != 0 && address >= self.alone => {
                Way::Page(self.vsid(address))
            }
            None => Way::Block(Mapping::identity(address)),
        }
    }

    /// Searches the hashed table, as [`search`] does.
    ///
    /// # Errors
    /// No entry has the page, or the table cannot be read.
    pub fn search(
        &self,
        memory: &mut impl Physical,
        address: u32,
        read: impl FnMut(u32),
    ) -> Result<Mapping, NoMapping> {
        let found = search(memory, self.hash, self.vsid(address), address, read);
        if self.alone == 0 { found } else { found.map(Mapping::of_linux) }
    }

    /// What the tables of the running thread have at an address; for Linux alone, its tables on a
    /// 603. `read` is told the physical address of each entry that is read.
    ///
    /// # Errors
    /// Nobody may use the page, or the tables cannot be read.
    pub fn walk(
        &self,
        memory: &mut impl Physical,
        address: u32,
        mut read: impl FnMut(u32),
    ) -> Result<Mapping, NoMapping> {
        if self.alone == 0 {
            return walk(memory, self, address, read);
        }
        let mut get = |table: u32, index: u32| {
            let entry = (table & FRAME) + (index & 0x3ff) * 4;
            read(entry);
            memory.read(entry).ok_or(NoMapping::Unreachable)
        };
        let upper = get(self.hash >> 4, address >> 22)?;
        if upper & FRAME == 0 {
            return Err(NoMapping::Absent);
        }
        let entry = get(upper, address >> PAGE)?;
        if entry & LINUX_PRESENT == 0 {
            return Err(NoMapping::Absent);
        }
        let rights = if entry & LINUX_WRITE == LINUX_WRITE { READ_WRITE } else { READ_ONLY };
        Ok(Mapping(entry & !(SOFTWARE | RIGHTS) | rights))
    }

    /// The VSID of an address.
    #[must_use]
    pub const fn vsid(&self, address: u32) -> u32 {
        self.segments[(address >> 28) as usize] & 0xff_ffff
    }

    /// Whether an address's segment has the key.
    #[must_use]
    pub const fn key(&self, address: u32) -> bool {
        self.segments[(address >> 28) as usize] & KEY != 0
    }

    /// A special register is written. False if it is not one that decides about accesses.
    pub fn write(&mut self, register: u16, value: u32) -> bool {
        match register {
            special::HASH => self.hash = value,
            special::DIRECTORY => self.directory = value,
            special::LOADED => self.loaded = value & !SOFTWARE,
            special::BATS..special::BATS_END => {
                let index = usize::from(register - special::BATS);
                let bat = &mut self.bats[index / 8][index % 8 / 2];
                *(if index.is_multiple_of(2) { &mut bat.upper } else { &mut bat.lower }) = value;
            }
            _ => return false,
        }
        true
    }

    /// Whether a physical address is in the hashed table.
    #[must_use]
    pub const fn is_hash(&self, physical: u32) -> bool {
        self.hash != 0
            && physical.wrapping_sub(self.hash & 0xffff_0000) < ((self.hash & 0x1ff) + 1) << 16
    }
}

/// The number of an address's page in its segment.
#[must_use]
pub const fn page(address: u32) -> u32 {
    address >> PAGE & 0xffff
}

/// Searches the hashed table that SDR1 names, as a processor does: eight entries of the first
/// group, then eight of the second. `read` is told the physical address of each entry that is read.
///
/// # Errors
/// No entry has the page, or the table cannot be read.
pub fn search(
    memory: &mut impl Physical,
    hash: u32,
    vsid: u32,
    address: u32,
    mut read: impl FnMut(u32),
) -> Result<Mapping, NoMapping> {
    const VALID: u32 = 1 << 31;
    let (table, mask) = (hash & 0xffff_0000, (hash & 0x1ff) << 10 | 0x3ff);
    let first = vsid & 0x7_ffff ^ page(address);
    for (group, second) in [(first, 0), (!first, 1 << 6)] {
        let tag = VALID | vsid << 7 | second | address >> 22 & 0x3f;
        for place in 0..8 {
            let entry = table | (group & mask) << 6 | place << 3;
            read(entry);
            if memory.read(entry).ok_or(NoMapping::Unreachable)? == tag {
                // Bits that no processor knows may be anything.
                return memory
                    .read(entry + 4)
                    .map(|word| Mapping(word & !SOFTWARE))
                    .ok_or(NoMapping::Unreachable);
            }
        }
    }
    Err(NoMapping::Absent)
}

/// Whether a valid entry of the hashed table has this VSID, other than that of one page.
pub fn is_hashed(memory: &mut impl Physical, hash: u32, vsid: u32, but: Option<u32>) -> bool {
    let (table, bytes) = (hash & 0xffff_0000, ((hash & 0x1ff) + 1) << 16);
    let tag = 1 << 24 | vsid;
    // Of a page's number the entry has the upper bits, and its group tells the lower ones.
    let page = |offset: u32, word: u32| {
        let first = if word & 1 << 6 == 0 { offset >> 6 } else { !(offset >> 6) };
        (word & 0x3f) << 10 | (first ^ vsid) & 0x3ff
    };
    hash != 0
        && (0..bytes).step_by(8).any(|offset| {
            memory
                .read(table | offset)
                .is_some_and(|word| word >> 7 == tag && but != Some(page(offset, word)))
        })
}

/// What this kernel's tables have at an address, below the directory that the processor has. Pages
/// in a server's window are found only while the window is open. `read` is told the physical
/// address of each entry that is read.
///
/// # Errors
/// Nobody may use the page, or the tables cannot be read.
pub fn walk(
    memory: &mut impl Physical,
    controls: &Controls,
    address: u32,
    mut read: impl FnMut(u32),
) -> Result<Mapping, NoMapping> {
    let mut get = |entry| {
        read(entry);
        memory.read(entry).ok_or(NoMapping::Unreachable)
    };
    let upper = get((controls.directory & FRAME) + (address >> 22) * 4)?;
    if upper & PRESENT == 0 || upper & SERVERS != 0 && is_shut(controls.vsid(address)) {
        return Err(NoMapping::Absent);
    }
    let upper = upper & !SERVERS;
    let entry = if upper & LARGE == 0 {
        get((upper & FRAME) + (address >> PAGE & 0x3ff) * 4)?
            | if controls.key(address) { 0 } else { upper & NO_WRITE }
    } else {
        upper | address & 0x3f_f000
    };
    if entry & PRESENT == 0 { Err(NoMapping::Absent) } else { Ok(Mapping(entry & !SOFTWARE)) }
}

/// Whose pages a segment has, by this kernel's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Belongs {
    /// Of Segments only (docs/powerpc.md, *Segments*).
    Segments,
    /// Of the space itself, too.
    Space,
    /// Of no space, or of the server that the space shows.
    Server,
}

/// Which owner's pages a segment has.
pub fn belongs(memory: &mut impl Physical, directory: u32, segment: u32) -> Belongs {
    let first = (directory & FRAME) + segment * 64 * 4;
    let entries: Vec<u32> = (0..64)
        .filter_map(|index| memory.read(first + index * 4))
        .filter(|entry| *entry != 0)
        .collect();
    if !entries.is_empty()
        && entries.iter().all(|entry| entry & SEGMENTS != 0 && entry & SERVERS == 0)
    {
        Belongs::Segments
    } else if entries.iter().any(|entry| entry & PRESENT != 0 && entry & SERVERS == 0) {
        Belongs::Space
    } else {
        Belongs::Server
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// *Programming Environments*, section 7.4.2: a block of 256 MiB and one of 128 KiB, for the
    /// supervisor or for all.
    #[test]
    fn blocks() {
        let all = Bat { upper: 0x1ffe, lower: 2 };
        assert_eq!(all.find(0x0fff_f123, false), Some(Mapping(0x0fff_f182)));
        assert_eq!(all.find(0x1000_0000, false), None, "beyond");
        assert_eq!(all.find(0x1000, true), None, "the supervisor's");
        let least = Bat { upper: 0xf002_0003, lower: 0x8002_002a };
        assert_eq!(
            least.find(0xf003_f000, true).map(|mapping| mapping.physical(0xf003_f004)),
            Some(0x8003_f004)
        );
        assert_eq!(least.find(0xf003_f000, false).map(Mapping::is_cached), Some(false));
        assert_eq!(least.find(0xf004_0000, false), None);
    }

    #[test]
    fn bats_come_before_segments() {
        let mut controls = Controls::default();
        controls.segments[15] = 7;
        assert!(
            controls.write(538, 0xf000_1fff)
                && controls.write(539, 0xf000_002a)
                && !controls.write(26, 1)
        );
        assert_eq!(controls.way(0xf000_0000, true, true), Way::Page(7), "a fetch has other BATs");
        assert_eq!(controls.way(0xf000_0000, true, false), Way::Block(Mapping(0xf000_01aa)));
        assert_eq!(controls.way(0x3000, false, false), Way::Block(Mapping::identity(0x3000)));
    }

    /// A directory at 0x3000, a table at 0x4000, as Linux has them.
    struct Tables;

    impl Physical for Tables {
        fn read(&mut self, address: u32) -> Option<u32> {
            Some(match address {
                0x3100 => 0x4000,
                0x4000 => 0x0012_3595,
                0x4004 => 0x0012_4115,
                0x4008 => 0x0012_5594,
                _ => 0,
            })
        }
    }

    #[test]
    fn tables_of_linux_alone() {
        let controls = Controls { hash: 0x3_0000, alone: 0x0c00_0000, ..Controls::default() };
        let mut read = Vec::new();
        let mut walk = |address| controls.walk(&mut Tables, address, |entry| read.push(entry)).ok();
        let found = [0x1000_0123, 0x1000_1000, 0x1000_2000, 0x2000_0000].map(&mut walk);
        assert_eq!(found, [Some(Mapping(0x0012_3192)), Some(Mapping(0x0012_4113)), None, None]);
        assert_eq!(read[..2], [0x3100, 0x4000]);
        assert!(
            found[0].is_some_and(|page| page.permits(true, false))
                && found[1].is_some_and(|page| !page.permits(true, false))
        );
    }

    #[test]
    fn pages_of_linux_alone_are_beyond_its_memory() {
        let mut controls = Controls { alone: 0x0c00_0000, ..Controls::default() };
        controls.segments[1] = 7;
        assert_eq!(
            controls.way(0x1000_0000, false, false),
            Way::Page(7),
            "it copies from a program"
        );
        assert_eq!(
            controls.way(0x3000, false, false),
            Way::Block(Mapping::identity(0x3000)),
            "translation is off"
        );
        assert_eq!(controls.way(0xc000_3000, false, true), Way::Block(Mapping::identity(0x3000)));
        assert_eq!(controls.way(0xcc00_0000, false, false), Way::Page(0));
        assert_eq!(
            [Mapping(1).of_linux(), Mapping(0).of_linux(), Mapping(3).of_linux()],
            [Mapping(2), Mapping(2), Mapping(3)]
        );
    }

    #[test]
    fn the_table_that_a_register_names() {
        let controls = Controls { hash: 0x0070_0001, ..Controls::default() };
        let inside = [0x006f_fff8, 0x0070_0000, 0x0071_fff8, 0x0072_0000]
            .map(|address| controls.is_hash(address));
        assert_eq!(inside, [false, true, true, false]);
    }
}
