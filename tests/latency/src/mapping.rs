// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mapping many pages at once, and mapping where many are mapped.

use crate::code::Code;
use crate::{Bed, CODE, Case, PAGE, PLACE, QUOTA, RW, SELF, SPAN, batches, expect};
use abi::frame::vector;
use abi::{MapRecord, MessageKind, Op, Rights, Tag, Word};
use macadamia::alien::Alien;
use macadamia::alloc::vec::Vec;
use macadamia::cap::revoke;
use macadamia::interval::case;
use macadamia::ipc::{map_reply_wait, map_run, receive, run};
use macadamia::map::map;
use macadamia::{Memory, Result, Space, sys};
use processor::{ARGUMENT, PC, Words};

pub const CASES: &[Case] = &[
    ("attachments_map", attachments_map),
    ("attachments_answer", attachments_answer),
    ("attachments_run", attachments_run),
    ("small_pages", small_pages),
    ("large_pages", large_pages),
    #[cfg(any(target_arch = "x86", target_arch = "mips64"))]
    ("ports", ports),
    ("revoke_everywhere", revoke_everywhere),
    ("revoke_out_of_large", revoke_out_of_large),
];

/// Records of a full batch.
const BATCH: Word = MapRecord::MAX as Word;
/// Memory objects that are mapped into one Space.
const ATTACHMENTS: u32 = 3000;

/// Sixteen spans, one after the other.
pub fn spans() -> impl Iterator<Item = Word> {
    (0..BATCH).map(|index| index * SPAN)
}

/// Records that map all of sixteen spans from `place` on to the same memory, in small pages or in
/// large ones.
pub fn map_spans(owner: Word, place: Word, ram: Memory, small: bool) -> Result<()> {
    let offset = if small { PAGE } else { 0 };
    batches(
        spans().map(|span| {
            MapRecord::new(MapRecord::MAP, owner, place + span, ram.0, offset, SPAN, RW)
        }),
    )
}

/// Records that unmap sixteen spans, or lower the rights of all their pages.
pub fn change_spans(owner: Word, place: Word, operation: u32) -> Result<()> {
    batches(
        spans()
            .map(|span| MapRecord::new(operation, owner, place + span, 0, 0, SPAN, Rights::READ)),
    )
}

/// Records that lower the rights of one page in each of sixteen spans.
pub fn protect_a_page(owner: Word, place: Word) -> Result<()> {
    batches(spans().map(|span| {
        MapRecord::new(MapRecord::PROTECT, owner, place + span, 0, 0, PAGE, Rights::READ)
    }))
}

/// Parts of the memory, each mapped to the first page of the same span. Returns the first: the one
/// that was mapped longest ago.
fn attach(bed: &mut Bed, space: Space) -> Result<Memory> {
    let mut first = None;
    for _ in 0..ATTACHMENTS {
        let part = bed.ram.derive(0, PAGE, bed.slot(), QUOTA)?;
        map(space, PLACE, part, 0, PAGE, RW)?;
        first.get_or_insert(part);
    }
    first.ok_or(abi::Error::BadState)
}

/// A full batch of the memory for which the kernel may search longest; at addresses without a
/// table; and next to a Segment.
fn attachments_map(bed: &mut Bed) -> Result<()> {
    let space = QUOTA.create_space(0, bed.slot())?;
    let segment = QUOTA.create_segment(SPAN, bed.slot())?;
    let first = attach(bed, space)?;
    let record = |address| MapRecord::new(MapRecord::MAP, space.0, address, first.0, 0, PAGE, RW);
    case("attachments_map.pages");
    batches((0..BATCH).map(|page| record(PLACE + page * PAGE)))?;
    case("attachments_map.table");
    batches([record(PLACE + SPAN)])?;
    case("attachments_map.segment");
    space.attach(PLACE + 2 * SPAN, segment, RW)?;
    space.detach(PLACE + 2 * SPAN)
}

/// The same by answers to page faults.
fn attachments_answer(bed: &mut Bed) -> Result<()> {
    let (space, reader) = bed.dwelling(4)?;
    let first = attach(bed, space)?;
    reader.set_handler(Some(SELF))?;
    bed.start(reader, &Code::read_pages(), PLACE)?;
    let mut fault = receive(None)?;
    case("attachments_answer.handle");
    for _ in 0..BATCH {
        expect(fault.kind == MessageKind::Exception)?;
        let address = fault.words[1];
        expect(address > PLACE && address.is_multiple_of(PAGE))?;
        fault = map_reply_wait(
            fault.handle,
            &MapRecord::new(MapRecord::MAP, space.0, address, first.0, 0, PAGE, RW),
        )?;
    }
    case("attachments_answer.no_handle");
    // Without a reply the portable code does it. There is nothing to receive.
    let [selectors, address, offset, _] =
        MapRecord::new(MapRecord::MAP, space.0, PLACE, first.0, 0, PAGE, RW).0;
    sys::raw(&mut sys::registers([
        (Tag::new(Op::MapReplyWait, 0, 0).0 | Tag::POLL) as Word,
        0,
        selectors,
        address,
        offset,
    ]));
    Ok(())
}

