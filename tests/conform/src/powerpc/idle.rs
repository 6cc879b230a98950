// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages that the kernel clears while no thread runs.

use crate::{ADDRESS, Bed, Case, OTHER, PAGE, QUOTA, SPACE, Why, check, fails, fill, good, start};
use abi::{Error, Rights, Word};
use macadamia::cap::delete;
use macadamia::map::{map, protect, unmap};
use macadamia::{counts, time};

pub const CASES: &[Case] = &[
    ("pages_are_cleared_while_nobody_runs", cleared),
    ("a_page_that_cannot_be_written_ends_it", ends),
    ("who_wants_last_takes_the_place", last),
    ("only_whole_pages_are_cleared", whole),
];

/// Pages of the RAM for these cases.
const PAGES: u32 = 6;
/// Nanoseconds in which more pages are cleared.
const IDLE: u64 = 20_000_000;

/// Pages that are full.
fn full(bed: &Bed, at: u32, pages: u32) -> Result<(), Why> {
    good(map(SPACE, at, bed.ram, 0, pages * PAGE, Rights(3)))?;
    (0..pages).for_each(|page| fill(at + page * PAGE, PAGE, &[0xa5; PAGE as usize]));
    Ok(())
}

/// No thread runs for a while.
fn idle() -> Result<(), Why> {
    good(time::alarm(time::now() + IDLE, 1))?;
    good(macadamia::ipc::wait(1)).map(drop)
}

/// Whether all bytes of a page are these.
fn has(at: u32, page: u32, byte: u8) -> bool {
    start::bytes(at + page * PAGE, PAGE).iter().all(|found| *found == byte)
}

fn cleared(bed: &mut Bed) -> Result<(), Why> {
    full(bed, ADDRESS, PAGES)?;
    let before = counts().cleared;
    let pages = (PAGES - 1) * PAGE;
    check("nothing was wanted", good(SPACE.clear_later(ADDRESS, pages))? == 0)?;
    check("nothing is cleared at once", has(ADDRESS, 0, 0xa5))?;
    idle()?;
    check("they are said to be cleared", good(SPACE.clear_later(0, 0))? == PAGES - 1)?;
    check("and once only", good(SPACE.clear_later(0, 0))? == 0)?;
    check("they are clear", (0..PAGES - 1).all(|page| has(ADDRESS, page, 0)))?;
    check("the next one is not", has(ADDRESS, PAGES - 1, 0xa5))?;
    // The pages were cleared without the cache. Data that is written through the cache afterwards
    // stays.
    start::fill(ADDRESS, PAGE, &[7; PAGE as usize]);
    idle()?;
    check("nobody clears them again", has(ADDRESS, 0, 7))?;
    check("all of them count", counts().cleared.wrapping_sub(before) == PAGES - 1)
}

fn ends(bed: &mut Bed) -> Result<(), Why> {
    full(bed, ADDRESS, PAGES)?;
    for (change, name) in [
        (protect as fn(_, _, _, _) -> _, "read only"),
        (|space, at, bytes, _| unmap(space, at, bytes), "gone"),
    ] {
        good(protect(SPACE, ADDRESS, PAGES * PAGE, Rights(3)))?;
        (0..2).for_each(|page| start::fill(ADDRESS + page * PAGE, PAGE, &[0xa5; PAGE as usize]));
        good(SPACE.clear_later(ADDRESS, PAGES * PAGE))?;
        good(change(SPACE, ADDRESS + 2 * PAGE, PAGE, Rights::READ))?;
        idle()?;
        check(name, good(SPACE.clear_later(0, 0))? == 2)?;
        check("those before it are clear", has(ADDRESS, 0, 0) && has(ADDRESS, 1, 0))?;
        check("those after it are not", has(ADDRESS, 3, 0xa5))?;
    }
    Ok(())
}

fn last(bed: &mut Bed) -> Result<(), Why> {
    full(bed, ADDRESS, PAGES)?;
    let slot = bed.slot();
    let other = good(QUOTA.create_space(0, slot))?;
    good(map(other, OTHER, bed.ram, 2 * PAGE, 2 * PAGE, Rights(3)))?;
    good(SPACE.clear_later(ADDRESS, 2 * PAGE))?;
    good(other.clear_later(OTHER, 2 * PAGE))?;
    idle()?;
    check(
        "the first one's were not",
        good(SPACE.clear_later(0, 0))? == 0 && has(ADDRESS, 0, 0xa5),
    )?;
    check(
        "the other's were",
        good(other.clear_later(0, 0))? == 2 && has(ADDRESS, 2, 0) && has(ADDRESS, 3, 0),
    )?;
    good(other.clear_later(OTHER, 2 * PAGE))?;
    start::fill(ADDRESS + 2 * PAGE, PAGE, &[0xa5; PAGE as usize]);
    good(delete(other.0))?;
    idle()?;
    check("who is gone wants nothing", has(ADDRESS, 2, 0xa5))
}

fn whole(bed: &mut Bed) -> Result<(), Why> {
    full(bed, ADDRESS, 1)?;
    fails(SPACE.clear_later(ADDRESS + 4, PAGE), Error::BadArgument)?;
    fails(SPACE.clear_later(ADDRESS, PAGE - 4), Error::BadArgument)?;
    fails(SPACE.clear_later(ADDRESS, Word::MAX & !(PAGE - 1)), Error::BadAddress)?;
    idle()?;
    check("nothing is cleared", has(ADDRESS, 0, 0xa5))
}
