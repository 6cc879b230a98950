// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on threads, segments, interrupts and time: what they do and what they refuse.

use crate::object::yield_now;
use crate::{
    ADDRESS, Bed, Case, OTHER, PAGE, QUOTA, SELF, SHARED, SPACE, Why, bytes, check, fails, fill,
    good,
};
use abi::utcb::{AREA_BYTES, AREA_END, AREA_START, FIRST_SLOT, SLOT_SIZE, SLOT_START};
use abi::{Op, Rights, TABLE_SPAN, USER_END, Word};
use core::sync::atomic::{AtomicU32, Ordering};
use macadamia::cap::{copy, delete, identify};
use macadamia::ipc::{self, Message, call, receive, send};
use macadamia::map::map;
use macadamia::{Error, MessageKind, Space, Thread, sys, thread, time, utcb};

pub const CASES: &[Case] = &[
    ("a_thread_finds_its_argument", finds_its_argument),
    ("a_start_beyond_the_user_area_is_refused", start_beyond),
    ("a_destination_in_use_is_refused", occupied_destinations),
    ("wrong_selectors_are_refused_by_every_operation", wrong_selectors),
    ("rights_are_needed_by_every_operation", rights_needed),
    ("states_are_told", states),
    ("registers_of_a_running_thread_are_not_read", |_| {
        fails(SELF.registers().map(|_| ()), Error::BadState)
    }),
    ("registers_of_a_running_thread_are_not_set", |_| {
        fails(SELF.set_registers(&macadamia::Frame::default(), false), Error::BadState)
    }),
    ("a_reset_thread_keeps_its_capabilities", reset_keeps),
    ("a_thread_cannot_receive_from_itself", |_| {
        fails(receive(Some(SELF)).map(|_| ()), Error::BadArgument)
    }),
    ("a_receive_from_the_gone_fails", receive_from_the_gone),
    ("a_send_to_the_gone_fails", send_to_the_gone),
    ("a_call_waits_for_a_busy_receiver", a_call_waits),
    ("yield_lets_others_of_the_priority_run", yields),
    ("a_more_urgent_thread_runs_at_once", urgent_runs),
    ("a_less_urgent_thread_waits", less_urgent_waits),
    ("a_segment_is_seen_where_it_is_attached", segment_twice),
    ("a_segment_gives_no_right_it_has_not", segment_rights),
    ("a_segment_lies_on_whole_tables", segment_misaligned),
    ("a_deleted_segment_is_gone_everywhere", segment_deleted),
    ("cache_operations_are_six", |_| {
        fails(
            sys::call_with(Op::Cache, [SPACE.0, ADDRESS, PAGE, 6]).map(|_| ()),
            Error::BadArgument,
        )
    }),
    ("cache_ranges_end_with_the_user_area", |_| {
        fails(
            sys::call_with(Op::Cache, [SPACE.0, USER_END - PAGE, 2 * PAGE, 0]).map(|_| ()),
            Error::BadAddress,
        )
    }),
    ("cache_operations_work", |_| {
        (0..3).try_for_each(|kind| {
            good(sys::call_with(Op::Cache, [SPACE.0, ADDRESS, PAGE, kind])).map(|_| ())
        })
    }),
    ("a_quota_in_a_quota_is_limited_by_both", nested_quota),
    ("identify_tells_every_kind", identify_kinds),
    ("many_spaces_lose_what_is_revoked", revoke_many),
    ("a_new_alarm_has_any_bits", alarm_bits),
    ("a_notification_interrupts_no_call", notification_leaves_call),
];

static ARGUMENT: AtomicU32 = AtomicU32::new(0);
static UTCB: AtomicU32 = AtomicU32::new(0);

extern "C" fn tell(argument: Word) -> ! {
    ARGUMENT.store(argument as u32, Ordering::Relaxed);
    UTCB.store(utcb::address() as u32, Ordering::Relaxed);
    SHARED.fetch_add(1, Ordering::Relaxed);
    loop {
        let _ = receive(None);
    }
}

fn settle(thread: Thread, state: Word) -> Result<(), Why> {
    while good(thread.state())? != state {
        good(yield_now())?;
    }
    Ok(())
}

