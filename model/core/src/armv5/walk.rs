// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation tables of ARMv5, in two levels, and which accesses they allow.
//!
//! No system here uses fine tables, with pages of 1 KiB: they count as absent.

use crate::memory::{NoMapping, Physical};

/// The registers of the system control coprocessor that determine how an access is translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Controls {
    /// Control register (c1).
    pub control: u32,
    /// Translation table base (c2).
    pub root: u32,
    /// Domain access control (c3).
    pub domains: u32,
    /// Process identifier (c13), in its upper seven bits.
    pub process: u32,
}

impl Controls {
    /// Whether addresses are translated.
    #[must_use]
    pub const fn translates(self) -> bool {
        self.control & 1 != 0
    }

    /// Whether data may be cached.
    #[must_use]
    pub const fn caches_data(self) -> bool {
        self.control & 1 << 2 != 0
    }

    /// Whether code may be.
    #[must_use]
    pub const fn caches_code(self) -> bool {
        self.control & 1 << 12 != 0
    }

    /// Where exceptions enter the kernel.
    #[must_use]
    pub const fn vectors(self) -> u32 {
        if self.control & 1 << 13 != 0 { 0xffff_0000 } else { 0 }
    }

    /// The modified virtual address: addresses below 32 MiB are relocated by the process
    /// identifier.
    #[must_use]
    pub const fn modified(self, address: u32) -> u32 {
        if address >> 25 == 0 { address | self.process & 0xfe00_0000 } else { address }
    }

    /// Physical address of the first-level table.
    #[must_use]
    pub const fn table(self) -> u32 {
        self.root & !0x3fff
    }
}

/// What a table's entry maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Size {
    /// 4 KiB.
    #[default]
    Small,
    /// 64 KiB.
    Large,
    /// 1 MiB.
    Section,
}

impl Size {
    /// Binary logarithm of its bytes.
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            Self::Small => 12,
            Self::Large => 16,
            Self::Section => 20,
        }
    }
}

/// What a walk finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mapping {
    /// Physical address of its first byte.
    pub frame: u32,
    /// The size of the mapping.
    pub size: Size,
    /// Number of its domain.
    pub domain: u8,
    /// Access permissions of its four quarters, two bits each, the first quarter's lowest.
    pub permissions: u8,
    /// The C bit: it may be in the cache.
    pub cached: bool,
    /// The B bit: with [`cached`](Self::cached), what is written stays there until it is written
    /// back.
    pub buffered: bool,
}

/// An access to memory that was carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Modified virtual address.
    pub address: u32,
    /// Whether it is a write.
    pub write: bool,
    /// Whether it has the rights of user mode.
    pub user: bool,
    /// Whether it fetches code.
    pub fetch: bool,
}

impl Mapping {
    /// Virtual and physical address are the same, and nothing is cached: translation is off.
    #[must_use]
    pub const fn identity(address: u32) -> Self {
        Self {
            frame: address & !0xf_ffff,
            size: Size::Section,
            domain: 0,
            permissions: 0xff,
            cached: false,
            buffered: false,
        }
    }

    /// Physical address of an address that it maps.
    #[must_use]
    pub const fn physical(&self, address: u32) -> u32 {
        self.frame | address & ((1 << self.size.shift()) - 1)
    }

    /// The page of 4 KiB that has `address`, as a mapping of its own, with the rights of its
    /// quarter if the entry maps four such pages.
    #[must_use]
    pub const fn piece(&self, address: u32) -> Self {
        let permissions = match self.size {
            Size::Small => self.permissions,
            _ => self.permission(address) as u8 * 0x55,
        };
        Self { frame: self.physical(address) & !0xfff, size: Size::Small, permissions, ..*self }
    }

    const fn permission(&self, address: u32) -> u32 {
        let quarter = address >> (self.size.shift() - 2) & 3;
        self.permissions as u32 >> (2 * quarter) & 3
    }

