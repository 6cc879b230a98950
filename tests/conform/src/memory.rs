// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mapping, changing rights, revoking, Segments.

use crate::{ADDRESS, Bed, Case, OTHER, PAGE, QUOTA, SPACE, Why, bytes, check, fails, fill, good};
use abi::utcb::AREA_START;
use abi::{CacheOp, MapRecord, Rights, TABLE_SPAN, USER_END, Word};
use macadamia::cap::{Found, copy, delete, identify, revoke};
use macadamia::map::{Batch, map, map_uncached, protect, unmap};
use macadamia::{Error, Memory, sys};
use processor::HAS_LARGE_PAGES;

const RW: Rights = Rights(3);
/// Where a Segment is attached.
const ATTACHED: Word = ADDRESS + (32 << 20);
/// A second one, whatever a table spans.
const NEXT: Word = ATTACHED + (8 << 20);

pub const CASES: &[Case] = &[
    ("two_mappings_show_the_same_page", two_mappings),
    ("mapped_memory_keeps_its_contents", keeps_contents),
    ("map_replaces_what_was_there", map_replaces),
    ("unmapping_nothing_is_no_error", |_| good(unmap(SPACE, OTHER, PAGE * 10))),
    ("the_kernels_area_is_refused", |bed| {
        fails(map(SPACE, abi::utcb::FIRST_SLOT, bed.ram, 0, PAGE, RW), Error::BadAddress)
    }),
    ("beyond_the_user_area_is_refused", |bed| {
        fails(map(SPACE, USER_END - PAGE, bed.ram, 0, 2 * PAGE, RW), Error::BadAddress)
    }),
    ("beyond_the_memory_is_refused", beyond_the_memory),
    ("part_pages_are_refused", |bed| {
        fails(map(SPACE, ADDRESS, bed.ram, 0, 100, RW), Error::BadArgument)
    }),
    ("misaligned_offsets_are_refused", |bed| {
        fails(map(SPACE, ADDRESS, bed.ram, 7, PAGE, RW), Error::BadArgument)
    }),
    ("nothing_is_not_mapped", |bed| {
        fails(map(SPACE, ADDRESS, bed.ram, 0, 0, RW), Error::BadArgument)
    }),
    ("rights_beyond_the_capability_are_refused", rights_beyond),
    ("a_batch_has_at_most_sixteen", batch_of_seventeen),
    ("a_batch_tells_how_far_it_came", batch_progress),
    ("sixteen_records_in_one_call", sixteen_records),
    ("derive_makes_a_part", derive_makes_a_part),
    ("derive_beyond_is_refused", derive_beyond),
    ("revoke_takes_parts_along", revoke_takes_parts),
    ("a_segment_shows_its_pages", segment_shows_pages),
    ("a_segment_needs_room", segment_needs_room),
    ("detaching_nothing_is_said", |_| fails(SPACE.detach(ATTACHED), Error::NotThere)),
    ("an_attached_range_is_the_segments", attached_range),
    ("a_lookup_tells_rights_and_page", lookup_tells),
    ("a_lookup_tells_offsets_of_the_callers_memory_only", lookup_of_others),
    ("a_lookup_sees_a_segment_as_threads_do", lookup_of_segment),
    ("a_lookup_sees_large_pages", lookup_of_large),
    ("a_lookup_is_checked", lookup_is_checked),
    ("ram_can_be_mapped_uncached", uncached),
    ("a_batch_cleans_a_page_before_it_maps_it_elsewhere", cleaned_and_mapped),
    ("records_on_caches_are_checked", cache_records_are_checked),
];

fn read(address: Word) -> u8 {
    bytes(address, 1).first().copied().unwrap_or(0)
}

fn two_mappings(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    good(map(SPACE, OTHER, bed.ram, 0, PAGE, Rights::READ))?;
    fill(ADDRESS, PAGE, &[1, 2, 3]);
    check("seen through the other", bytes(OTHER, 3) == [1, 2, 3])
}

fn keeps_contents(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, PAGE, PAGE, RW))?;
    fill(ADDRESS, PAGE, b"kept");
    good(unmap(SPACE, ADDRESS, PAGE))?;
    good(map(SPACE, OTHER, bed.ram, PAGE, PAGE, RW))?;
    check("still there", bytes(OTHER, 4) == b"kept")
}

