// SPDX-License-Identifier: MIT OR Apache-2.0
//! The block that a BAT shows of a directory, as the processor would see it.

use abi::{PhysAddr, Rights, UserAddr};
use mmu::block::{Block, largest};
use mmu::powerpc::{PowerPc, bits, seen};
use mmu::{Attributes, Format, Leaf};
use proptest::prelude::*;

const SPAN: u32 = 4 << 20;
/// The first of two segments.
const START: u32 = 0xa000_0000;
const ENTRIES: usize = 128;

/// A server's large page.
fn large(physical: u32, rights: Rights, attributes: Attributes) -> u32 {
    let physical = PhysAddr(physical.into());
    PowerPc::supervisor(PowerPc::large(Leaf {
        physical,
        rights,
        most: Rights::RWX,
        attributes,
        global: false,
    }))
}

fn ram(physical: u32) -> u32 {
    large(physical, Rights::RWX, Attributes::Cached)
}

/// What a BAT has at an address for user mode: the physical address, and whether it may be written
/// (*Programming Environments*, tables 7-9 and 7-10).
fn shown(block: Block, address: u32) -> Option<(u32, bool)> {
    let inside = (block.upper >> 2 & 0x7ff) << 17 | 0x1_ffff;
    assert_eq!(block.upper & 3, 1, "users see it, the supervisor does not");
    assert_eq!(block.lower & 0x78, 0, "it is cached");
    (address & !inside == block.upper & 0xfffe_0000)
        .then_some((block.lower & 0xfffe_0000 | address & inside, block.lower & 3 == 2))
}

/// Bytes of a block.
fn bytes(block: Block) -> u32 {
    ((block.upper >> 2 & 0x7ff) + 1) << 17
}

/// A server that begins after the first 4 MiB, and whose memory lies so much further down.
fn server(down: u32, pages: u32) -> Vec<u32> {
    let mut entries = vec![0; ENTRIES];
    (1..=pages).for_each(|page| entries[page as usize] = ram(START + page * SPAN - down));
    entries
}

#[test]
fn the_largest_that_fits() {
    let of = |entries: &[u32]| {
        largest(entries, UserAddr(START.into())).map(|block| (block.upper & !0x1fff, bytes(block)))
    };
    assert_eq!(of(&server(0x9800_0000, 16)), Some((START + (32 << 20), 32 << 20)));
    assert_eq!(of(&server(0x9880_0000, 16)), Some((START + (8 << 20), 8 << 20)));
    assert_eq!(of(&server(0x9840_0000, 16)), Some((START + (4 << 20), 4 << 20)));
    assert_eq!(of(&server(0xa000_0000, 127)), Some((START + (256 << 20), 256 << 20)));
    assert_eq!(of(&[0; ENTRIES]), None);
    assert_eq!(of(&[]), None);
    for other in [
        large(SPAN, Rights::RWX, Attributes::Uncached),
        large(SPAN, Rights::RWX, Attributes::Device),
        large(SPAN, Rights::NONE, Attributes::Cached),
        ram(SPAN) | bits::SHARED,
        PowerPc::table(PhysAddr(0x5000)),
    ] {
        assert_eq!(of(&[other]), None, "{other:#x}");
    }
}

proptest! {
    /// It shows what the tables say, and there is none twice as large.
    #[test]
    fn it_shows_what_the_tables_have(runs in proptest::collection::vec((0u32..64, 1usize..80, 0u32..8), 1..12)) {
        let mut entries: Vec<u32> = runs.iter().flat_map(|(first, pages, kind)| {
            let entry = move |page: usize| {
                let physical = (first + page as u32) * SPAN;
                match kind {
                    0 => 0,
                    1 => large(physical, Rights::READ, Attributes::Cached),
                    2 => large(physical, Rights::RWX, Attributes::Uncached),
                    _ => ram(physical),
                }
            };
            (0..*pages).map(entry)
        }).collect();
        entries.truncate(ENTRIES);
        let at = |address: u32| {
            let page = seen(entries[((address - START) / SPAN) as usize], 0, address)?;
            Some((page & bits::ADDRESS, page & bits::READ_ONLY == bits::READ_WRITE))
        };
        let found = largest(&entries, UserAddr(START.into()));
        let places = || (START..).step_by(SPAN as usize).take(entries.len());
        for address in found.into_iter().flat_map(|block| places().filter(move |at| shown(block, *at).is_some())) {
            let block = found.map(|block| shown(block, address + 0x3000));
            prop_assert_eq!(block, Some(at(address + 0x3000)));
        }
        let covered = places().filter(|at| found.is_some_and(|block| shown(block, *at).is_some())).count();
        prop_assert_eq!(covered as u32 * SPAN, found.map_or(0, bytes), "all of it is of the directory");
        let twice = found.map_or(SPAN, |block| bytes(block) * 2);
        let cached = |address: u32| entries[((address - START) / SPAN) as usize] & bits::UNCACHED == 0;
        let fits = |start: u32| {
            let first = at(start);
            first.is_some_and(|(physical, is_writable)| physical % twice == 0 && (start..start + twice).step_by(SPAN as usize).all(|address| {
                ((address - START) / SPAN) < entries.len() as u32 && cached(address) && at(address) == Some((physical + address - start, is_writable))
            }))
        };
        prop_assert!(twice > 256 << 20 || !places().any(|start| start % twice == 0 && fits(start)), "a larger one fits");
    }
}
