// SPDX-License-Identifier: MIT OR Apache-2.0
//! More spaces and Segments than the processor has domains, at the same addresses. Each keeps its
//! own memory, whichever space had the domain or the first-level entry meanwhile.

use crate::alien::CODE;
use crate::exception::{BADGE, DATA, WHOLE, create};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, bytes, cache, check, fill, good};
use abi::frame::{fault, vector};
use abi::{CacheOp, Frame, MessageKind, Op, Rights, TABLE_SPAN, Tag};
use macadamia::alien::Alien;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete, frame, set_frame};
use macadamia::ipc::{Message, Received, receive, reply, reply_wait, run};
use macadamia::map::{map, unmap};
use macadamia::{Quota, Space, Thread, utcb};
use processor::{Words, code};

pub const CASES: &[Case] = &[
    ("many_spaces_keep_their_words", words),
    ("many_spaces_get_their_messages", messages),
    ("many_aliens_keep_their_words", aliens),
    ("spaces_end_while_others_take_their_domains", ends),
    ("many_segments_are_seen_everywhere", segments),
    ("a_segment_that_may_be_read_only_is_not_written", read_only),
    ("a_segment_and_private_memory_take_turns_at_an_address", turns),
];

const RW: Rights = Rights(3);
/// More than there are domains.
const MANY: u32 = 20;
/// The addresses of Segments.
const SEGMENTS: u32 = 0x6000_0000;

/// A native space with this code, which has a page of the RAM at `DATA`, or none.
fn space(bed: &mut Bed, page: Option<u32>) -> Result<Space, Why> {
    let slot = bed.slot();
    let space = good(QUOTA.create_space(4, slot))?;
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    if let Some(page) = page {
        good(map(space, DATA, bed.ram, page * PAGE, PAGE, RW))?;
    }
    Ok(space)
}

/// The code of all spaces here.
pub fn load(bed: &Bed, code: &[u8]) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    fill(ADDRESS, PAGE, code);
    Ok(())
}

/// Writes `100 * number` to the page after the code's of this number.
pub fn number(bed: &Bed, number: u32) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, (1 + number) * PAGE, PAGE, RW))?;
    fill(DATA, 4, &(100 * number).to_le_bytes());
    good(unmap(SPACE, DATA, PAGE))
}

/// The next exception, of whichever thread.
fn next() -> Result<(Received, Frame), Why> {
    let r = good(receive(None))?;
    let f = frame();
    if r.kind == MessageKind::Exception && r.badge == BADGE && f.vector == vector::UNDEFINED {
        return Ok((r, f));
    }
    Err(format!("exception {} at {:#x} for {:#x}", f.vector, f.pc, f.address))
}

/// Lets a thread continue after its exception, with this in r1.
fn go_on(handle: u32, mut f: Frame, argument: u32) -> Result<(Received, Frame), Why> {
    f.skip_invalid();
    f.r[1] = argument;
    set_frame(&f);
    let r = good(reply_wait(handle, WHOLE))?;
    Ok((r, frame()))
}

/// Threads that add to the word of their space, after their first turn.
fn incrementers(bed: &mut Bed) -> Result<Vec<(Space, u32, Frame)>, Why> {
    load(bed, code::increments())?;
    let mut all = Vec::new();
    for i in 0..MANY {
        number(bed, i)?;
        let space = space(bed, Some(1 + i))?;
        good(create(bed, space)?.start(ADDRESS, 0, DATA))?;
        let (r, f) = next()?;
        check("its first word", f.r[2] == 100 * i + 1)?;
        all.push((space, r.handle, f));
    }
    Ok(all)
}

fn turn(all: &mut [(Space, u32, Frame)]) -> Result<(), Why> {
    for (_, handle, f) in all {
        let expected = f.r[2] + 1;
        let (r, now) = go_on(*handle, *f, DATA)?;
        check("its next word", now.vector == vector::UNDEFINED && now.r[2] == expected)?;
        (*handle, *f) = (r.handle, now);
    }
    Ok(())
}

fn words(bed: &mut Bed) -> Result<(), Why> {
    let mut all = incrementers(bed)?;
    (0..5).try_for_each(|_| turn(&mut all))
}