fn map_replaces(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    fill(ADDRESS, PAGE, &[1]);
    good(map(SPACE, ADDRESS, bed.ram, PAGE, PAGE, RW))?;
    fill(ADDRESS, PAGE, &[2]);
    good(map(SPACE, OTHER, bed.ram, 0, PAGE, RW))?;
    check("the first page is as it was", read(OTHER) == 1)?;
    check("the second is seen", read(ADDRESS) == 2)
}

fn beyond_the_memory(bed: &mut Bed) -> Result<(), Why> {
    let [_, _, size] = good(identify(bed.ram.0))?;
    fails(map(SPACE, ADDRESS, bed.ram, size, PAGE, RW), Error::BadArgument)?;
    fails(map(SPACE, ADDRESS, bed.ram, size - PAGE, 2 * PAGE, RW), Error::BadArgument)?;
    fails(map(SPACE, ADDRESS, bed.ram, 0xffff_f000, 2 * PAGE, RW), Error::BadArgument)
}

fn rights_beyond(bed: &mut Bed) -> Result<(), Why> {
    let weak = bed.slot();
    good(copy(bed.ram.0, None, weak, Rights::READ, 0))?;
    fails(map(SPACE, ADDRESS, Memory(weak), 0, PAGE, RW), Error::NoRight)?;
    good(map(SPACE, ADDRESS, Memory(weak), 0, PAGE, Rights::READ))
}

fn batch_of_seventeen(_: &mut Bed) -> Result<(), Why> {
    for count in [0, 17, Word::MAX] {
        let mut registers =
            sys::registers([abi::Tag::new(abi::Op::Map, 0, 0).0 as Word, count, 0, 0, 0]);
        sys::raw(&mut registers);
        check("BadArgument", registers[0] == Error::BadArgument as Word)?;
    }
    Ok(())
}

fn record(op: u32, address: Word, memory: Word, offset: Word, rights: Rights) -> MapRecord {
    MapRecord::new(op, SPACE.0, address, memory, offset, PAGE, rights)
}

fn batch_progress(bed: &mut Bed) -> Result<(), Why> {
    let mut batch = Batch::new();
    good(batch.push(record(MapRecord::MAP, ADDRESS, bed.ram.0, 0, RW)))?;
    good(batch.push(record(MapRecord::MAP, ADDRESS + PAGE, bed.ram.0, 0, RW)))?;
    good(batch.push(record(MapRecord::MAP, abi::utcb::KIP_ADDRESS, bed.ram.0, 0, RW)))?;
    good(batch.push(record(MapRecord::MAP, ADDRESS + 2 * PAGE, bed.ram.0, 0, RW)))?;
    check("two done, then BadAddress", batch.commit() == Err((2, Error::BadAddress)))
}

fn sixteen_records(bed: &mut Bed) -> Result<(), Why> {
    let mut batch = Batch::new();
    for i in 0..14 {
        good(batch.push(record(MapRecord::MAP, ADDRESS + i * PAGE, bed.ram.0, i * PAGE, RW)))?;
    }
    good(batch.push(record(MapRecord::PROTECT, ADDRESS, 0, 0, Rights::READ)))?;
    good(batch.push(record(MapRecord::UNMAP, ADDRESS + PAGE, 0, 0, Rights::NONE)))?;
    check("all done", batch.commit().is_ok())?;
    fill(ADDRESS + 13 * PAGE, PAGE, &[13]);
    check("the last page is there", read(ADDRESS + 13 * PAGE) == 13)
}

fn derive_makes_a_part(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let part = good(bed.ram.derive(2 * PAGE, PAGE, slot, QUOTA))?;
    let [_, _, size] = good(identify(slot))?;
    check("its size", size == PAGE)?;
    good(map(SPACE, ADDRESS, part, 0, PAGE, RW))?;
    good(map(SPACE, OTHER, bed.ram, 2 * PAGE, PAGE, RW))?;
    fill(ADDRESS, PAGE, &[42]);
    check("it is that page", read(OTHER) == 42)
}

fn derive_beyond(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let [_, _, size] = good(identify(bed.ram.0))?;
    for (offset, length) in
        [(size, PAGE), (0, size + PAGE), (PAGE, 0), (1, PAGE), (0, 1), (0xffff_f000, 0x2000)]
    {
        fails(bed.ram.derive(offset, length, slot, QUOTA).map(|_| ()), Error::BadArgument)?;
    }
    Ok(())
}