/// And by answers to an alien's page faults, with one page each and with many.
fn attachments_run(bed: &mut Bed) -> Result<()> {
    let space = QUOTA.create_space(0, bed.slot())?;
    let first = attach(bed, space)?;
    let (alien, handle) = Alien::create(QUOTA, space, bed.slot(), SELF)?;
    bed.furnish_alien(space, &Code::read_pages())?;
    let mut frame = alien.frame();
    frame.set(PC, CODE);
    frame.set(ARGUMENT, PLACE);
    alien.set_frame(&frame);
    let mut fault = run(handle)?;
    for (name, pages) in [("attachments_run.page", 1), ("attachments_run.batch", BATCH)] {
        case(name);
        for _ in 0..BATCH {
            expect(fault.kind == MessageKind::Alien && fault.words[0] == vector::PAGE_FAULT)?;
            let address = fault.words[1];
            expect(address > PLACE && address.is_multiple_of(PAGE))?;
            let record = |page| {
                MapRecord::new(MapRecord::MAP, space.0, address + page * PAGE, first.0, 0, PAGE, RW)
            };
            let records: Vec<MapRecord> = (0..pages).map(record).collect();
            fault = map_run(fault.handle, &records)?;
            // The pages were there.
            expect(fault.words[1] == address + pages * PAGE)?;
        }
    }
    Ok(())
}

fn small_pages(bed: &mut Bed) -> Result<()> {
    let space = QUOTA.create_space(0, bed.slot())?;
    case("small_pages.map");
    map_spans(space.0, PLACE, bed.ram, true)?;
    case("small_pages.protect");
    change_spans(space.0, PLACE, MapRecord::PROTECT)?;
    case("small_pages.replace");
    batches(spans().map(|span| {
        MapRecord::new(MapRecord::MAP, space.0, PLACE + span, bed.ram.0, 2 * PAGE, SPAN, RW)
    }))?;
    case("small_pages.unmap");
    change_spans(space.0, PLACE, MapRecord::UNMAP)
}

fn large_pages(bed: &mut Bed) -> Result<()> {
    let space = QUOTA.create_space(0, bed.slot())?;
    case("large_pages.map");
    map_spans(space.0, PLACE, bed.ram, false)?;
    case("large_pages.split");
    protect_a_page(space.0, PLACE)?;
    case("large_pages.replace");
    map_spans(space.0, PLACE, bed.ram, false)?;
    case("large_pages.unmap");
    change_spans(space.0, PLACE, MapRecord::UNMAP)
}

/// A batch of records of ports.
#[cfg(any(target_arch = "x86", target_arch = "mips64"))]
fn ports(bed: &mut Bed) -> Result<()> {
    let (space, _) = bed.dwelling(4)?;
    case("ports.map");
    batches((0..BATCH).map(|_| MapRecord::new(MapRecord::MAP, space.0, 0, bed.ports.0, 0, 1, RW)))?;
    case("ports.unmap");
    batches((0..BATCH).map(|_| MapRecord::new(MapRecord::UNMAP, space.0, 0, bed.ports.0, 0, 1, RW)))
}

/// Memory that fills many tables of several Spaces.
fn revoke_everywhere(bed: &mut Bed) -> Result<()> {
    let part = bed.ram.derive(0, SPAN + PAGE, bed.slot(), QUOTA)?;
    for _ in 0..8 {
        let space = QUOTA.create_space(0, bed.slot())?;
        map_spans(space.0, PLACE, part, true)?;
    }
    case("revoke_everywhere.revoke");
    revoke(part.0)
}

/// A page that sixteen large pages contain.
fn revoke_out_of_large(bed: &mut Bed) -> Result<()> {
    let space = QUOTA.create_space(0, bed.slot())?;
    map_spans(space.0, PLACE, bed.ram, false)?;
    let part = bed.ram.derive(PAGE, PAGE, bed.slot(), QUOTA)?;
    map(space, PLACE - PAGE, part, 0, PAGE, RW)?;
    case("revoke_out_of_large.revoke");
    revoke(part.0)
}
