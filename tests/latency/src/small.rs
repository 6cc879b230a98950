// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small Spaces of a large size, and homes that have many small Spaces.

use crate::{Bed, Case, PAGE, QUOTA, RW, SPAN, batches, expect};
use abi::arch::ia32::kip::FEATURE_SERVERS;
use abi::{MapRecord, USER_END};
use macadamia::cap::delete;
use macadamia::interval::case;
use macadamia::map::{map, unmap};
use macadamia::{Error, Result, Rights, Space, time};

pub const CASES: &[Case] = &[
    ("small_move", |bed| if has_small() { moves(bed) } else { Ok(()) }),
    ("small_end", |bed| if has_small() { ends(bed) } else { Ok(()) }),
    ("small_segment", |bed| if has_small() { segment(bed) } else { Ok(()) }),
    ("small_crowd", |bed| if has_small() { crowd(bed) } else { Ok(()) }),
];

/// The largest size.
const SIZE: u32 = 1 << 30;

fn has_small() -> bool {
    time::kip().features & FEATURE_SERVERS != 0
}

/// A home, and a Space with a table for every span of the largest size.
fn full(bed: &mut Bed) -> Result<(Space, Space)> {
    let (home, space) = (QUOTA.create_home(bed.slot())?, QUOTA.create_space(0, bed.slot())?);
    let spans = (0..SIZE).step_by(SPAN as usize);
    batches(
        spans.map(|address| {
            MapRecord::new(MapRecord::MAP, space.0, address, bed.ram.0, 0, PAGE, RW)
        }),
    )?;
    Ok((home, space))
}

/// It becomes small and large, and is refused after everything beyond its size was checked.
fn moves(bed: &mut Bed) -> Result<()> {
    let (home, space) = full(bed)?;
    case("small_move.attach");
    home.take_in(SIZE, space, SIZE)?;
    case("small_move.detach");
    home.detach(SIZE)?;
    let last = USER_END - PAGE;
    map(space, last, bed.ram, 0, PAGE, RW)?;
    case("small_move.refuse");
    expect(home.take_in(SIZE, space, SIZE) == Err(Error::Occupied))?;
    unmap(space, last - last % SPAN, SPAN)?;
    let other = QUOTA.create_space(0, bed.slot())?;
    map(other, last, bed.ram, 0, PAGE, RW)?;
    expect(home.take_in(SIZE, other, SPAN) == Err(Error::Occupied))?;
    // The home is checked up to its end.
    map(home, 3 * SIZE - PAGE, bed.ram, 0, PAGE, RW)?;
    expect(home.take_in(2 * SIZE, space, SIZE) == Err(Error::Occupied))
}

/// A home is deleted that has the Space, and the Space is deleted while it is small.
fn ends(bed: &mut Bed) -> Result<()> {
    let (home, space) = full(bed)?;
    home.take_in(0, space, SIZE)?;
    case("small_end.home");
    delete(home.0)?;
    let home = QUOTA.create_home(bed.slot())?;
    home.take_in(2 * SIZE, space, SIZE)?;
    case("small_end.small");
    delete(space.0)
}

/// A Segment that fills a small Space is attached and detached.
fn segment(bed: &mut Bed) -> Result<()> {
    let (home, space) = (QUOTA.create_home(bed.slot())?, QUOTA.create_space(0, bed.slot())?);
    let segment = QUOTA.create_segment(SIZE, bed.slot())?;
    let spans = (0..SIZE).step_by(SPAN as usize);
    batches(
        spans.map(|offset| {
            MapRecord::new(MapRecord::MAP, segment.0, offset, bed.ram.0, 0, PAGE, RW)
        }),
    )?;
    home.take_in(SIZE, space, SIZE)?;
    case("small_segment.attach");
    space.attach(0, segment, RW)?;
    case("small_segment.detach");
    space.detach(0)?;
    space.attach(0, segment, RW)?;
    case("small_segment.move");
    home.detach(SIZE)?;
    home.take_in(SIZE, space, SIZE)?;
    case("small_segment.delete");
    delete(segment.0)
}

/// As many small Spaces as a home has room for, all with one Segment.
fn crowd(bed: &mut Bed) -> Result<()> {
    let home = QUOTA.create_home(bed.slot())?;
    let segment = QUOTA.create_segment(SPAN, bed.slot())?;
    let places = (0..USER_END).step_by(SPAN as usize);
    for (space, address) in bed.spaces.iter().zip(places) {
        space.attach(0, segment, RW)?;
        home.take_in(address, *space, SPAN)?;
    }
    // Its table is made and deleted, with all pages in it.
    case("small_crowd.map");
    batches([MapRecord::new(MapRecord::MAP, segment.0, 0, bed.ram.0, PAGE, SPAN, RW)])?;
    case("small_crowd.protect");
    batches([MapRecord::new(MapRecord::PROTECT, segment.0, 0, 0, 0, SPAN, Rights::READ)])?;
    case("small_crowd.replace");
    batches([MapRecord::new(MapRecord::MAP, segment.0, 0, bed.ram.0, 0, SPAN, RW)])?;
    case("small_crowd.split");
    batches([MapRecord::new(MapRecord::PROTECT, segment.0, 0, 0, 0, PAGE, Rights::READ)])?;
    case("small_crowd.unmap");
    batches([MapRecord::new(MapRecord::UNMAP, segment.0, 0, 0, 0, SPAN, RW)])?;
    batches([MapRecord::new(MapRecord::MAP, segment.0, 0, bed.ram.0, PAGE, SPAN, RW)])?;
    case("small_crowd.delete");
    delete(segment.0)?;
    case("small_crowd.home");
    delete(home.0)
}
