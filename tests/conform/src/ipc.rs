// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages, reply handles, capabilities in messages.

use crate::object::yield_now;
use crate::{Bed, Case, QUOTA, SELF, SHARED, SPACE, Why, check, fails, good};
use abi::utcb::CapItem;
use abi::{MessageKind, Rights, Tag, Word};
use core::sync::atomic::{AtomicU32, Ordering};
use macadamia::cap::{copy, delete, identify};
use macadamia::ipc::{Message, call, receive, reply, reply_wait, send, send_poll};
use macadamia::{Error, Thread, sys, thread, utcb};

pub const CASES: &[Case] = &[
    ("call_carries_three_words_each_way", call_carries_three_words),
    ("call_carries_sixty_four_words", call_carries_sixty_four_words),
    ("sixty_five_words_are_refused", sixty_five_words),
    ("reserved_flags_are_refused", reserved_flags),
    ("the_badge_arrives", the_badge_arrives),
    ("a_thread_cannot_call_itself", |_| fails(call(SELF, Message::default()), Error::BadArgument)),
    ("call_needs_the_right", call_needs_the_right),
    ("poll_does_not_wait", poll_does_not_wait),
    ("send_leaves_no_handle", send_leaves_no_handle),
    ("receive_and_run_refuse_reserved_flags", receive_refuses_reserved_flags),
    ("a_forged_handle_is_refused", a_forged_handle),
    ("a_stopped_calls_handle_stays_dead", a_stopped_calls_handle),
    ("a_queued_send_needs_its_capability", a_queued_send),
    ("a_queued_send_needs_the_capability_it_began_with", a_queued_send_with_another),
    ("a_handle_is_good_once", a_handle_is_good_once),
    ("many_handles_can_be_outstanding", many_handles),
    ("another_thread_of_the_space_may_reply", another_thread_may_reply),
    ("closed_receive_takes_only_its_partner", closed_receive),
    ("a_capability_arrives_as_a_copy", a_capability_arrives),
    ("an_occupied_receive_slot_fails_the_sender", occupied_receive_slot),
    ("reset_fails_waiting_callers", reset_fails_waiting_callers),
    ("deletion_fails_waiting_callers", deletion_fails_waiting_callers),
    ("a_thread_without_space_is_gone", a_thread_without_space),
    ("urgent_senders_come_first", urgent_senders_come_first),
];

const ECHO: Word = 0;
const KEEP: Word = 1;
const GIVE: Word = 2;
/// Of the last message that a server received.
static BADGE: AtomicU32 = AtomicU32::new(0);
static KIND: AtomicU32 = AtomicU32::new(0);
static HANDLE: AtomicU32 = AtomicU32::new(0);

/// Serves: echoes the words, keeps the handle, or sends its own thread capability.
extern "C" fn server(_: Word) -> ! {
    let (mut handle, mut answer) = (0, Message::default());
    loop {
        let Ok(r) = reply_wait(handle, answer) else {
            handle = 0;
            continue;
        };
        BADGE.store(r.badge, Ordering::Relaxed);
        KIND.store(r.kind as u32, Ordering::Relaxed);
        HANDLE.store(r.handle as u32, Ordering::Relaxed);
        SHARED.fetch_add(1, Ordering::Relaxed);
        answer = Message { words: r.words, count: r.count, caps: 0 };
        handle = if r.words[0] == KEEP || r.kind == MessageKind::Send { 0 } else { r.handle };
        if r.words[0] == GIVE {
            utcb::set_send_cap(0, CapItem::new(SELF.0, Rights::CALL));
            answer.caps = 1;
        }
    }
}

fn serve(bed: &mut Bed) -> Result<Thread, Why> {
    let slot = bed.slot();
    let made = good(thread::spawn(server, 0, slot))?;
    while good(made.state())? != 2 {
        good(yield_now())?;
    }
    Ok(made)
}