fn revoke_takes_parts(bed: &mut Bed) -> Result<(), Why> {
    let (whole, part) = (bed.slot(), bed.slot());
    let memory = good(bed.ram.derive(0, 4 * PAGE, whole, QUOTA))?;
    let small = good(memory.derive(PAGE, PAGE, part, QUOTA))?;
    good(map(SPACE, ADDRESS, small, 0, PAGE, RW))?;
    good(revoke(whole))?;
    fails(identify(part), Error::NoCapability)?;
    // The address is free: protecting it changes nothing, and mapping it again works.
    good(protect(SPACE, ADDRESS, PAGE, RW))?;
    good(map(SPACE, ADDRESS, memory, 0, PAGE, RW))?;
    good(delete(whole))
}

fn segment_shows_pages(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(SPACE.attach(ATTACHED, segment, RW))?;
    let into = macadamia::Space(segment.0);
    good(map(into, 0, bed.ram, 0, PAGE, RW))?;
    fill(ATTACHED, PAGE, &[9]);
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    check("the page", read(ADDRESS) == 9)?;
    good(SPACE.attach(NEXT, segment, Rights::READ))?;
    check("a second attachment", read(NEXT) == 9)?;
    good(SPACE.detach(ATTACHED))?;
    good(SPACE.detach(NEXT))?;
    good(delete(slot))
}

fn segment_needs_room(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    fails(SPACE.attach(ADDRESS, segment, RW), Error::Occupied)?;
    fails(SPACE.attach(ATTACHED + PAGE, segment, RW), Error::BadAddress)?;
    fails(SPACE.attach(AREA_START, segment, RW), Error::BadAddress)?;
    fails(SPACE.attach(ATTACHED, segment, Rights::NONE), Error::BadArgument)
}

fn attached_range(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(map(macadamia::Space(segment.0), 0, bed.ram, 0, PAGE, RW))?;
    good(SPACE.attach(ATTACHED, segment, RW))?;
    fails(map(SPACE, ATTACHED, bed.ram, 0, PAGE, RW), Error::Occupied)?;
    good(SPACE.detach(ATTACHED))
}

const READABLE: Rights = shown(Rights::READ);
/// The rights of a page that was mapped for reading and writing.
const WRITABLE: Rights = shown(RW);

/// The rights of a page that was mapped with these: most processors execute pages that can be read.
const fn shown(rights: Rights) -> Rights {
    if processor::FORBIDS_EXECUTION { rights } else { rights.union(Rights::EXECUTE) }
}
const NOTHING: Found = Found { rights: Rights::NONE, bytes: PAGE, offset: None, uncached: false };

fn lookup_tells(bed: &mut Bed) -> Result<(), Why> {
    let seen = |address| good(SPACE.lookup(address, Some(bed.ram)));
    good(map(SPACE, ADDRESS, bed.ram, PAGE, 2 * PAGE, RW))?;
    let second = Found { rights: WRITABLE, bytes: PAGE, offset: Some(2 * PAGE), ..NOTHING };
    check("the second page", seen(ADDRESS + PAGE)? == second)?;
    check("from its first to its last byte", seen(ADDRESS + 2 * PAGE - 1)? == second)?;
    check("none after it", seen(ADDRESS + 2 * PAGE)? == NOTHING)?;
    good(protect(SPACE, ADDRESS + PAGE, PAGE, Rights::READ))?;
    check("lower rights", seen(ADDRESS + PAGE)? == Found { rights: READABLE, ..second })?;
    good(protect(SPACE, ADDRESS + PAGE, PAGE, Rights::NONE))?;
    check("none", seen(ADDRESS + PAGE)? == Found { rights: Rights::NONE, ..second })?;
    good(unmap(SPACE, ADDRESS, PAGE))?;
    check("unmapped", seen(ADDRESS)? == NOTHING)?;
    let empty = good(QUOTA.create_space(0, bed.slot()))?;
    // Where there are more than two levels of tables, those of higher levels are missing, too.
    let found = good(empty.lookup(ADDRESS, None))?;
    check("no table", found == Found { bytes: found.bytes, ..NOTHING })?;
    check("it is a table's", found.bytes.is_multiple_of(TABLE_SPAN) && found.bytes > 0)?;
    good(map(empty, ADDRESS, bed.ram, 0, PAGE, RW))?;
    check("beside a table", good(empty.lookup(ADDRESS ^ TABLE_SPAN, None))?.bytes == TABLE_SPAN)
}