fn ends(bed: &mut Bed) -> Result<(), Why> {
    let mut all = incrementers(bed)?;
    for i in (0..MANY).step_by(3).rev() {
        good(delete(all.remove(i as usize).0.0))?;
        turn(&mut all)?;
    }
    for i in (0..MANY).step_by(3) {
        good(map(SPACE, DATA, bed.ram, (1 + i) * PAGE, PAGE, Rights::READ))?;
        // It had its first turn, and one after each thread that ended before it.
        let expected = 100 * i + 1 + (MANY - 1 - i) / 3;
        check("what an ended one wrote", bytes(DATA, 4) == expected.to_le_bytes())?;
    }
    Ok(())
}

/// Each calls; then each gets an answer in its UTCB, whose section may no longer be mapped.
fn messages(bed: &mut Bed) -> Result<(), Why> {
    const OWN: u32 = 1;
    load(bed, code::calls_and_reads())?;
    let mut handles = Vec::new();
    for i in 0..MANY {
        let space = space(bed, None)?;
        let (slot, handler) = (bed.slot(), bed.slot());
        good(copy(SELF.0, None, handler, Rights::CALL, BADGE))?;
        let (thread, bound) = good(QUOTA.create_thread(space, slot, None))?;
        good(thread.set_handler(Some(Thread(handler))))?;
        good(copy(SELF.0, Some(space), OWN, Rights::CALL, 0x100 + i))?;
        let mut registers = [0; 13];
        registers[..2].copy_from_slice(&[Tag::new(Op::Call, 0, 0).0, OWN]);
        registers[10] = bound.utcb;
        good(thread.set_registers(&Frame { r: registers, pc: ADDRESS, ..Frame::default() }, true))?;
        let r = good(receive(None))?;
        check("its call", r.kind == MessageKind::Call && r.badge == 0x100 + i)?;
        handles.push(r.handle);
    }
    for (i, handle) in (0..).zip(handles) {
        utcb::set_word(40, 0x5eed_0000 + i);
        good(reply(handle, Message { words: [0; 3], count: 64, caps: 0 }))?;
        check("word 40 of its answer", next()?.1.r[2] == 0x5eed_0000 + i)?;
    }
    Ok(())
}

fn aliens(bed: &mut Bed) -> Result<(), Why> {
    load(bed, code::increments_and_calls())?;
    let mut all = Vec::new();
    for i in 0..MANY {
        number(bed, i)?;
        let slot = bed.slot();
        let space = good(QUOTA.create_space(0, slot))?;
        all.push(counter(bed, QUOTA, space, (i, CODE, DATA))?);
    }
    count(&mut all)
}

/// An alien in a space, with the code of this case and the word of this number at these addresses;
/// and its handle.
pub fn counter(
    bed: &mut Bed,
    quota: Quota,
    space: Space,
    (number, at, data): (u32, u32, u32),
) -> Result<(Alien, u32), Why> {
    good(map(space, at, bed.ram, 0, PAGE, Rights::READ))?;
    good(map(space, data, bed.ram, (1 + number) * PAGE, PAGE, RW))?;
    let slot = bed.slot();
    let (alien, handle) = good(Alien::create(quota, space, slot, SELF))?;
    good(alien.thread.set_priority(90, 90))?;
    let mut f = alien.frame();
    (f.pc, f.r[1]) = (at, data);
    alien.set_frame(&f);
    Ok((alien, handle))
}

/// Each of them adds to its word in turn.
pub fn count(all: &mut [(Alien, u32)]) -> Result<(), Why> {
    for turn in 1..6 {
        for (i, (alien, handle)) in (0..).zip(&mut *all) {
            let r = good(run(*handle))?;
            check("its system call", r.words[0] == vector::SYSTEM_CALL)?;
            check("its word", alien.frame().r[2] == 100 * i + turn)?;
            *handle = r.handle;
        }
    }
    Ok(())
}