fn call_carries_three_words(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    let answer = good(call(to, Message::new([ECHO, 0x1234_5678, Word::MAX])))?;
    check("words", answer.words == [ECHO, 0x1234_5678, Word::MAX])?;
    check("kind", answer.kind == MessageKind::Reply && answer.count == 3)
}

fn call_carries_sixty_four_words(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    (3..64).for_each(|i| utcb::set_word(i, 1000 + i as Word));
    let answer = good(call(to, Message { words: [ECHO, 1, 2], count: 64, caps: 0 }))?;
    check("count", answer.count == 64)?;
    check("words", (3..64).all(|i| utcb::word(i) == 1000 + i as Word))
}

fn sixty_five_words(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    fails(call(to, Message { words: [0; 3], count: 65, caps: 0 }), Error::BadOperation)
}

fn reserved_flags(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    let mut registers =
        sys::registers([(Tag::new(abi::Op::Send, 0, 0).0 | Tag::RESERVED) as Word, to.0, 0, 0, 0]);
    sys::raw(&mut registers);
    check("BadOperation", registers[0] == Error::BadOperation as Word)
}

fn the_badge_arrives(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    let badged = bed.slot();
    good(copy(to.0, None, badged, Rights::CALL, 0xf_edcb))?;
    good(call(Thread(badged), Message::new([ECHO, 0, 0])))?;
    check("badge", BADGE.load(Ordering::Relaxed) == 0xf_edcb)
}

fn call_needs_the_right(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    let weak = bed.slot();
    good(copy(to.0, None, weak, Rights::NOTIFY, 0))?;
    fails(call(Thread(weak), Message::default()), Error::NoRight)
}

extern "C" fn spin(_: Word) -> ! {
    loop {
        let _ = yield_now();
    }
}

fn poll_does_not_wait(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let busy = good(thread::spawn(spin, 0, slot))?;
    fails(send_poll(busy, Message::default()), Error::WouldBlock)?;
    fails(macadamia::ipc::poll(), Error::WouldBlock)
}

fn send_leaves_no_handle(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    good(send(to, Message::new([KEEP, 0, 0])))?;
    // The sender continues; the receiver runs later.
    while SHARED.load(Ordering::Relaxed) == 0 {
        good(yield_now())?;
    }
    check("kind", KIND.load(Ordering::Relaxed) == MessageKind::Send as u32)?;
    check("no handle", HANDLE.load(Ordering::Relaxed) == 0)
}

fn a_forged_handle(_: &mut Bed) -> Result<(), Why> {
    for handle in [1, 0xffff, 0x1_0000, 0x7fff_0003, Word::MAX] {
        fails(reply(handle, Message::default()), Error::BadHandle)?;
        fails(reply_wait(handle, Message::default()), Error::BadHandle)?;
    }
    Ok(())
}

extern "C" fn caller(to: Word) -> ! {
    let word = SHARED.fetch_add(1, Ordering::Relaxed) as Word;
    let result = call(Thread(to), Message::new([word, 0, 0]));
    KIND.store(
        result.map_or_else(|error| error as u32, |r| 1000 + r.words[0] as u32),
        Ordering::Relaxed,
    );
    HANDLE.fetch_add(1, Ordering::Relaxed);
    loop {
        let _ = receive(None);
    }
}

fn receive_refuses_reserved_flags(_: &mut Bed) -> Result<(), Why> {
    for (op, flags) in [
        (abi::Op::Receive, Tag::RESERVED | Tag::POLL),
        (abi::Op::Run, Tag::RESERVED),
        (abi::Op::Run, Tag::NOTIFICATIONS_ONLY),
        (abi::Op::ReplyWait, Tag::NOTIFICATIONS_ONLY),
        (abi::Op::ReplyWait, abi::tag::MAX_WORDS + 1),
    ] {
        let mut registers = sys::registers([(Tag::new(op, 0, 0).0 | flags) as Word, 0, 0, 0, 0]);
        sys::raw(&mut registers);
        check(
            "BadOperation",
            abi::Delivery(registers[0] as u32).error() == Some(Error::BadOperation),
        )?;
    }
    Ok(())
}