fn lookup_of_others(bed: &mut Bed) -> Result<(), Why> {
    let part = good(bed.ram.derive(PAGE, 2 * PAGE, bed.slot(), QUOTA))?;
    let nothing = bed.slot();
    good(copy(bed.ram.0, None, nothing, Rights::NONE, 0))?;
    good(map(SPACE, ADDRESS, bed.ram, 0, 4 * PAGE, Rights::READ))?;
    for (page, offset) in [(0, None), (1, Some(0)), (2, Some(PAGE)), (3, None)] {
        let at = ADDRESS + page * PAGE;
        check(
            "in the part",
            good(SPACE.lookup(at, Some(part)))?
                == Found { rights: READABLE, bytes: PAGE, offset, ..NOTHING },
        )?;
        check("without a Memory", good(SPACE.lookup(at, None))?.offset.is_none())?;
        check(
            "it need give no right",
            good(SPACE.lookup(at, Some(Memory(nothing))))?.offset == Some(page * PAGE),
        )?;
    }
    // The kernel's own pages are in no Memory, if they are among the users' addresses at all.
    for at in
        [abi::utcb::KIP_ADDRESS, macadamia::utcb::address()].into_iter().filter(|at| *at < USER_END)
    {
        let found = good(SPACE.lookup(at, Some(bed.ram)))?;
        check("they can be read", found.rights.contains(Rights::READ) && found.offset.is_none())?;
    }
    Ok(())
}

fn lookup_of_segment(bed: &mut Bed) -> Result<(), Why> {
    const READ_ONLY: Word = NEXT;
    let segment = good(QUOTA.create_segment(TABLE_SPAN, bed.slot()))?;
    good(SPACE.attach(READ_ONLY - TABLE_SPAN, segment, RW))?;
    good(SPACE.attach(READ_ONLY, segment, Rights::READ))?;
    check("empty", good(SPACE.lookup(READ_ONLY, None))? == Found { bytes: TABLE_SPAN, ..NOTHING })?;
    good(map(macadamia::Space(segment.0), PAGE, bed.ram, 3 * PAGE, PAGE, RW))?;
    for (place, rights) in [(READ_ONLY - TABLE_SPAN, WRITABLE), (READ_ONLY, READABLE)] {
        let found = Found { rights, bytes: PAGE, offset: Some(3 * PAGE), ..NOTHING };
        check("as attached", good(SPACE.lookup(place + PAGE, Some(bed.ram)))? == found)?;
        good(SPACE.detach(place))?;
    }
    Ok(())
}

fn lookup_of_large(bed: &mut Bed) -> Result<(), Why> {
    const LARGE: Word = ADDRESS + (64 << 20);
    let bytes = if HAS_LARGE_PAGES { TABLE_SPAN } else { PAGE };
    good(map(SPACE, LARGE, bed.large, 0, TABLE_SPAN, RW))?;
    let seen = |page| good(SPACE.lookup(LARGE + page * PAGE, Some(bed.large)));
    check(
        "one entry",
        seen(5)? == Found { rights: WRITABLE, bytes, offset: Some(5 * PAGE), ..NOTHING },
    )?;
    good(unmap(SPACE, LARGE, PAGE))?;
    check(
        "many",
        seen(5)? == Found { rights: WRITABLE, bytes: PAGE, offset: Some(5 * PAGE), ..NOTHING },
    )?;
    check("and a gap", seen(0)? == NOTHING)?;
    good(unmap(SPACE, LARGE, TABLE_SPAN))
}