/// A Segment with a page of the RAM, attached here, one after the other.
fn segment(bed: &mut Bed, number: u32) -> Result<macadamia::Segment, Why> {
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(map(Space(segment.0), 0, bed.ram, (1 + number) * PAGE, PAGE, RW))?;
    good(SPACE.attach(SEGMENTS + number * TABLE_SPAN, segment, RW))?;
    Ok(segment)
}

fn segments(bed: &mut Bed) -> Result<(), Why> {
    load(bed, code::increments())?;
    let other = space(bed, None)?;
    for i in 0..MANY {
        let segment = segment(bed, i)?;
        good(other.attach(SEGMENTS + i * TABLE_SPAN, segment, RW))?;
        fill(SEGMENTS + i * TABLE_SPAN, 4, &(100 * i).to_le_bytes());
    }
    good(create(bed, other)?.start(ADDRESS, 0, SEGMENTS))?;
    let (mut r, mut f) = next()?;
    check("the first one's", f.r[2] == 1)?;
    for turn in 1..4 {
        for i in 0..MANY {
            if (turn, i) != (1, 0) {
                (r, f) = go_on(r.handle, f, SEGMENTS + i * TABLE_SPAN)?;
            }
            check(
                "the other one's word",
                f.vector == vector::UNDEFINED && f.r[2] == 100 * i + turn,
            )?;
            check(
                "the same here",
                macadamia::start::bytes(SEGMENTS + i * TABLE_SPAN, 4) == f.r[2].to_le_bytes(),
            )?;
        }
    }
    (0..MANY).try_for_each(|i| good(SPACE.detach(SEGMENTS + i * TABLE_SPAN)))
}

fn read_only(bed: &mut Bed) -> Result<(), Why> {
    load(bed, code::increments())?;
    let segment = segment(bed, 0)?;
    fill(SEGMENTS, 4, &6u32.to_le_bytes());
    for (rights, writes) in [(Rights::READ, false), (RW, true), (Rights::READ, false)] {
        let other = space(bed, None)?;
        good(other.attach(SEGMENTS, segment, rights))?;
        let before = bytes(SEGMENTS, 4).to_vec();
        good(create(bed, other)?.start(ADDRESS, 0, SEGMENTS))?;
        let (r, f) = (good(receive(None))?, frame());
        if writes {
            check("it is written", f.vector == vector::UNDEFINED)?;
        } else {
            check(
                "it is not",
                r.words == [vector::PAGE_FAULT, SEGMENTS, fault::WRITE | fault::PROTECTION],
            )?;
            check(
                "the word is read, and kept",
                f.r[2] == 7 + u32::from(before[0] == 7) && bytes(SEGMENTS, 4) == before,
            )?;
        }
        good(delete(other.0))?;
    }
    check("once", bytes(SEGMENTS, 4) == 7u32.to_le_bytes())?;
    good(SPACE.detach(SEGMENTS))
}

/// What is a Segment in one space is private memory in the other.
fn turns(bed: &mut Bed) -> Result<(), Why> {
    load(bed, code::increments())?;
    let segment = segment(bed, 0)?;
    fill(SEGMENTS, 4, &100u32.to_le_bytes());
    number(bed, 7)?;
    let spaces = [space(bed, None)?, space(bed, None)?];
    good(spaces[0].attach(SEGMENTS, segment, RW))?;
    good(map(spaces[1], SEGMENTS, bed.ram, 8 * PAGE, PAGE, RW))?;
    let mut all: Vec<(u32, Frame)> = Vec::new();
    for space in spaces {
        good(create(bed, space)?.start(ADDRESS, 0, SEGMENTS))?;
        let (r, f) = next()?;
        all.push((r.handle, f));
    }
    for turn in 1..10 {
        for ((handle, f), first) in all.iter_mut().zip([100, 700]) {
            check("its own word", f.vector == vector::UNDEFINED && f.r[2] == first + turn)?;
            if first == 100 {
                cache(SPACE, SEGMENTS, 4, CacheOp::Clean)?;
                check("and here", bytes(SEGMENTS, 4) == (first + turn).to_le_bytes())?;
            }
            let (r, now) = go_on(*handle, *f, SEGMENTS)?;
            (*handle, *f) = (r.handle, now);
        }
    }
    good(SPACE.detach(SEGMENTS))
}