fn waiting(bed: &mut Bed) -> Result<Thread, Why> {
    let slot = bed.slot();
    let made = good(thread::spawn(tell, 0x7777, slot))?;
    settle(made, 2)?;
    Ok(made)
}

fn finds_its_argument(bed: &mut Bed) -> Result<(), Why> {
    waiting(bed)?;
    check("the argument", ARGUMENT.load(Ordering::Relaxed) == 0x7777)?;
    let at = UTCB.load(Ordering::Relaxed) as Word;
    // After the first slot of a space, which may have its own part of the area.
    let own = (utcb::address() - FIRST_SLOT) / AREA_BYTES * AREA_BYTES;
    let is_slot = |at: Word| {
        (own + FIRST_SLOT..own + AREA_END).contains(&at)
            && (at % PAGE - SLOT_START as Word).is_multiple_of(SLOT_SIZE as Word)
    };
    check("its own UTCB", at != utcb::address() && is_slot(at))
}

fn start_beyond(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let (made, _) = good(QUOTA.create_thread(SPACE, slot, None))?;
    fails(made.start(USER_END, 0, 0), Error::BadAddress)?;
    fails(made.start(0x40_0000, USER_END + 1, 0), Error::BadAddress)
}

fn occupied_destinations(_: &mut Bed) -> Result<(), Why> {
    let taken = SELF.0;
    fails(QUOTA.create_thread(SPACE, taken, None).map(|_| ()), Error::BadSlot)?;
    fails(QUOTA.create_space(4, taken).map(|_| ()), Error::BadSlot)?;
    fails(QUOTA.create_quota(4096, 0, taken).map(|_| ()), Error::BadSlot)?;
    fails(QUOTA.create_segment(TABLE_SPAN, taken).map(|_| ()), Error::BadSlot)?;
    fails(QUOTA.create_space(4, 0).map(|_| ()), Error::BadSlot)
}

/// Operations on objects, with arguments that would be good if the first selector were.
const OPERATIONS: [(Op, [Word; 3]); 21] = [
    (Op::CreateQuota, [4096, 0, 0]),
    (Op::CreateSpace, [4, 0, 0]),
    (Op::CreateSegment, [TABLE_SPAN, 0, 0]),
    (Op::CreateThread, [SPACE.0, 0, 0]),
    (Op::DeriveMemory, [0, PAGE, 0]),
    (Op::Start, [0x40_0000, 0, 0]),
    (Op::Stop, [0; 3]),
    (Op::Reset, [SPACE.0, 0, 0]),
    (Op::SetPriority, [1, 1, 0]),
    (Op::SetHandler, [0; 3]),
    (Op::SetState, [0; 3]),
    (Op::GetRegisters, [0; 3]),
    (Op::SetRegisters, [0; 3]),
    (Op::FpuSync, [0; 3]),
    (Op::Attach, [OTHER, SELF.0, 1]),
    (Op::Detach, [OTHER, 0, 0]),
    (Op::Cache, [ADDRESS, PAGE, 0]),
    (Op::Lookup, [ADDRESS, 0, 0]),
    (Op::BindIrq, [0; 3]),
    (Op::AckIrq, [0; 3]),
    (Op::QuotaInfo, [0; 3]),
];

fn wrong_selectors(bed: &mut Bed) -> Result<(), Why> {
    let empty = bed.slot();
    for (op, [b, c, d]) in OPERATIONS {
        for (selector, error) in [
            (0, Error::NoCapability),
            (empty, Error::NoCapability),
            (0xffff, Error::NoCapability),
            (Word::MAX, Error::NoCapability),
        ] {
            fails(sys::call_with(op, [selector, b, c, d]).map(|_| ()), error)
                .map_err(|why| macadamia::alloc::format!("{op:?}: {why}"))?;
        }
        // An object of another kind: a Memory where a Memory is wanted would be right.
        let other = if op == Op::DeriveMemory { SELF.0 } else { bed.ram.0 };
        fails(sys::call_with(op, [other, b, c, d]).map(|_| ()), Error::WrongKind)
            .map_err(|why| macadamia::alloc::format!("{op:?}: {why}"))?;
    }
    Ok(())
}

