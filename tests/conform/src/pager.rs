// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pager's answer in one system call: a record of one page, a reply, a receive.

use crate::exception::{BADGE, DATA, WHOLE, launch, launch_with, next, start, toucher};
use crate::{
    ADDRESS, Bed, Case, OTHER, PAGE, QUOTA, SELF, SPACE, Why, bytes, cache, check, fails, fill,
    good,
};
use abi::frame::{fault, vector};
use abi::utcb::{AREA_START, FIRST_SLOT, threads_a_space};
use abi::{CacheOp, Delivery, MapRecord, MessageKind, Op, Rights, TABLE_SPAN, Tag, USER_END, Word};
use macadamia::cap::{copy, frame, identify, revoke, set_frame};
use macadamia::ipc::{Message, Received, call, map_reply_wait, receive, reply, reply_wait};
use macadamia::map::{map, protect, unmap};
use macadamia::{Error, Memory, Space, Thread, sys, thread, time};
use processor::{INVALID, Words, code};

const RW: Rights = Rights(3);
/// An address where no other case has a table.
const FAR: Word = 0x6800_0000;

pub const CASES: &[Case] = &[
    ("a_fault_is_answered_by_one_call", one_call),
    ("an_answer_to_another_space", another_space),
    ("an_answer_makes_a_missing_table", missing_table),
    ("an_answer_that_no_quota_pays_is_refused", no_quota),
    ("an_answer_replaces_what_was_there", replaces),
    ("answered_memory_can_be_revoked", revoked),
    ("an_answer_can_give_rights_back", gives_rights_back),
    ("an_answer_can_take_a_page_away", takes_away),
    ("an_answer_into_a_segment", into_a_segment),
    ("an_answer_into_a_segment_that_can_only_be_read", into_a_readable_segment),
    ("an_answer_without_a_reply_maps_and_receives", without_a_reply),
    ("an_answer_to_a_call_has_no_words", no_words),
    ("an_answer_under_a_bad_handle_maps_nothing", bad_handle),
    ("an_answer_is_good_once", good_once),
    ("a_bad_record_is_not_answered", bad_records),
    ("an_answer_has_no_words_capabilities_or_odd_flags", bad_tags),
    ("an_answer_polls", polls),
];

fn page(memory: Memory, offset: Word) -> MapRecord {
    MapRecord::new(MapRecord::MAP, SPACE.0, DATA, memory.0, offset, 0, RW)
}

/// The next exception must be the invalid opcode after a touch.
fn touched(r: Result<Received, Error>) -> Result<Received, Why> {
    let r = good(r)?;
    check(
        "the touch is done",
        r.kind == MessageKind::Exception && r.badge == BADGE as u32 && r.words[0] == INVALID,
    )?;
    Ok(r)
}

/// The fault of a thread that writes to `DATA`, where nothing is mapped.
fn faulted(bed: &mut Bed) -> Result<Received, Why> {
    launch_with(bed, toucher(true), DATA)?;
    let (r, _) = next()?;
    check("it faults", r.words[..2] == [vector::PAGE_FAULT, DATA])?;
    Ok(r)
}

/// Lets the toucher touch again. Returns the next exception.
fn touch_again(handle: Word) -> Result<Received, Why> {
    let mut f = frame();
    f.skip_invalid();
    set_frame(&f);
    good(reply_wait(handle, WHOLE))
}

fn one_call(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, OTHER, bed.ram, PAGE, PAGE, RW))?;
    fill(OTHER, PAGE, &[1; 4]);
    let r = faulted(bed)?;
    touched(map_reply_wait(r.handle, &page(bed.ram, PAGE)))?;
    cache(SPACE, DATA, PAGE, CacheOp::Clean)?;
    check("its write arrived", bytes(OTHER, 4) == [0; 4])
}

fn another_space(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let space = good(QUOTA.create_space(16, slot))?;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    fill(ADDRESS, PAGE, toucher(true));
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights(5)))?;
    start(bed, space, DATA)?;
    let (r, _) = next()?;
    check("it faults", r.words[..2] == [vector::PAGE_FAULT, DATA])?;
    let record = MapRecord::new(MapRecord::MAP, space.0, DATA, bed.ram.0, PAGE, 0, RW);
    let r = touched(map_reply_wait(r.handle, &record))?;
    good(unmap(space, DATA, PAGE))?;
    let again = touch_again(r.handle)?;
    check("the page is gone", again.words[..2] == [vector::PAGE_FAULT, DATA])?;
    touched(map_reply_wait(again.handle, &record)).map(|_| ())
}

