// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments that many Spaces have attached, or that have many tables.

use crate::mapping::{change_spans, map_spans, protect_a_page};
use crate::{Bed, Case, PAGE, PLACE, QUOTA, RW, SELF, SPAN, batches};
use abi::{MapRecord, Rights, Word};
use macadamia::alien::Alien;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{delete, revoke};
use macadamia::interval::case;
use macadamia::map::{map, unmap};
use macadamia::{Result, Segment, Space, ipc};

pub const CASES: &[Case] = &[
    ("shared_small_pages", shared_small_pages),
    ("shared_large_pages", shared_large_pages),
    ("shared_pages", shared_pages),
    ("shared_untouched_pages", shared_untouched_pages),
    ("shared_revocation", shared_revocation),
    ("shared_deletion", shared_deletion),
    ("wide_segment", wide_segment),
    ("wide_segment_beside_many", wide_segment_beside_many),
];

/// This many bytes, or those of the largest Segment: its directory has as many entries as a leaf
/// table.
const fn at_most(bytes: Word) -> Word {
    match (SPAN / PAGE).checked_mul(SPAN) {
        Some(most) if most < bytes => most,
        _ => bytes,
    }
}

/// A Segment of sixteen spans, attached to many Spaces.
fn attached(bed: &mut Bed) -> Result<Segment> {
    let segment = QUOTA.create_segment(MapRecord::MAX as Word * SPAN, bed.slot())?;
    bed.spaces.iter().try_for_each(|space| space.attach(PLACE, segment, RW))?;
    Ok(segment)
}

/// Tables are made and deleted.
fn shared_small_pages(bed: &mut Bed) -> Result<()> {
    let segment = attached(bed)?;
    case("shared_small_pages.map");
    map_spans(segment.0, 0, bed.ram, true)?;
    case("shared_small_pages.protect");
    change_spans(segment.0, 0, MapRecord::PROTECT)?;
    case("shared_small_pages.unmap");
    change_spans(segment.0, 0, MapRecord::UNMAP)
}

/// Large pages are mapped, split and unmapped.
fn shared_large_pages(bed: &mut Bed) -> Result<()> {
    let segment = attached(bed)?;
    case("shared_large_pages.map");
    map_spans(segment.0, 0, bed.ram, false)?;
    case("shared_large_pages.protect");
    change_spans(segment.0, 0, MapRecord::PROTECT)?;
    case("shared_large_pages.split");
    protect_a_page(segment.0, 0)?;
    case("shared_large_pages.unmap");
    change_spans(segment.0, 0, MapRecord::UNMAP)
}

/// Single pages, of which each change is to be flushed in every Space.
fn shared_pages(bed: &mut Bed) -> Result<()> {
    let segment = attached(bed)?;
    let record = |operation, index: Word| {
        MapRecord::new(operation, segment.0, index * PAGE, bed.ram.0, 0, PAGE, RW)
    };
    let steps = ["shared_pages.map", "shared_pages.protect", "shared_pages.unmap"];
    for (step, operation) in
        steps.into_iter().zip([MapRecord::MAP, MapRecord::PROTECT, MapRecord::UNMAP])
    {
        case(step);
        batches((0..MapRecord::MAX as Word).map(|index| record(operation, index)))?;
    }
    Ok(())
}