fn rights_needed(bed: &mut Bed) -> Result<(), Why> {
    let [thread, space, quota, memory] = [(); 4].map(|()| bed.slot());
    for (from, to) in [(SELF.0, thread), (SPACE.0, space), (QUOTA.0, quota), (bed.ram.0, memory)] {
        good(copy(from, None, to, Rights(Rights::ALL.0 & !Rights::CONTROL.0), 0))?;
    }
    for (op, [b, c, d]) in OPERATIONS {
        let weak = match op {
            Op::CreateQuota
            | Op::CreateSpace
            | Op::CreateSegment
            | Op::CreateThread
            | Op::QuotaInfo => quota,
            Op::Attach | Op::Detach | Op::Cache | Op::Lookup => space,
            Op::DeriveMemory => memory,
            Op::BindIrq | Op::AckIrq => continue,
            _ => thread,
        };
        fails(sys::call_with(op, [weak, b, c, d]).map(|_| ()), Error::NoRight)
            .map_err(|why| macadamia::alloc::format!("{op:?}: {why}"))?;
    }
    Ok(())
}

extern "C" fn caller(to: Word) -> ! {
    let answer = call(Thread(to), Message::default());
    SHARED.store(if answer.is_ok() { 2 } else { 3 }, Ordering::Relaxed);
    loop {
        let _ = receive(None);
    }
}

fn states(bed: &mut Bed) -> Result<(), Why> {
    let [fresh, sender] = [(); 2].map(|()| bed.slot());
    let (made, _) = good(QUOTA.create_thread(SPACE, fresh, None))?;
    check("stopped", good(made.state())? == 0)?;
    check("running", good(SELF.state())? == 1)?;
    let waits = waiting(bed)?;
    check("waits to receive", good(waits.state())? == 2)?;
    let calls = good(thread::spawn(caller, SELF.0, sender))?;
    settle(calls, 3)?;
    let message = good(receive(None))?;
    check("waits for the reply", good(calls.state())? == 4)?;
    good(ipc::reply(message.handle, Message::default()))
}

fn reset_keeps(bed: &mut Bed) -> Result<(), Why> {
    let made = waiting(bed)?;
    let badged = bed.slot();
    good(copy(made.0, None, badged, Rights::ALL, 5))?;
    let bound = good(made.reset(SPACE, None))?;
    check("stopped, with a UTCB", good(made.state())? == 0 && bound.utcb != 0)?;
    check(
        "the copy names it still",
        good(Thread(badged).state())? == 0 && good(identify(badged))?[1] >> 12 == 5,
    )
}

fn gone(bed: &mut Bed) -> Result<Thread, Why> {
    let (space, thread) = (bed.slot(), bed.slot());
    let made = good(QUOTA.create_space(4, space))?;
    let (thread, _) = good(QUOTA.create_thread(made, thread, None))?;
    good(delete(space))?;
    Ok(thread)
}

fn receive_from_the_gone(bed: &mut Bed) -> Result<(), Why> {
    let thread = gone(bed)?;
    fails(receive(Some(thread)).map(|_| ()), Error::PeerGone)
}

fn send_to_the_gone(bed: &mut Bed) -> Result<(), Why> {
    let thread = gone(bed)?;
    fails(send(thread, Message::default()), Error::PeerGone)?;
    fails(call(thread, Message::default()).map(|_| ()), Error::PeerGone)?;
    fails(thread.notify(), Error::PeerGone)
}

fn a_call_waits(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let calls = good(thread::spawn(caller, SELF.0, slot))?;
    settle(calls, 3)?;
    let message = good(receive(None))?;
    check("a call", message.kind == MessageKind::Call)?;
    good(ipc::reply(message.handle, Message::default()))?;
    settle(calls, 2)?;
    check("it was answered", SHARED.load(Ordering::Relaxed) == 2)
}