fn missing_table(bed: &mut Bed) -> Result<(), Why> {
    launch_with(bed, toucher(true), FAR)?;
    let (r, _) = next()?;
    check("it faults", r.words[..2] == [vector::PAGE_FAULT, FAR])?;
    touched(map_reply_wait(
        r.handle,
        &MapRecord::new(MapRecord::MAP, SPACE.0, FAR, bed.ram.0, PAGE, 0, RW),
    ))?;
    good(unmap(SPACE, FAR, TABLE_SPAN))
}

fn no_quota(bed: &mut Bed) -> Result<(), Why> {
    let (small, space) = (bed.slot(), bed.slot());
    // Room for the space and a table or two, and not for three. With words of 64 bits there are two
    // tables more above those.
    let bytes = if size_of::<Word>() == 8 { 6 * PAGE } else { 4 * PAGE };
    let child =
        good(QUOTA.create_quota(bytes, threads_a_space(time::kip().max_threads) as Word, small))?;
    let space = good(child.create_space(16, space))?;
    let tables = (0..3)
        .take_while(|i| map(space, (8 << 20) + i * TABLE_SPAN, bed.ram, 0, PAGE, RW).is_ok())
        .count() as Word;
    let record = MapRecord::new(MapRecord::MAP, space.0, FAR, bed.ram.0, 0, 0, RW);
    check("some fit", (1..3).contains(&tables))?;
    fails(map_reply_wait(0, &record), Error::QuotaExceeded)
}

fn replaces(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, RW))?;
    good(map(SPACE, OTHER, bed.ram, 2 * PAGE, PAGE, RW))?;
    fill(OTHER, PAGE, &[7; 4]);
    fill(DATA, PAGE, &[9; 4]);
    good(protect(SPACE, DATA, PAGE, Rights::READ))?;
    check("read through the old mapping", bytes(DATA, 4) == [9; 4])?;
    let r = faulted(bed)?;
    check("a protection fault", r.words[2] & fault::PROTECTION != 0)?;
    touched(map_reply_wait(r.handle, &page(bed.ram, 2 * PAGE)))?;
    cache(SPACE, DATA, PAGE, CacheOp::Clean)?;
    check("the write is in the new page", bytes(OTHER, 4) == [0; 4] && bytes(DATA, 4) == [0; 4])?;
    good(map(SPACE, OTHER, bed.ram, PAGE, PAGE, RW))?;
    check("the old page is as it was", bytes(OTHER, 4) == [9; 4])
}

fn revoked(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let memory = good(bed.ram.derive(PAGE, PAGE, slot, QUOTA))?;
    let r = faulted(bed)?;
    // The first answer records that the space has the memory, the second finds the record.
    let mut r = touched(map_reply_wait(r.handle, &page(memory, 0)))?;
    for _ in 0..2 {
        good(revoke(slot))?;
        let again = touch_again(r.handle)?;
        check("the page is gone", again.words[..2] == [vector::PAGE_FAULT, DATA])?;
        r = touched(map_reply_wait(again.handle, &page(memory, 0)))?;
    }
    good(unmap(SPACE, DATA, PAGE))?;
    let again = touch_again(r.handle)?;
    let r = touched(map_reply_wait(again.handle, &page(memory, 0)))?;
    good(revoke(slot))?;
    let again = touch_again(r.handle)?;
    check("the page is gone in the end", again.words[..2] == [vector::PAGE_FAULT, DATA])
}

fn gives_rights_back(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, RW))?;
    good(protect(SPACE, DATA, PAGE, Rights::READ))?;
    let r = faulted(bed)?;
    touched(map_reply_wait(
        r.handle,
        &MapRecord::new(MapRecord::PROTECT, SPACE.0, DATA, 0, 0, 0, RW),
    ))
    .map(|_| ())
}

fn takes_away(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, RW))?;
    launch_with(bed, toucher(true), DATA)?;
    let r = touched(receive(None))?;
    let again = good(map_reply_wait(
        r.handle,
        &MapRecord::new(MapRecord::UNMAP, SPACE.0, DATA, 0, 0, 0, Rights::NONE),
    ))?;
    check("the invalid opcode again", again.words[0] == INVALID)?;
    let again = touch_again(again.handle)?;
    check("the page is gone", again.words[..2] == [vector::PAGE_FAULT, DATA])
}

