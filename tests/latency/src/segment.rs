// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments that many Spaces see, or that have many tables.

use crate::mapping::{change_spans, map_spans, protect_a_page};
use crate::{Bed, Case, PAGE, PLACE, QUOTA, RW, SPAN, batches};
use abi::MapRecord;
use macadamia::cap::{delete, revoke};
use macadamia::interval::case;
use macadamia::{Result, Segment};

pub const CASES: &[Case] = &[
    ("shared_small_pages", shared_small_pages),
    ("shared_large_pages", shared_large_pages),
    ("shared_pages", shared_pages),
    ("shared_revocation", shared_revocation),
    ("shared_deletion", shared_deletion),
    ("wide_segment", wide_segment),
];

/// A Segment of sixteen spans, attached to many Spaces.
fn attached(bed: &mut Bed) -> Result<Segment> {
    let segment = QUOTA.create_segment(MapRecord::MAX * SPAN, bed.slot())?;
    bed.spaces.iter().try_for_each(|space| space.attach(PLACE, segment, RW))?;
    Ok(segment)
}

/// Tables come and go.
fn shared_small_pages(bed: &mut Bed) -> Result<()> {
    let segment = attached(bed)?;
    case("shared_small_pages.map");
    map_spans(segment.0, 0, bed.ram, true)?;
    case("shared_small_pages.protect");
    change_spans(segment.0, 0, MapRecord::PROTECT)?;
    case("shared_small_pages.unmap");
    change_spans(segment.0, 0, MapRecord::UNMAP)
}

/// Large pages come, are split, and go.
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
    let record = |operation, index: u32| {
        MapRecord::new(operation, segment.0, index * PAGE, bed.ram.0, 0, PAGE, RW)
    };
    let steps = ["shared_pages.map", "shared_pages.protect", "shared_pages.unmap"];
    for (step, operation) in
        steps.into_iter().zip([MapRecord::MAP, MapRecord::PROTECT, MapRecord::UNMAP])
    {
        case(step);
        batches((0..MapRecord::MAX).map(|index| record(operation, index)))?;
    }
    Ok(())
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

/// A table for every span of two GiB: attached, detached, deleted.
fn wide_segment(bed: &mut Bed) -> Result<()> {
    const BYTES: u32 = 2 << 30;
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