/// The slice may end meanwhile, if an emulator gets little of its host's processor: then the result
/// has no meaning, and the case tries another thread.
fn yields(bed: &mut Bed) -> Result<(), Why> {
    const SLICE: u64 = 10_000_000;
    const TRIES: u32 = 20;
    for _ in 0..TRIES {
        SHARED.store(0, Ordering::Relaxed);
        let slot = bed.slot();
        // A new slice begins.
        good(yield_now())?;
        let begin = time::now();
        good(thread::spawn(tell, 0, slot))?;
        let before = SHARED.load(Ordering::Relaxed);
        good(yield_now())?;
        let after = SHARED.load(Ordering::Relaxed);
        if time::now() - begin < SLICE {
            check("a new thread of the same priority waits", before == 0)?;
            return check("until this one yields", after == 1);
        }
    }
    Err("each slice ended too soon".into())
}

extern "C" fn once(_: Word) -> ! {
    loop {
        let _ = ipc::wait(1);
        SHARED.fetch_add(1, Ordering::Relaxed);
    }
}

/// A thread that counts notifications, at a priority relative to this one's.
fn counter(bed: &mut Bed, difference: i32) -> Result<Thread, Why> {
    let (slot, bits) = (bed.slot(), bed.slot());
    let made = good(thread::spawn(once, 0, slot))?;
    settle(made, 2)?;
    good(copy(made.0, None, bits, Rights::NOTIFY, 1))?;
    good(SELF.set_priority(99, 100))?;
    good(made.set_priority((99 + difference) as Word, 100))?;
    Ok(Thread(bits))
}

fn urgent_runs(bed: &mut Bed) -> Result<(), Why> {
    let bits = counter(bed, 1)?;
    good(bits.notify())?;
    let ran = SHARED.load(Ordering::Relaxed);
    good(SELF.set_priority(100, 100))?;
    check("before the notification returned", ran == 1)
}

fn less_urgent_waits(bed: &mut Bed) -> Result<(), Why> {
    let bits = counter(bed, -1)?;
    good(bits.notify())?;
    good(yield_now())?;
    let ran = SHARED.load(Ordering::Relaxed);
    good(SELF.set_priority(100, 100))?;
    check("not even when this one yields", ran == 0)
}

/// A segment of one table with the first page of RAM in it.
fn segment(bed: &mut Bed) -> Result<macadamia::Segment, Why> {
    let slot = bed.slot();
    let made = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(map(Space(made.0), 0, bed.ram, 0, PAGE, Rights(3)))?;
    Ok(made)
}

const HERE: Word = ADDRESS + (32 << 20);
const THERE: Word = ADDRESS + (48 << 20);

fn segment_twice(bed: &mut Bed) -> Result<(), Why> {
    let segment = segment(bed)?;
    good(SPACE.attach(HERE, segment, Rights(3)))?;
    good(SPACE.attach(THERE, segment, Rights::READ))?;
    fill(HERE, 4, &[1, 2, 3, 4]);
    let seen = bytes(THERE, 4) == [1, 2, 3, 4];
    good(map(Space(segment.0), PAGE, bed.ram, 0, PAGE, Rights(3)))?;
    let later = bytes(THERE + PAGE, 4) == [1, 2, 3, 4];
    good(SPACE.detach(HERE))?;
    good(SPACE.detach(THERE))?;
    check("the same page", seen)?;
    check("and what is mapped later", later)
}

fn segment_rights(bed: &mut Bed) -> Result<(), Why> {
    let segment = segment(bed)?;
    let weak = bed.slot();
    good(copy(segment.0, None, weak, Rights::READ, 0))?;
    fails(SPACE.attach(HERE, macadamia::Segment(weak), Rights(3)), Error::NoRight)?;
    fails(SPACE.attach(HERE, segment, Rights::NONE), Error::BadArgument)?;
    fails(SPACE.attach(HERE, segment, Rights(8 | 1)), Error::BadArgument)
}

fn segment_misaligned(bed: &mut Bed) -> Result<(), Why> {
    let segment = segment(bed)?;
    for address in [HERE + PAGE, AREA_START, USER_END, Word::MAX - (TABLE_SPAN - 1)] {
        fails(SPACE.attach(address, segment, Rights::READ), Error::BadAddress)?;
    }
    fails(SPACE.detach(HERE), Error::NotThere)
}