fn into_a_segment(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(SPACE.attach(FAR, segment, RW))?;
    launch_with(bed, toucher(true), FAR)?;
    let (r, _) = next()?;
    check("it faults", r.words[..2] == [vector::PAGE_FAULT, FAR])?;
    let record = |owner: Word, address| {
        MapRecord::new(MapRecord::MAP, owner, address, bed.ram.0, PAGE, 0, RW)
    };
    fails(map_reply_wait(r.handle, &record(SPACE.0, FAR)), Error::Occupied)?;
    fails(map_reply_wait(r.handle, &record(segment.0, TABLE_SPAN)), Error::BadAddress)?;
    touched(map_reply_wait(r.handle, &record(segment.0, 0)))?;
    good(SPACE.detach(FAR))
}

/// ARM's port has copies of tables for attachments that are read-only (`shadow.rs`).
fn into_a_readable_segment(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(SPACE.attach(FAR, segment, Rights::READ))?;
    good(map(Space(segment.0), 0, bed.ram, 0, PAGE, RW))?;
    bytes(FAR, 1);
    launch_with(bed, toucher(false), FAR + PAGE)?;
    let (r, _) = next()?;
    check("it faults", r.words[..2] == [vector::PAGE_FAULT, FAR + PAGE])?;
    touched(map_reply_wait(
        r.handle,
        &MapRecord::new(MapRecord::MAP, segment.0, PAGE, bed.ram.0, PAGE, 0, RW),
    ))?;
    good(SPACE.detach(FAR))
}

fn without_a_reply(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, OTHER, bed.ram, PAGE, PAGE, RW))?;
    fill(OTHER, PAGE, &[3]);
    launch(bed, code::invalid())?;
    touched(map_reply_wait(0, &page(bed.ram, PAGE)))?;
    check("the page is there", bytes(DATA, 1) == [3])
}

/// Calls twice; the second message describes the reply to the first.
extern "C" fn asker(to: Word) -> ! {
    let told = match call(Thread(to), Message::new([1, 2, 3])) {
        Ok(r) => {
            [r.count.into(), r.words.into_iter().fold(0, |all, word| all | word), r.kind as Word]
        }
        Err(error) => [error as Word; 3],
    };
    loop {
        let _ = call(Thread(to), Message::new(told));
    }
}

fn no_words(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    good(thread::spawn(asker, SELF.0, slot))?;
    let r = good(receive(None))?;
    check("a call", r.kind == MessageKind::Call && r.words == [1, 2, 3])?;
    good(map(SPACE, OTHER, bed.ram, PAGE, PAGE, RW))?;
    fill(OTHER, PAGE, &[5]);
    let told = good(map_reply_wait(r.handle, &page(bed.ram, PAGE)))?;
    check(
        "a reply without words, and nothing of the record",
        told.words == [0, 0, MessageKind::Reply as Word],
    )?;
    check("the page is there", bytes(DATA, 1) == [5])
}

fn bad_handle(bed: &mut Bed) -> Result<(), Why> {
    let r = faulted(bed)?;
    for handle in [1, 0xffff, r.handle ^ 0x1_0000, r.handle.wrapping_sub(0x1_0000), Word::MAX] {
        fails(map_reply_wait(handle, &page(bed.ram, PAGE)), Error::BadHandle)?;
    }
    let again = good(reply_wait(r.handle, Message::default()))?;
    check("nothing was mapped", again.words[..2] == [vector::PAGE_FAULT, DATA])
}

fn good_once(bed: &mut Bed) -> Result<(), Why> {
    let r = faulted(bed)?;
    touched(map_reply_wait(r.handle, &page(bed.ram, PAGE)))?;
    fails(map_reply_wait(r.handle, &page(bed.ram, PAGE)), Error::BadHandle)
}