extern "C" fn tireless_caller(to: Word) -> ! {
    loop {
        let _ = call(Thread(to), Message::default());
    }
}

/// More calls than a handle has numbers.
const MANY_CALLS: Word = 66_000;

fn a_stopped_calls_handle(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let client = good(thread::spawn(tireless_caller, SELF.0, slot))?;
    let kept = good(receive(None))?.handle;
    good(client.stop())?;
    good(client.set_registers(&good(client.registers())?, true))?;
    let mut next = good(receive(None))?.handle;
    for _ in 0..MANY_CALLS {
        check("another handle", next != kept)?;
        next = good(reply_wait(next, Message::default()))?.handle;
    }
    fails(reply(kept, Message::default()), Error::BadHandle)
}

/// A thread that waits to send by its own capability, and that capability's slot.
fn queued_caller(bed: &mut Bed) -> Result<Word, Why> {
    let (slot, badged) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, badged, Rights::CALL, 0x11))?;
    let made = good(thread::spawn(caller, badged, slot))?;
    while good(made.state())? != 3 {
        good(yield_now())?;
    }
    Ok(badged)
}

fn a_queued_send(bed: &mut Bed) -> Result<(), Why> {
    let badged = queued_caller(bed)?;
    good(delete(badged))?;
    fails(macadamia::ipc::poll(), Error::WouldBlock)?;
    check("NoCapability", outcome()? == Error::NoCapability as Word)
}

fn a_queued_send_with_another(bed: &mut Bed) -> Result<(), Why> {
    let badged = queued_caller(bed)?;
    good(delete(badged))?;
    good(copy(SELF.0, None, badged, Rights::CALL, 0x12))?;
    fails(macadamia::ipc::poll(), Error::WouldBlock)?;
    check("NoCapability", outcome()? == Error::NoCapability as Word)
}

fn a_handle_is_good_once(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    good(thread::spawn(caller, SELF.0, slot))?;
    let r = good(receive(None))?;
    good(reply(r.handle, Message::new([7, 0, 0])))?;
    fails(reply(r.handle, Message::new([8, 0, 0])), Error::BadHandle)
}

fn many_handles(bed: &mut Bed) -> Result<(), Why> {
    const COUNT: usize = 12;
    HANDLE.store(0, Ordering::Relaxed);
    let mut handles = [0; COUNT];
    for handle in &mut handles {
        let slot = bed.slot();
        good(thread::spawn(caller, SELF.0, slot))?;
        *handle = good(receive(None))?.handle;
    }
    for handle in handles.iter().rev() {
        good(reply(*handle, Message::new([9, 0, 0])))?;
    }
    while HANDLE.load(Ordering::Relaxed) != COUNT as u32 {
        good(yield_now())?;
    }
    Ok(())
}

extern "C" fn replier(handle: Word) -> ! {
    let status = reply(handle, Message::new([77, 0, 0]));
    SHARED.store(u32::from(status.is_ok()) + 100, Ordering::Relaxed);
    loop {
        let _ = receive(None);
    }
}

fn another_thread_may_reply(bed: &mut Bed) -> Result<(), Why> {
    let (a, b) = (bed.slot(), bed.slot());
    HANDLE.store(0, Ordering::Relaxed);
    good(thread::spawn(caller, SELF.0, a))?;
    let r = good(receive(None))?;
    good(thread::spawn(replier, r.handle, b))?;
    while HANDLE.load(Ordering::Relaxed) == 0 {
        good(yield_now())?;
    }
    check("the reply arrived", KIND.load(Ordering::Relaxed) == 1077)
}

fn closed_receive(bed: &mut Bed) -> Result<(), Why> {
    let (a, b) = (bed.slot(), bed.slot());
    let first = good(thread::spawn(caller, SELF.0, a))?;
    let second = good(thread::spawn(caller, SELF.0, b))?;
    while good(first.state())? != 3 || good(second.state())? != 3 {
        good(yield_now())?;
    }
    let from_second = good(receive(Some(second)))?;
    check("the second was called second", from_second.words[0] == 1)?;
    check("the first still waits", good(first.state())? == 3)?;
    good(reply(from_second.handle, Message::default()))?;
    let from_first = good(receive(None))?;
    good(reply(from_first.handle, Message::default()))
}