fn segment_deleted(bed: &mut Bed) -> Result<(), Why> {
    let made = segment(bed)?;
    good(SPACE.attach(HERE, made, Rights(3)))?;
    good(delete(made.0))?;
    fails(SPACE.detach(HERE), Error::NotThere)?;
    let next = segment(bed)?;
    good(SPACE.attach(HERE, next, Rights(3)))?;
    good(SPACE.detach(HERE))
}

fn nested_quota(bed: &mut Bed) -> Result<(), Why> {
    let [outer, inner, most] = [(); 3].map(|()| bed.slot());
    let outer = good(QUOTA.create_quota(16384, 0, outer))?;
    fails(outer.create_quota(16384, 0, inner).map(|_| ()), Error::QuotaExceeded)?;
    let inner = good(outer.create_quota(8192, 0, inner))?;
    fails(inner.create_space(1000, most).map(|_| ()), Error::QuotaExceeded)?;
    check("the limits", good(outer.info())?.1 == 16384 && good(inner.info())? == (0, 8192))?;
    let (before, _) = good(QUOTA.info())?;
    good(delete(outer.0))?;
    check(
        "what is charged to it keeps it",
        good(inner.info())? == (0, 8192) && good(QUOTA.info())?.0 == before,
    )?;
    good(delete(inner.0))?;
    check("the last charge ends it", before - good(QUOTA.info())?.0 == 16384 + 64)
}

fn identify_kinds(bed: &mut Bed) -> Result<(), Why> {
    let segment = segment(bed)?;
    let kinds = [
        (SELF.0, abi::Kind::Thread),
        (SPACE.0, abi::Kind::Space),
        (QUOTA.0, abi::Kind::Quota),
        (bed.ram.0, abi::Kind::Memory),
        (segment.0, abi::Kind::Segment),
    ];
    for (slot, kind) in kinds {
        check("kind", good(identify(slot))?[0] == kind as Word)?;
    }
    check("bytes of a segment", good(identify(segment.0))?[2] == TABLE_SPAN)?;
    fails(identify(0).map(|_| ()), Error::NoCapability)
}

fn revoke_many(bed: &mut Bed) -> Result<(), Why> {
    const SPACES: usize = 24;
    let slot = bed.slot();
    let memory = good(bed.ram.derive(0, 2 * PAGE, slot, QUOTA))?;
    for _ in 0..SPACES {
        let space = bed.slot();
        let space = good(QUOTA.create_space(0, space))?;
        good(map(space, ADDRESS, memory, 0, 2 * PAGE, Rights(3)))?;
    }
    good(map(SPACE, ADDRESS, memory, 0, PAGE, Rights(3)))?;
    let (before, _) = good(QUOTA.info())?;
    good(macadamia::cap::revoke(memory.0))?;
    let (after, _) = good(QUOTA.info())?;
    // At least each space's record of the memory is gone; tables stay with the spaces.
    check("every space's record is gone", before - after >= (SPACES as Word + 1) * 64)?;
    good(map(SPACE, ADDRESS, memory, 0, PAGE, Rights(3)))
}

fn alarm_bits(_: &mut Bed) -> Result<(), Why> {
    good(time::alarm(time::now(), 0x8000_0001))?;
    check("both bits", good(ipc::wait(0x8000_0001))? == 0x8000_0001)
}

/// Replies only after it has notified the caller.
extern "C" fn notifies_first(bits: Word) -> ! {
    loop {
        let Ok(message) = receive(None) else { continue };
        let _ = Thread(bits).notify();
        let _ = ipc::reply(message.handle, Message::new([9, 0, 0]));
    }
}

fn notification_leaves_call(bed: &mut Bed) -> Result<(), Why> {
    let [bits, server] = [(); 2].map(|()| bed.slot());
    good(copy(SELF.0, None, bits, Rights::NOTIFY, 4))?;
    let server = good(thread::spawn(notifies_first, bits, server))?;
    utcb::accept(4);
    let answer = good(call(server, Message::default()))?;
    check("the reply came", answer.kind == MessageKind::Reply && answer.words[0] == 9)?;
    check("the bit waits", utcb::pending() & 4 != 0)?;
    check("for the next receive", good(ipc::wait(4))? == 4)
}
