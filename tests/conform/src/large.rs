// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large pages: memory is mapped where it is aligned like its addresses, and parts of it are
//! changed. After the program has made an access, a thread tries the same access, because what is
//! in a TLB matters.

use crate::exception::{launch_with, next};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SPACE, Why, bytes, cache, check, fill, good};
use abi::frame::vector;
use abi::{CacheOp, Rights, TABLE_SPAN, Word};
use macadamia::cap::{delete, revoke};
use macadamia::map::{map, protect, unmap};
use macadamia::{Memory, Space};
use processor::{INVALID, code};

const RW: Rights = Rights(3);

/// An address with the memory's alignment: the memory begins with a large page.
const LARGE: Word = ADDRESS + (64 << 20);
/// Another such address, and one that is not aligned like that: it gets pages of 4 KiB.
const SECOND: Word = ADDRESS + (128 << 20);
const SMALL: Word = ADDRESS + (192 << 20) + PAGE;
const BYTES: Word = 2 * TABLE_SPAN;
/// Pages of a large one.
const PAGES: Word = TABLE_SPAN / PAGE;
/// The page that cases change, and some others.
const PART: Word = 5;
const OTHERS: [Word; 6] = [0, PART - 1, PART + 1, PAGES - 1, PAGES, 2 * PAGES - 1];

pub const CASES: &[Case] = &[
    ("two_kinds_of_pages_show_the_same_memory", same_memory),
    ("a_table_is_paid_for_all_the_same", charges),
    ("a_part_is_unmapped", unmapped_part),
    ("a_part_is_protected", protected_part),
    ("all_of_it_is_protected", protected_whole),
    ("a_part_is_replaced", replaced_part),
    ("small_pages_are_replaced", replaces_small),
    ("a_part_is_revoked", revoked_part),
    ("all_of_it_is_revoked", revoked_whole),
    ("a_segment_has_one", segment),
    ("an_odd_offset_makes_small_pages", odd_offset),
];

/// Memory for a large page, of which nothing is mapped.
fn memory(bed: &mut Bed) -> Result<Memory, Why> {
    for start in [LARGE, SECOND, SMALL] {
        good(unmap(SPACE, start, BYTES))?;
    }
    Ok(bed.large)
}

fn number(page: Word) -> [u8; 4] {
    (0x1a26_0000 | page as u32).to_ne_bytes()
}

/// Maps the memory at `LARGE`, a number in each page.
fn numbered(bed: &mut Bed) -> Result<Memory, Why> {
    let memory = memory(bed)?;
    good(map(SPACE, LARGE, memory, 0, BYTES, RW))?;
    (0..BYTES / PAGE).for_each(|page| fill(LARGE + page * PAGE, 4, &number(page)));
    Ok(memory)
}

/// Whether a page has its number.
fn shows(base: Word, page: Word) -> bool {
    bytes(base + page * PAGE, 4) == number(page)
}

/// Whether an access is allowed.
fn allowed(bed: &mut Bed, address: Word, write: bool) -> Result<bool, Why> {
    let touch = if write { code::write() } else { code::read() };
    launch_with(bed, &[touch, code::invalid()].concat(), address + 8)?;
    let (r, _) = next()?;
    match r.words {
        [INVALID, ..] => Ok(true),
        [vector::PAGE_FAULT, at, _] if at == address + 8 => Ok(false),
        [kind, at, _] => Err(macadamia::alloc::format!("exception {kind}, address {at:#x}")),
    }
}

/// Checks that the changed page can be read and written like this, and the others as before.
fn rights(bed: &mut Bed, base: Word, read: bool, write: bool) -> Result<(), Why> {
    let part = base + PART * PAGE;
    check("the part is read", allowed(bed, part, false)? == read)?;
    check("the part is written", allowed(bed, part, true)? == write)?;
    check("its neighbours are there", OTHERS.into_iter().all(|page| shows(base, page)))?;
    for page in OTHERS {
        check("its neighbours are written", allowed(bed, base + page * PAGE, true)?)?;
    }
    Ok(())
}