fn bad_records(bed: &mut Bed) -> Result<(), Why> {
    let [weak, without, size] = [(); 3].map(|()| bed.slot());
    let [_, _, bytes] = good(identify(bed.ram.0))?;
    good(copy(bed.ram.0, None, weak, Rights::READ, 0))?;
    good(copy(SPACE.0, None, without, Rights::NONE, 0))?;
    let r = faulted(bed)?;
    let (ram, map, own) = (bed.ram.0, MapRecord::MAP, SPACE.0);
    for (record, error) in [
        (MapRecord::new(map, own, DATA, size, 0, 0, RW), Error::NoCapability),
        (MapRecord::new(map, own, DATA, 0, 0, 0, RW), Error::NoCapability),
        (MapRecord::new(map, own, DATA, 0xffff, 0, 0, RW), Error::NoCapability),
        (MapRecord::new(map, own, DATA, own, 0, 0, RW), Error::WrongKind),
        (MapRecord::new(map, own, DATA, weak, 0, 0, RW), Error::NoRight),
        (MapRecord::new(map, own, DATA, ram, 0, 0, Rights::NONE), Error::BadArgument),
        (MapRecord::new(map, own, DATA, ram, 0, 0, Rights::CONTROL), Error::BadArgument),
        (MapRecord::new(map, own, DATA, ram, 7, 0, RW), Error::BadArgument),
        (MapRecord::new(map, own, DATA, ram, bytes, 0, RW), Error::BadArgument),
        (
            MapRecord::new(map, own, DATA, ram, (0 as Word).wrapping_sub(PAGE), 0, RW),
            Error::BadArgument,
        ),
        (MapRecord::new(map, size, DATA, ram, 0, 0, RW), Error::NoCapability),
        (MapRecord::new(map, 0, DATA, ram, 0, 0, RW), Error::NoCapability),
        (MapRecord::new(map, 0xffff, DATA, ram, 0, 0, RW), Error::NoCapability),
        (MapRecord::new(map, QUOTA.0, DATA, ram, 0, 0, RW), Error::WrongKind),
        (MapRecord::new(map, without, DATA, ram, 0, 0, RW), Error::NoRight),
        (MapRecord::new(map, own, AREA_START, ram, 0, 0, RW), Error::BadAddress),
        (MapRecord::new(map, own, FIRST_SLOT, ram, 0, 0, RW), Error::BadAddress),
        (MapRecord::new(map, own, USER_END, ram, 0, 0, RW), Error::BadAddress),
        (MapRecord::new(map, own, USER_END + TABLE_SPAN, ram, 0, 0, RW), Error::BadAddress),
        (MapRecord::new(map, own, Word::MAX - (TABLE_SPAN - 1), ram, 0, 0, RW), Error::BadAddress),
        (MapRecord::new(3, own, DATA, ram, 0, 0, RW), Error::BadArgument),
        (MapRecord::new(15, own, DATA, ram, 0, 0, RW), Error::BadArgument),
    ] {
        fails(map_reply_wait(r.handle, &record), error)?;
    }
    if let Some(ports) = bed.ports {
        fails(
            map_reply_wait(r.handle, &MapRecord::new(map, own, 0, ports.0, 0, 1, RW)),
            Error::BadArgument,
        )?;
    }
    let again = good(reply_wait(r.handle, Message::default()))?;
    check(
        "nothing was mapped, and the handle stayed good",
        again.words[..2] == [vector::PAGE_FAULT, DATA],
    )?;
    touched(map_reply_wait(again.handle, &page(bed.ram, PAGE))).map(|_| ())
}

/// The error that an answer of this tag has.
fn answer(tag: u32, handle: Word, record: &MapRecord) -> Option<Error> {
    let mut registers =
        sys::registers([tag as Word, handle, record.0[0], record.0[1], record.0[2]]);
    sys::raw(&mut registers);
    Delivery(registers[0] as u32).error()
}

fn bad_tags(bed: &mut Bed) -> Result<(), Why> {
    let r = faulted(bed)?;
    for (words, caps, flags) in [
        (1, 0, 0),
        (3, 0, 0),
        (19, 0, 0),
        (64, 0, 0),
        (0, 1, 0),
        (0, 0, Tag::NOTIFICATIONS_ONLY),
        (0, 0, Tag::RESERVED),
    ] {
        let tag = Tag::new(Op::MapReplyWait, words, caps).0 | flags;
        check(
            "BadOperation",
            answer(tag, r.handle, &page(bed.ram, PAGE)) == Some(Error::BadOperation),
        )?;
    }
    let again = good(reply_wait(r.handle, Message::default()))?;
    check("nothing was mapped", again.words[..2] == [vector::PAGE_FAULT, DATA])
}

fn polls(bed: &mut Bed) -> Result<(), Why> {
    let r = faulted(bed)?;
    let tag = Tag::new(Op::MapReplyWait, 0, 0).0 | Tag::POLL;
    check(
        "nobody sends yet",
        answer(tag, r.handle, &page(bed.ram, PAGE)) == Some(Error::WouldBlock),
    )?;
    touched(receive(None))?;
    check(
        "a polling answer is refused, too",
        answer(tag, r.handle, &page(bed.ram, PAGE)) == Some(Error::BadHandle),
    )?;
    fails(reply(r.handle, Message::default()), Error::BadHandle)
}