fn a_capability_arrives(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    let slot = bed.slot();
    utcb::set_receive_slot(slot as u32);
    let answer = good(call(to, Message::new([GIVE, 0, 0])))?;
    check("one capability", answer.caps == 1)?;
    let [_, rights, _] = good(identify(slot))?;
    check("with the rights that were given", rights == Rights::CALL.0 as Word)
}

fn occupied_receive_slot(bed: &mut Bed) -> Result<(), Why> {
    let (own, peer) = (bed.slot(), bed.slot());
    let receiver = good(thread::spawn(server, 0, peer))?;
    good(copy(SELF.0, None, own, Rights::ALL, 0))?;
    while good(receiver.state())? != 2 {
        good(yield_now())?;
    }
    // The server's receive slot is 0, which nothing can be put into.
    utcb::set_send_cap(0, CapItem::new(own, Rights::ALL));
    fails(call(receiver, Message { words: [ECHO, 0, 0], count: 3, caps: 1 }), Error::CapTransfer)?;
    check(
        "the receiver goes on",
        call(receiver, Message::new([ECHO, 5, 6])).is_ok_and(|r| r.words == [ECHO, 5, 6]),
    )
}

/// A thread that waits for `to`'s reply, which keeps the handle.
fn wait_for(bed: &mut Bed, to: Thread) -> Result<Thread, Why> {
    SHARED.store(KEEP as u32, Ordering::Relaxed);
    HANDLE.store(0, Ordering::Relaxed);
    let slot = bed.slot();
    let made = good(thread::spawn(caller, to.0, slot))?;
    while good(made.state())? != 4 {
        good(yield_now())?;
    }
    Ok(made)
}

fn outcome() -> Result<Word, Why> {
    // The server has changed HANDLE when it stored the caller's handle.
    let before = HANDLE.load(Ordering::Relaxed);
    for _ in 0..1000 {
        if HANDLE.load(Ordering::Relaxed) != before {
            break;
        }
        good(yield_now())?;
    }
    Ok(KIND.load(Ordering::Relaxed) as Word)
}

fn reset_fails_waiting_callers(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    wait_for(bed, to)?;
    good(to.reset(SPACE, None))?;
    check("PeerRestarted", outcome()? == Error::PeerRestarted as Word)?;
    check("stopped", good(to.state())? == 0)
}

fn deletion_fails_waiting_callers(bed: &mut Bed) -> Result<(), Why> {
    let to = serve(bed)?;
    wait_for(bed, to)?;
    good(delete(to.0))?;
    check("PeerGone", outcome()? == Error::PeerGone as Word)
}

fn a_thread_without_space(bed: &mut Bed) -> Result<(), Why> {
    let (space, slot) = (bed.slot(), bed.slot());
    let made = good(QUOTA.create_space(8, space))?;
    let (thread, _) = good(QUOTA.create_thread(made, slot, None))?;
    good(delete(space))?;
    fails(call(thread, Message::default()), Error::PeerGone)
}

fn urgent_senders_come_first(bed: &mut Bed) -> Result<(), Why> {
    let mut threads = [None; 3];
    for (i, thread) in threads.iter_mut().enumerate() {
        let slot = bed.slot();
        let made = good(thread::spawn(caller, SELF.0, slot))?;
        while good(made.state())? != 3 {
            good(yield_now())?;
        }
        // The last to come is the most urgent.
        good(made.set_priority(50 + i as Word, 50))?;
        *thread = Some(made);
    }
    let mut order = [0; 3];
    for entry in &mut order {
        let r = good(receive(None))?;
        *entry = r.words[0];
        good(reply(r.handle, Message::default()))?;
    }
    check("by priority", order == [2, 1, 0])
}