fn same_memory(bed: &mut Bed) -> Result<(), Why> {
    let memory = numbered(bed)?;
    good(map(SPACE, SECOND, memory, 0, BYTES, Rights::READ))?;
    good(map(SPACE, SMALL, memory, 0, BYTES, RW))?;
    check("seen", (0..BYTES / PAGE).all(|page| shows(SMALL, page) && shows(SECOND, page)))?;
    fill(SMALL + (PAGES - 1) * PAGE, 4, b"last");
    check("written", bytes(LARGE + (PAGES - 1) * PAGE, 4) == b"last")?;
    check("read only", !allowed(bed, SECOND, true)?)?;
    memory_is_gone(bed)
}

/// Unmaps everything, and checks that nothing can be accessed any more.
fn memory_is_gone(bed: &mut Bed) -> Result<(), Why> {
    memory(bed)?;
    for at in [LARGE, LARGE + TABLE_SPAN + PAGE, SECOND + BYTES - PAGE, SMALL] {
        check("gone", !allowed(bed, at, false)?)?;
    }
    Ok(())
}

fn charges(bed: &mut Bed) -> Result<(), Why> {
    let memory = memory(bed)?;
    good(map(SPACE, SMALL, memory, 0, PAGE, RW))?;
    let (before, _) = good(QUOTA.info())?;
    good(map(SPACE, LARGE, memory, 0, BYTES, RW))?;
    let (mapped, _) = good(QUOTA.info())?;
    good(unmap(SPACE, LARGE + PAGE, PAGE))?;
    let (split, _) = good(QUOTA.info())?;
    good(unmap(SPACE, LARGE, BYTES))?;
    let (after, _) = good(QUOTA.info())?;
    check("two tables", mapped - before == 2 * PAGE)?;
    check("no more when it is split", split == mapped)?;
    check("and back", after == before)
}

fn unmapped_part(bed: &mut Bed) -> Result<(), Why> {
    numbered(bed)?;
    good(unmap(SPACE, LARGE + PART * PAGE, PAGE))?;
    rights(bed, LARGE, false, false)?;
    memory_is_gone(bed)
}

fn protected_part(bed: &mut Bed) -> Result<(), Why> {
    numbered(bed)?;
    let part = LARGE + PART * PAGE;
    good(protect(SPACE, part, PAGE, Rights::READ))?;
    rights(bed, LARGE, true, false)?;
    check("its contents", shows(LARGE, PART))?;
    good(protect(SPACE, part, PAGE, Rights::NONE))?;
    rights(bed, LARGE, false, false)?;
    good(protect(SPACE, part, PAGE, RW))?;
    rights(bed, LARGE, true, true)
}

fn protected_whole(bed: &mut Bed) -> Result<(), Why> {
    let memory = numbered(bed)?;
    let [first, second] = [LARGE + PART * PAGE, LARGE + TABLE_SPAN + PART * PAGE];
    for (given, read, write) in
        [(Rights::READ, true, false), (Rights::NONE, false, false), (RW, true, true)]
    {
        good(protect(SPACE, LARGE, TABLE_SPAN, given))?;
        check("read", allowed(bed, first, false)? == read)?;
        check("written", allowed(bed, first, true)? == write)?;
        check("the other page is as it was", allowed(bed, second, true)?)?;
    }
    check("its contents", shows(LARGE, PART) && shows(LARGE, 0))?;
    good(map(SPACE, LARGE, memory, 0, BYTES, Rights::READ))?;
    good(protect(SPACE, LARGE, BYTES, RW))?;
    check("no right is made", !allowed(bed, second, true)?)
}

fn replaced_part(bed: &mut Bed) -> Result<(), Why> {
    let memory = numbered(bed)?;
    good(map(SPACE, LARGE + PART * PAGE, memory, (PAGES + 476) * PAGE, PAGE, RW))?;
    check("the other page is seen", bytes(LARGE + PART * PAGE, 4) == number(PAGES + 476))?;
    check("its neighbours are there", OTHERS.into_iter().all(|page| shows(LARGE, page)))?;
    good(map(SPACE, LARGE, memory, 0, BYTES, RW))?;
    check("all as at first", (0..BYTES / PAGE).all(|page| shows(LARGE, page)))
}