    /// The bits of the domain access control register for its domain.
    #[must_use]
    pub const fn access_of_domain(&self, domains: u32) -> u32 {
        domains >> (2 * self.domain as u32) & 3
    }

    /// Whether an access is permitted, by its domain and by its page.
    #[must_use]
    pub const fn permits(&self, access: Access, controls: Controls) -> bool {
        const CLIENT: u32 = 1;
        const MANAGER: u32 = 3;
        match self.access_of_domain(controls.domains) {
            CLIENT => self.page_permits(access, controls.control),
            MANAGER => true,
            _ => false,
        }
    }

    const fn page_permits(&self, access: Access, control: u32) -> bool {
        const SYSTEM: u32 = 1 << 8;
        const ROM: u32 = 1 << 9;
        match self.permission(access.address) {
            0 if control & ROM != 0 => !access.write,
            0 => control & SYSTEM != 0 && !access.write && !access.user,
            1 => !access.user,
            2 => !access.user || !access.write,
            _ => true,
        }
    }
}

/// Walks the tables below `root` (the value of c2) for a modified virtual address. `read` gets the
/// physical address of each entry before it is read.
///
/// # Errors
/// Says why nothing was found.
pub fn walk(
    memory: &mut impl Physical,
    root: u32,
    address: u32,
    mut read: impl FnMut(u32),
) -> Result<Mapping, NoMapping> {
    let mut entry = |at: u32| {
        read(at);
        memory.read(at).ok_or(NoMapping::Unreachable)
    };
    let upper = entry((root & !0x3fff) | address >> 20 << 2)?;
    let domain = (upper >> 5 & 15) as u8;
    let of = |word: u32, size: Size, permissions: u8| {
        let frame = word & (u32::MAX << size.shift());
        Ok(Mapping {
            frame,
            size,
            domain,
            permissions,
            cached: word & 8 != 0,
            buffered: word & 4 != 0,
        })
    };
    match upper & 3 {
        1 => {
            let lower = entry((upper & !0x3ff) | (address >> 12 & 0xff) << 2)?;
            match lower & 3 {
                1 => of(lower, Size::Large, (lower >> 4) as u8),
                2 => of(lower, Size::Small, (lower >> 4) as u8),
                // XScale's extended small page: one permission, and bits that choose among kinds of
                // caching.
                3 => of(lower, Size::Small, (lower >> 4 & 3) as u8 * 0x55),
                _ => Err(NoMapping::Absent),
            }
        }
        2 => of(upper, Size::Section, (upper >> 10 & 3) as u8 * 0x55),
        _ => Err(NoMapping::Absent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    struct Memory(BTreeMap<u32, u32>);

    impl Physical for Memory {
        fn read(&mut self, address: u32) -> Option<u32> {
            (address < 0x1000_0000).then(|| self.0.get(&address).copied().unwrap_or(0))
        }
    }

    const ROOT: u32 = 0x4000;

    fn at(entries: &[(u32, u32)], address: u32) -> Result<Mapping, NoMapping> {
        walk(&mut Memory(entries.iter().copied().collect()), ROOT | 0x13, address, |_| ())
    }

    #[test]
    fn walks_find_what_the_tables_say() {
        let section = Mapping {
            frame: 0x120_0000,
            size: Size::Section,
            domain: 5,
            permissions: 0xaa,
            cached: true,
            buffered: false,
        };
        assert_eq!(at(&[(ROOT + 0x123 * 4, 0x0120_08aa)], 0x1234_5678), Ok(section));
        assert_eq!(section.physical(0x1234_5678), 0x0124_5678);
        let upper = (ROOT + 0x123 * 4, 0x0000_9c61);
        let small = Mapping {
            frame: 0x76_5000,
            size: Size::Small,
            domain: 3,
            permissions: 0xe4,
            cached: true,
            buffered: true,
        };
        assert_eq!(
            at(&[upper, (0x9c00 + 0x45 * 4, 0x0076_5e4e)], 0x1234_5678),
            Ok(small),
            "four permissions"
        );
        assert_eq!([0, 0x400, 0x800, 0xc00].map(|offset| small.permission(offset)), [0, 1, 2, 3]);
        let large = Mapping {
            frame: 0x76_0000,
            size: Size::Large,
            domain: 3,
            permissions: 0xe4,
            cached: false,
            buffered: true,
        };
        assert_eq!(at(&[upper, (0x9c00 + 0x45 * 4, 0x0076_0e45)], 0x1234_5678), Ok(large));
        let piece = Mapping { frame: 0x76_5000, size: Size::Small, permissions: 0x55, ..large };
        assert_eq!(large.piece(0x1234_5678), piece, "of the second quarter");
        let extended = Mapping {
            frame: 0x76_5000,
            size: Size::Small,
            domain: 3,
            permissions: 0xaa,
            cached: true,
            buffered: true,
        };
        assert_eq!(
            at(&[upper, (0x9c00 + 0x45 * 4, 0x0076_506f)], 0x1234_5678),
            Ok(extended),
            "XScale's"
        );
        assert_eq!(at(&[upper], 0x1234_5678), Err(NoMapping::Absent));
        assert_eq!(
            at(&[(ROOT + 0x123 * 4, 0x9003)], 0x1234_5678),
            Err(NoMapping::Absent),
            "a fine table"
        );
        assert_eq!(at(&[], 0), Err(NoMapping::Absent));
        assert_eq!(at(&[(ROOT, 0x2000_0001)], 0), Err(NoMapping::Unreachable));
    }

    #[test]
    fn a_process_has_its_own_first_addresses() {
        let controls = Controls { process: 0x0600_0000, ..Controls::default() };
        assert_eq!(controls.modified(0x1ff_ffff), 0x07ff_ffff);
        assert_eq!(controls.modified(0x200_0000), 0x0200_0000);
    }

    #[test]
    fn rights_are_those_of_domain_and_page() {
        let may = |permission: u8, domains, control, write, user| {
            let mapping =
                Mapping { domain: 4, permissions: permission * 0x55, ..Mapping::default() };
            mapping.permits(
                Access { address: 0, write, user, fetch: false },
                Controls { domains, control, ..Controls::default() },
            )
        };
        // Kernel reads, kernel writes, user reads, user writes.
        let all = |permission, domains, control| {
            [(false, false), (true, false), (false, true), (true, true)]
                .map(|(w, u)| may(permission, domains, control, w, u))
        };
        let client = 1 << 8;
        assert_eq!(all(0, client, 0), [false; 4]);
        assert_eq!(all(0, client, 1 << 8), [true, false, false, false], "S");
        assert_eq!(all(0, client, 1 << 9), [true, false, true, false], "R");
        assert_eq!(all(1, client, 0), [true, true, false, false]);
        assert_eq!(all(2, client, 0), [true, true, true, false]);
        assert_eq!(all(3, client, 0), [true; 4]);
        assert_eq!(all(3, 2 << 8, 0), [false; 4], "reserved");
        assert_eq!(all(3, !(3 << 8), 0), [false; 4], "another domain's");
        assert_eq!(all(0, 3 << 8, 0), [true; 4], "manager");
    }

    proptest! {
        /// A page has the same place and rights in the entry and in its piece.
        #[test]
        fn pieces_agree_with_their_entries(word in any::<u32>(), address in any::<u32>(), write in any::<bool>(), user in any::<bool>()) {
            let entries = [(ROOT + (address >> 20) * 4, 0x9c61), (0x9c00 + (address >> 12 & 0xff) * 4, word)];
            if let Ok(mapping) = at(&entries, address) {
                let piece = mapping.piece(address);
                prop_assert_eq!(piece.physical(address), mapping.physical(address));
                let access = Access { address, write, user, fetch: false };
                let controls = Controls { domains: 1 << 6, ..Controls::default() };
                prop_assert_eq!(piece.permits(access, controls), mapping.permits(access, controls));
            }
        }
    }
}