fn uncached(bed: &mut Bed) -> Result<(), Why> {
    const LARGE: Word = ADDRESS + (64 << 20);
    let seen =
        |address| good(SPACE.lookup(address, None)).map(|found| (found.uncached, found.rights));
    good(map_uncached(SPACE, ADDRESS, bed.ram, 0, 2 * PAGE, RW))?;
    good(map(SPACE, OTHER, bed.ram, 0, PAGE, RW))?;
    check("only that", seen(ADDRESS)? == (true, WRITABLE) && seen(OTHER)? == (false, WRITABLE))?;
    good(SPACE.cache(OTHER, PAGE, CacheOp::CleanAndInvalidate))?;
    fill(ADDRESS, PAGE, b"past the caches");
    check("the same memory", bytes(OTHER, 15) == b"past the caches")?;
    good(protect(SPACE, ADDRESS, PAGE, Rights::READ))?;
    check("kept with other rights", seen(ADDRESS)? == (true, READABLE))?;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    check(
        "not kept by another mapping",
        seen(ADDRESS)? == (false, WRITABLE) && seen(ADDRESS + PAGE)? == (true, WRITABLE),
    )?;
    good(map_uncached(SPACE, LARGE, bed.large, 0, TABLE_SPAN, RW))?;
    good(protect(SPACE, LARGE, PAGE, Rights::READ))?;
    check(
        "in pieces",
        seen(LARGE)? == (true, READABLE) && seen(LARGE + PAGE)? == (true, WRITABLE),
    )?;
    good(unmap(SPACE, LARGE, TABLE_SPAN))
}

/// A page is cleaned at one address and mapped at another by one call, on every kind of cache.
fn cleaned_and_mapped(bed: &mut Bed) -> Result<(), Why> {
    for (round, what) in
        [CacheOp::Clean, CacheOp::CleanAndInvalidate, CacheOp::SyncCode].into_iter().enumerate()
    {
        good(map(SPACE, OTHER, bed.ram, 0, PAGE, RW))?;
        fill(OTHER, PAGE, &[round as u8 + 1]);
        let mut batch = Batch::new();
        good(batch.push(MapRecord::cache(what, SPACE.0, OTHER, PAGE)))?;
        good(batch.push(MapRecord::new(
            MapRecord::UNMAP,
            SPACE.0,
            OTHER,
            0,
            0,
            PAGE,
            Rights::NONE,
        )))?;
        good(batch.push(MapRecord::new(
            MapRecord::MAP,
            SPACE.0,
            ADDRESS,
            bed.ram.0,
            0,
            PAGE,
            Rights::READ,
        )))?;
        good(batch.commit().map_err(|(_, error)| error))?;
        check("what was written", bytes(ADDRESS, 1) == [round as u8 + 1])?;
    }
    Ok(())
}

fn cache_records_are_checked(bed: &mut Bed) -> Result<(), Why> {
    let segment = good(QUOTA.create_segment(TABLE_SPAN, bed.slot()))?;
    let cache = |space, address, bytes| MapRecord::cache(CacheOp::Clean, space, address, bytes);
    let beyond = MapRecord::CACHE + CacheOp::Unlock as u32 + 1;
    for (record, error) in [
        (cache(0, ADDRESS, PAGE), Error::NoCapability),
        (cache(segment.0, 0, PAGE), Error::WrongKind),
        (cache(SPACE.0, USER_END - PAGE, 2 * PAGE), Error::BadAddress),
        (cache(SPACE.0, ADDRESS, 0), Error::BadArgument),
        (cache(SPACE.0, ADDRESS, PAGE + 1), Error::BadArgument),
        (MapRecord::new(beyond, SPACE.0, ADDRESS, bed.ram.0, 0, PAGE, RW), Error::BadArgument),
    ] {
        let mut batch = Batch::new();
        good(batch.push(cache(SPACE.0, ADDRESS, PAGE)))?;
        good(batch.push(record))?;
        check("the second of two is refused", batch.commit() == Err((1, error)))?;
    }
    Ok(())
}

fn lookup_is_checked(bed: &mut Bed) -> Result<(), Why> {
    let segment = good(QUOTA.create_segment(TABLE_SPAN, bed.slot()))?;
    fails(macadamia::Space(segment.0).lookup(0, None), Error::WrongKind)?;
    fails(SPACE.lookup(USER_END, None), Error::BadAddress)?;
    fails(SPACE.lookup(Word::MAX, Some(bed.ram)), Error::BadAddress)?;
    good(SPACE.lookup(USER_END - 1, Some(bed.ram)))?;
    fails(SPACE.lookup(ADDRESS, Some(Memory(QUOTA.0))), Error::WrongKind)?;
    fails(SPACE.lookup(ADDRESS, Some(Memory(bed.slot()))), Error::NoCapability)?;
    match bed.ports {
        Some(ports) => fails(SPACE.lookup(ADDRESS, Some(ports)), Error::BadArgument),
        None => Ok(()),
    }
}
