// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where boot places the pool, and which RAM it uses.

use abi::PhysAddr;
use arch_common::boot::{Mapping, fits, map_pages, pages, pool_bytes};
use arch_common::lines;
use arch_common::loader;
use arch_common::platform::Platform;
use core::ops;
use kcore::boot::Range;
use kcore::ram::Ram;

const MIB: u32 = 1 << 20;

/// A board whose pages have 4 MiB.
struct Board;

impl Platform for Board {
    type Console = String;

    fn power_off() -> ! {
        unreachable!("no test ends the machine")
    }
}

impl Mapping for Board {
    const PAGE: u32 = 4 * MIB;
    const POOL: ops::RangeInclusive<u32> = 8 * MIB..=64 * MIB;
    const IMAGE: ops::Range<u32> = 0xf000_0000..0xf800_0000;
    const SYMBOLS: ops::Range<u32> = 0xf800_0000..0xf900_0000;

    fn map(_: u32, _: Range) -> u32 {
        unreachable!("no test maps anything")
    }

    fn unmap(_: u32, _: Range) {}
}

fn range(base: u32, bytes: u32) -> Range {
    Range { base: PhysAddr(base), bytes }
}

#[test]
fn the_pool_is_an_eighth_of_ram_as_high_as_it_goes() {
    assert_eq!(Board::place_pool(&[range(MIB, 127 * MIB)]), Some(range(112 * MIB, 16 * MIB)));
    assert_eq!(
        Board::place_pool(&[range(0, 130 * MIB)]),
        Some(range(108 * MIB, 20 * MIB)),
        "whole pages, of which the last ends below 130 MiB"
    );
}

#[test]
fn the_pool_is_in_one_range() {
    let ram = [range(0, 16 * MIB), range(20 * MIB, 7 * MIB), range(64 * MIB, 11 * MIB)];
    assert_eq!(
        Board::place_pool(&ram),
        Some(range(64 * MIB, 8 * MIB)),
        "the highest range that has eight aligned MiB"
    );
    assert_eq!(
        Board::place_pool(&[range(MIB, 10 * MIB)]),
        None,
        "there are eight MiB, and none of them aligned"
    );
    assert_eq!(Board::place_pool(&[range(0, 4 * MIB)]), None);
}

#[test]
fn the_pool_has_bounds() {
    assert_eq!(Board::place_pool(&[range(0, 16 * MIB)]), Some(range(8 * MIB, 8 * MIB)));
    assert_eq!(Board::place_pool(&[range(0, 3072 * MIB)]), Some(range(3008 * MIB, 64 * MIB)));
}

#[test]
fn the_pool_of_a_large_machine_is_no_smaller() {
    let all = [range(0, 3 << 30), range(3 << 30, (1 << 30) - 4096)];
    assert_eq!(pool_bytes::<Board>(&[all, all, all, all].concat()), 64 * MIB, "16 GiB");
    assert_eq!(pool_bytes::<Board>(&[all; 9].concat()), 64 * MIB, "an eighth has over 32 bits");
}

#[test]
fn ram_is_what_an_address_has_room_for() {
    let ram = |base: u64, bytes: u64| {
        let mut ram = Ram::default();
        loader::add(&mut ram, base, bytes);
        ram.ranges().to_vec()
    };
    let low = 0xffff_f000 - MIB;
    assert_eq!(ram(MIB.into(), 127 << 20), [range(MIB, 127 * MIB)]);
    assert_eq!(ram(MIB.into(), 5 << 30), [range(MIB, low)], "nobody has the last page");
    assert_eq!(ram(MIB.into(), u64::MAX), [range(MIB, low)], "it does not begin again at 0");
    assert_eq!(ram(4 << 30, 1 << 30), [], "a word has 32 bits on the host");
    assert_eq!(ram(0xffff_f000, 4096), []);
}

#[test]
fn a_range_lies_in_whole_pages() {
    assert_eq!(pages::<Board>(range(4 * MIB, 1)), (4 * MIB, 4 * MIB));
    assert_eq!(pages::<Board>(range(4 * MIB, 4 * MIB)), (4 * MIB, 4 * MIB));
    assert_eq!(pages::<Board>(range(8 * MIB - 1, 2)), (4 * MIB, 8 * MIB));
    assert_eq!(
        pages::<Board>(range(u32::MAX, 1)),
        (u32::MAX - 4 * MIB + 1, 4 * MIB),
        "the last byte"
    );
}

#[test]
fn a_range_is_mapped_page_by_page() {
    let mapped = std::cell::RefCell::new(Vec::new());
    let begins = map_pages::<Board>(0xf000_0000, range(8 * MIB - 1, 2), |address, physical| {
        mapped.borrow_mut().push((address, physical))
    });
    assert_eq!(begins, 0xf000_0000 + 4 * MIB - 1);
    assert_eq!(mapped.into_inner(), [(0xf000_0000, 4 * MIB), (0xf000_0000 + 4 * MIB, 8 * MIB)]);
}

#[test]
fn what_fits_does_so_wherever_it_begins() {
    let room = Board::SYMBOLS;
    assert!(fits::<Board>(range(0, 12 * MIB), &room));
    assert!(
        !fits::<Board>(range(0, 12 * MIB + 1), &room),
        "from the last byte of a page on it would need 16 MiB and a page"
    );
    assert!(!fits::<Board>(range(0, 0), &room), "there is nothing");
}

#[test]
fn the_kernels_lines_are_left_out() {
    assert_eq!(lines::all_but::<4>(&[0, 2]), [1, 3, 4, 5]);
    assert_eq!(lines::all_but::<3>(&[]), [0, 1, 2]);
}