fn replaces_small(bed: &mut Bed) -> Result<(), Why> {
    let memory = numbered(bed)?;
    for page in 0..8 {
        good(map(SPACE, SECOND + page * PAGE, memory, (100 - page) * PAGE, PAGE, RW))?;
        check("the small page", bytes(SECOND + page * PAGE, 4) == number(100 - page))?;
    }
    good(map(SPACE, SECOND, memory, TABLE_SPAN, TABLE_SPAN, RW))?;
    check(
        "the large page",
        (0..PAGES).all(|page| bytes(SECOND + page * PAGE, 4) == number(PAGES + page)),
    )?;
    good(map(SPACE, SECOND, memory, 0, TABLE_SPAN, RW))?;
    check("another", (0..PAGES).all(|page| shows(SECOND, page)))
}

fn revoked_part(bed: &mut Bed) -> Result<(), Why> {
    let memory = numbered(bed)?;
    let slot = bed.slot();
    let part = good(memory.derive(PART * PAGE, PAGE, slot, QUOTA))?;
    good(map(SPACE, SMALL, part, 0, PAGE, RW))?;
    check("its page", bytes(SMALL, 4) == number(PART))?;
    good(revoke(slot))?;
    rights(bed, LARGE, false, false)?;
    check("nor there", !allowed(bed, SMALL, false)?)
}

fn revoked_whole(bed: &mut Bed) -> Result<(), Why> {
    let all = memory(bed)?;
    let slot = bed.slot();
    let part = good(all.derive(0, TABLE_SPAN, slot, QUOTA))?;
    good(map(SPACE, LARGE, part, 0, TABLE_SPAN, RW))?;
    good(map(SPACE, LARGE + TABLE_SPAN, all, TABLE_SPAN, TABLE_SPAN, RW))?;
    good(map(SPACE, SMALL, part, 0, TABLE_SPAN, RW))?;
    fill(LARGE + PAGE, 4, b"gone");
    fill(LARGE + TABLE_SPAN, 4, b"kept");
    good(delete(slot))?;
    check("the large page", !allowed(bed, LARGE + PAGE, false)?)?;
    check("the small one", !allowed(bed, SMALL + PAGE, false)?)?;
    check("another's stays", bytes(LARGE + TABLE_SPAN, 4) == b"kept")?;
    good(map(SPACE, LARGE, all, 0, TABLE_SPAN, RW))?;
    check("its contents", bytes(LARGE + PAGE, 4) == b"gone")
}

fn segment(bed: &mut Bed) -> Result<(), Why> {
    let memory = memory(bed)?;
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(BYTES, slot))?;
    good(SPACE.attach(LARGE, segment, RW))?;
    let into = Space(segment.0);
    good(map(into, 0, memory, 0, BYTES, RW))?;
    good(SPACE.attach(SECOND, segment, Rights::READ))?;
    (0..BYTES / PAGE).for_each(|page| fill(LARGE + page * PAGE, 4, &number(page)));
    check("a second attachment", (0..BYTES / PAGE).all(|page| shows(SECOND, page)))?;
    check("may only read", !allowed(bed, SECOND, true)?)?;
    good(unmap(into, PART * PAGE, PAGE))?;
    rights(bed, LARGE, false, false)?;
    cache(SPACE, LARGE, BYTES, CacheOp::Clean)?;
    check("gone there, too", !allowed(bed, SECOND + PART * PAGE, false)?)?;
    check("and nothing else", OTHERS.into_iter().all(|page| shows(SECOND, page)))?;
    check("which is still read only", !allowed(bed, SECOND, true)?)?;
    good(SPACE.detach(LARGE))?;
    check("detached", !allowed(bed, LARGE + TABLE_SPAN, false)?)?;
    good(SPACE.detach(SECOND))?;
    good(delete(slot))
}

fn odd_offset(bed: &mut Bed) -> Result<(), Why> {
    let memory = numbered(bed)?;
    good(map(SPACE, SECOND, memory, PAGE, TABLE_SPAN, RW))?;
    check(
        "shifted by a page",
        (0..PAGES).all(|page| bytes(SECOND + page * PAGE, 4) == number(page + 1)),
    )?;
    memory_is_gone(bed)
}
