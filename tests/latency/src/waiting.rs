// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many threads that wait for one thread, or for the same moment.

use crate::code::Code;
use crate::{Bed, CONTROL, CROWD, Case, QUOTA, SELF, SPACE, URGENT, expect, pause};
use abi::utcb::{CapItem, Utcb};
use abi::{Error, Op, Tag, Word};
use core::mem::offset_of;
use macadamia::alien::Alien;
use macadamia::cap::delete;
use macadamia::interval::case;
use macadamia::{Result, Thread, ipc, time, utcb};

pub const CASES: &[Case] = &[
    ("misfits", misfits),
    ("priorities", priorities),
    ("alarms", alarms),
    ("reset", reset),
    ("death", death),
    ("death_of_a_replier", death_of_a_replier),
    ("death_of_an_alien", death_of_an_alien),
    ("utcb_slots", utcb_slots),
];

/// States of [`Op::ThreadInfo`].
const RECEIVES: Word = 2;
const SENDS: Word = 3;
const AWAITS_REPLY: Word = 4;

/// A thread that never runs.
fn target(bed: &mut Bed) -> Result<Thread> {
    QUOTA.create_thread(SPACE, bed.slot(), None).map(|(thread, _)| thread)
}

fn send_to(target: Thread) -> Code {
    Code::call(Op::Send, [target.0, 0, 0, 0])
}

/// Senders of a capability for which the receiver has no room.
fn misfits(bed: &mut Bed) -> Result<()> {
    let item = CapItem::new(QUOTA.0, CONTROL).0;
    bed.gather(
        &Code::default()
            .set(offset_of!(Utcb, send_caps), item)
            .then(Tag::new(Op::Send, 0, 1), [SELF.0, 0, 0, 0]),
        SENDS,
    )?;
    utcb::set_receive_slot(QUOTA.0 as u32);
    case("misfits.receive");
    expect(ipc::poll().err() == Some(Error::WouldBlock))
}

/// A more urgent thread comes after all others, becomes less urgent and more urgent again.
fn priorities(bed: &mut Bed) -> Result<()> {
    let (target, late) = (target(bed)?, target(bed)?);
    bed.gather(&send_to(target), SENDS)?;
    late.set_priority(URGENT + 5, URGENT)?;
    case("priorities.join");
    bed.start(late, &send_to(target), 0)?;
    expect(late.state()? == SENDS)?;
    case("priorities.change");
    late.set_priority(URGENT - 5, URGENT)?;
    late.set_priority(URGENT + 5, URGENT)
}

/// All alarms are due at the same moment; then one is set that is due later, and one that is due
/// earlier.
fn alarms(bed: &mut Bed) -> Result<()> {
    const BIT: Word = 1;
    const MILLISECOND: u64 = 1_000_000;
    let at = time::now() + 200 * MILLISECOND;
    let wait = Tag(Tag::new(Op::Receive, 0, 0).0 | Tag::NOTIFICATIONS_ONLY);
    let alarm = Tag::new(Op::Alarm, 0, 0);
    let code = Code::default()
        .set(offset_of!(Utcb, accept), BIT as u32)
        .then(alarm, [at as u32 as Word, (at >> 32) as Word, BIT, 0]);
    bed.gather(&code.then(wait, [0; 4]), RECEIVES)?;
    case("alarms.set");
    time::alarm(at + MILLISECOND, BIT)?;
    time::alarm(at - MILLISECOND, BIT)?;
    expect(time::now() < at)?;
    case("alarms.due");
    pause(at + MILLISECOND - time::now())
}

fn reset(bed: &mut Bed) -> Result<()> {
    let target = target(bed)?;
    bed.gather(&send_to(target), SENDS)?;
    case("reset.reset");
    target.reset(SPACE, None).map(|_| ())
}

fn death(bed: &mut Bed) -> Result<()> {
    let target = target(bed)?;
    bed.gather(&send_to(target), SENDS)?;
    case("death.delete");
    delete(target.0)
}

/// The thread that it has received from waits for its reply.
fn death_of_a_replier(bed: &mut Bed) -> Result<()> {
    let target = target(bed)?;
    target.set_priority(URGENT, URGENT)?;
    let receive = Code::call(Op::Receive, [0; 4]);
    let call = Code::call(Op::Call, [target.0, 0, 0, 0]);
    bed.meet(target, &receive, &call, AWAITS_REPLY)?;
    case("death_of_a_replier.delete");
    delete(target.0)
}

/// Of an alien only its queue is walked.
fn death_of_an_alien(bed: &mut Bed) -> Result<()> {
    let space = QUOTA.create_space(0, bed.slot())?;
    let (alien, _) = Alien::create(QUOTA, space, bed.slot(), SELF)?;
    bed.gather(&send_to(alien.thread), SENDS)?;
    case("death_of_an_alien.delete");
    delete(alien.thread.0)
}

/// Nearly as many threads as a Space has room for.
fn utcb_slots(bed: &mut Bed) -> Result<()> {
    (CROWD..abi::utcb::SLOTS - 8).try_for_each(|_| target(bed).map(|_| ()))
}