/// Untouched pages: as many spaces as are flushed one by one, and as many pages as are flushed page
/// by page; first in one record, then in records of a batch. Each space has run.
fn shared_untouched_pages(bed: &mut Bed) -> Result<()> {
    // MIPS flushes pairs of pages.
    const PAGES: Word = if Word::BITS == 64 { 32 } else { 20 };
    const SPACES: usize = 8;
    let segment = QUOTA.create_segment(SPAN, bed.slot())?;
    let slots: Vec<Word> = (0..SPACES).map(|_| bed.slot()).collect();
    let spaces: Vec<Space> = bed.spaces.iter().copied().take(SPACES).collect();
    let mut runners = Vec::new();
    for (space, slot) in spaces.iter().zip(slots) {
        space.attach(PLACE, segment, RW)?;
        // Another page is mapped, so that each space has its own translations.
        map(*space, PLACE + SPAN, bed.ram, 0, PAGE, RW)?;
        runners.push(Alien::create(QUOTA, *space, slot, SELF)?.1);
    }
    let steps = [
        ("shared_untouched_pages.map", MapRecord::MAP),
        ("shared_untouched_pages.protect", MapRecord::PROTECT),
        ("shared_untouched_pages.unmap", MapRecord::UNMAP),
    ];
    for count in [1, MapRecord::MAX as Word] {
        for (name, operation) in steps {
            // A space has to be entered before it has translations to flush: this ends with a
            // fault.
            for handle in &mut runners {
                *handle = ipc::run(*handle)?.handle;
            }
            let bytes = PAGES * PAGE;
            let record = |index: Word| {
                let at = index * bytes;
                MapRecord::new(operation, segment.0, at, bed.ram.0, 0, bytes, Rights::READ)
            };
            case(name);
            batches((0..count).map(record))?;
        }
    }
    case("shared_untouched_pages.detach");
    spaces.iter().try_for_each(|space| {
        unmap(*space, PLACE + SPAN, SPAN)?;
        space.detach(PLACE)
    })
}

/// Memory that fills all tables.
fn shared_revocation(bed: &mut Bed) -> Result<()> {
    let segment = attached(bed)?;
    let part = bed.ram.derive(0, SPAN + PAGE, bed.slot(), QUOTA)?;
    map_spans(segment.0, 0, part, true)?;
    case("shared_revocation.revoke");
    revoke(part.0)
}

fn shared_deletion(bed: &mut Bed) -> Result<()> {
    let segment = attached(bed)?;
    map_spans(segment.0, 0, bed.ram, true)?;
    case("shared_deletion.delete");
    delete(segment.0)
}

/// A table for every span of two GiB, or of as much as a Segment can have: attached, detached,
/// deleted.
fn wide_segment(bed: &mut Bed) -> Result<()> {
    const BYTES: Word = at_most(2 << 30);
    let segment = QUOTA.create_segment(BYTES, bed.slot())?;
    let spans = (0..BYTES).step_by(SPAN as usize);
    batches(
        spans.map(|offset| {
            MapRecord::new(MapRecord::MAP, segment.0, offset, bed.ram.0, 0, PAGE, RW)
        }),
    )?;
    let Some(space) = bed.spaces.first() else { return Ok(()) };
    case("wide_segment.attach");
    space.attach(PLACE, segment, RW)?;
    case("wide_segment.detach");
    space.detach(PLACE)?;
    case("wide_segment.attach");
    space.attach(PLACE, segment, RW)?;
    case("wide_segment.delete");
    delete(segment.0)
}

/// Nearly all addresses of a space, or as many as a Segment can have: attached, used, detached.
/// Many small ones are attached, too, and the large one's record is searched among theirs.
fn wide_segment_beside_many(bed: &mut Bed) -> Result<()> {
    const BYTES: Word = at_most(11 << 28);
    const SMALL: Word = 64;
    let Some(space) = bed.spaces.first().copied() else { return Ok(()) };
    for index in 0..SMALL {
        let small = QUOTA.create_segment(SPAN, bed.slot())?;
        space.attach(BYTES + index * SPAN, small, RW)?;
    }
    let (alien, handle) = Alien::create(QUOTA, space, bed.slot(), SELF)?;
    let segment = QUOTA.create_segment(BYTES, bed.slot())?;
    case("wide_segment_beside_many.attach");
    space.attach(0, segment, RW)?;
    case("wide_segment_beside_many.run");
    ipc::run(handle)?;
    case("wide_segment_beside_many.detach");
    space.detach(0)?;
    delete(alien.thread.0)
}
