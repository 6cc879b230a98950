// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notification bits, their mirror, alarms.

use crate::{Bed, Case, SELF, SHARED, Why, check, fails, good};
use abi::{MessageKind, Rights, Word};
use core::sync::atomic::Ordering;
use macadamia::cap::copy;
use macadamia::ipc::{Message, poll, receive, reply, wait};
use macadamia::{Error, Thread, thread, time, utcb};

pub const CASES: &[Case] = &[
    ("the_badge_is_the_bits", the_badge_is_the_bits),
    ("the_mirror_shows_bits_without_a_call", the_mirror),
    ("bits_that_are_not_accepted_stay", bits_not_accepted_stay),
    ("bits_come_before_messages", bits_before_messages),
    ("notifications_only_leaves_messages", notifications_only),
    ("notify_needs_the_right", notify_needs_the_right),
    ("an_alarm_comes_when_it_is_due", an_alarm_comes),
    ("an_alarm_in_the_past_comes_at_once", an_alarm_in_the_past),
    ("a_cancelled_alarm_does_not_come", a_cancelled_alarm),
    ("a_new_alarm_replaces_the_old", a_new_alarm_replaces),
];

fn with_bits(bed: &mut Bed, bits: Word) -> Result<Thread, Why> {
    let slot = bed.slot();
    good(copy(SELF.0, None, slot, Rights::NOTIFY, bits))?;
    Ok(Thread(slot))
}

fn the_badge_is_the_bits(bed: &mut Bed) -> Result<(), Why> {
    let (a, b) = (with_bits(bed, 0b101)?, with_bits(bed, 0b1_0000)?);
    good(a.notify())?;
    good(b.notify())?;
    good(a.notify())?;
    check("bits of both", good(wait(u32::MAX))? == 0b1_0101)?;
    check("taken", utcb::pending() == 0)
}

fn the_mirror(bed: &mut Bed) -> Result<(), Why> {
    let bit = with_bits(bed, 2)?;
    check("clear before", utcb::pending() == 0)?;
    good(bit.notify())?;
    check("set", utcb::pending() == 2)?;
    good(wait(2))?;
    check("clear afterwards", utcb::pending() == 0)
}

fn bits_not_accepted_stay(bed: &mut Bed) -> Result<(), Why> {
    let bit = with_bits(bed, 4)?;
    good(bit.notify())?;
    utcb::accept(3);
    fails(poll(), Error::WouldBlock)?;
    check("still there", utcb::pending() == 4)?;
    check("accepted later", good(wait(4))? == 4)
}

extern "C" fn caller(to: Word) -> ! {
    let _ = macadamia::ipc::call(Thread(to), Message::new([5, 0, 0]));
    SHARED.store(1, Ordering::Relaxed);
    loop {
        let _ = receive(None);
    }
}

fn queued_caller(bed: &mut Bed) -> Result<Thread, Why> {
    let slot = bed.slot();
    let made = good(thread::spawn(caller, SELF.0, slot))?;
    while good(made.state())? != 3 {
        good(crate::object::yield_now())?;
    }
    Ok(made)
}

fn bits_before_messages(bed: &mut Bed) -> Result<(), Why> {
    let bit = with_bits(bed, 8)?;
    queued_caller(bed)?;
    good(bit.notify())?;
    utcb::accept(8);
    let first = good(receive(None))?;
    check("bits", first.kind == MessageKind::Notification && first.words[0] == 8)?;
    let second = good(receive(None))?;
    check("message", second.kind == MessageKind::Call && second.words[0] == 5)?;
    good(reply(second.handle, Message::default()))
}

fn notifications_only(bed: &mut Bed) -> Result<(), Why> {
    let thread = queued_caller(bed)?;
    good(time::alarm(time::now() + 1_000_000, 16))?;
    check("the alarm", good(wait(16))? == 16)?;
    check("the caller still waits", good(thread.state())? == 3)?;
    let message = good(receive(None))?;
    good(reply(message.handle, Message::default()))
}

fn notify_needs_the_right(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    good(copy(SELF.0, None, slot, Rights::CALL, 1))?;
    fails(Thread(slot).notify(), Error::NoRight)
}

fn an_alarm_comes(_: &mut Bed) -> Result<(), Why> {
    // A machine that was stopped is late without the kernel's fault, but not each time.
    for _ in 0..10 {
        let due = time::now() + 20_000_000;
        good(time::alarm(due, 32))?;
        check("bits", good(wait(32))? == 32)?;
        let now = time::now();
        check("not early", now >= due)?;
        if now < due + 10_000_000 {
            return Ok(());
        }
    }
    check("not late", false)
}

fn an_alarm_in_the_past(_: &mut Bed) -> Result<(), Why> {
    good(time::alarm(1, 64))?;
    check("pending", utcb::pending() == 64)?;
    check("delivered", good(wait(64))? == 64)
}

fn a_cancelled_alarm(_: &mut Bed) -> Result<(), Why> {
    // A machine that was stopped between the two is too late to cancel, but not each time.
    for _ in 0..10 {
        let due = time::now() + 2_000_000;
        good(time::alarm(due, 128))?;
        good(time::alarm(0, 0))?;
        if time::now() < due {
            while time::now() < due + 8_000_000 {}
            return check("nothing came", utcb::pending() == 0);
        }
        if utcb::pending() != 0 {
            good(wait(128))?;
        }
    }
    check("cancelled in time", false)
}

fn a_new_alarm_replaces(_: &mut Bed) -> Result<(), Why> {
    good(time::alarm(time::now() + 3_600_000_000_000, 256))?;
    good(time::alarm(time::now() + 2_000_000, 512))?;
    check("only the new one", good(wait(256 | 512))? == 512)?;
    good(time::alarm(0, 0))
}
