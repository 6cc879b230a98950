// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's state besides its registers: the thread pointer. And what must not pass to another
//! thread: registers, flags, and the instruction set.

use crate::exception::{BADGE, DATA, WHOLE, create, launch, next};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, fails, fill, good};
use abi::frame::vector;
use abi::state::THREAD_POINTER;
use abi::{Error, Frame, Op, Rights, Tag, call};
use macadamia::cap::{copy, set_frame};
use macadamia::ipc::reply_wait;
use macadamia::map::map;
use macadamia::{Thread, sys, utcb};
use processor::{INVALID_BYTES, Words, code, set_thread_pointer};

pub const CASES: &[Case] = &[
    ("a_thread_starts_with_its_utcb_and_argument", start),
    ("a_thread_pointer_works", thread_pointer),
    ("a_thread_pointer_works_when_set_state_returns", own_thread_pointer),
    ("thread_pointers_stay_with_their_threads", in_turn),
    ("set_state_returns_the_one_before", returned),
    ("a_started_thread_has_no_thread_pointer", started),
    ("parts_that_are_not_there_are_refused", refused),
    ("each_register_stays_with_its_thread", registers),
];

fn start(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code::invalid());
    let (handler, slot) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, handler, Rights::CALL, BADGE))?;
    let (thread, bound) = good(QUOTA.create_thread(SPACE, slot, None))?;
    good(thread.set_handler(Some(Thread(handler))))?;
    check("a slot of this space", bound.utcb & !0xf_ffff == utcb::address() & !0xf_ffff)?;
    good(thread.start(ADDRESS, DATA + PAGE, 0x7777))?;
    let (_, f) = next()?;
    let mut expected = [0; 13];
    expected[..2].copy_from_slice(&[bound.utcb, 0x7777]);
    check("r0, r1 and zeros", f.r == expected && f.lr == 0)?;
    check("its stack", f.sp == DATA + PAGE)?;
    check("user mode", f.cpsr == 0x10)
}

/// Reads its thread pointer to r2, and raises an exception; repeatedly.
fn reader() -> macadamia::alloc::vec::Vec<u8> {
    [code::thread_pointer(), code::invalid(), code::thread_pointer(), code::invalid()].concat()
}

fn thread_pointer(bed: &mut Bed) -> Result<(), Why> {
    let thread = launch(bed, &reader())?;
    let (r, mut f) = next()?;
    check("none at first", r.words[0] == vector::UNDEFINED && f.r[2] == 0)?;
    good(set_thread_pointer(thread, 0x1234_5678))?;
    f.skip_invalid();
    set_frame(&f);
    good(reply_wait(r.handle, WHOLE))?;
    check("as it was set", macadamia::cap::frame().r[2] == 0x1234_5678)
}

/// A thread sets its own, by a capability to itself.
fn own_thread_pointer(bed: &mut Bed) -> Result<(), Why> {
    const OWN: u32 = 1;
    let slot = bed.slot();
    let space = good(QUOTA.create_space(4, slot))?;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights(3)))?;
    let call = code::native_call([Tag::new(Op::SetState, 0, 0).0, OWN, THREAD_POINTER, 0x5eed, 0]);
    fill(ADDRESS, PAGE, &[&call[..], code::thread_pointer(), code::invalid()].concat());
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    let thread = create(bed, space)?;
    good(copy(thread.0, Some(space), OWN, Rights::CONTROL, 0))?;
    good(thread.start(ADDRESS, DATA, 0))?;
    let (r, f) = next()?;
    check("it reads it", r.words[0] == vector::UNDEFINED && f.r[2] == 0x5eed)
}

fn in_turn(bed: &mut Bed) -> Result<(), Why> {
    let first = launch(bed, &reader())?;
    let (r, mut f) = next()?;
    good(set_thread_pointer(first, 0x1111_1111))?;
    let second = launch(bed, &reader())?;
    let (s, mut g) = next()?;
    check("the second has none", g.r[2] == 0)?;
    good(set_thread_pointer(second, 0x2222_2222))?;
    for (handle, frame, expected) in
        [(r.handle, &mut f, 0x1111_1111), (s.handle, &mut g, 0x2222_2222)]
    {
        frame.skip_invalid();
        set_frame(frame);
        good(reply_wait(handle, WHOLE))?;
        check("its own", macadamia::cap::frame().r[2] == expected)?;
    }
    Ok(())
}

fn set(thread: Thread, value: u32) -> Result<u32, Why> {
    good(sys::call(call::SetState {
        thread: thread.into(),
        part: THREAD_POINTER,
        values: [value, 0],
    }))
    .map(|[before, _, _]| before)
}

fn returned(bed: &mut Bed) -> Result<(), Why> {
    let thread = create(bed, SPACE)?;
    check("none", set(thread, 5)? == 0)?;
    check("the one before", set(thread, 6)? == 5 && set(thread, 0)? == 6)?;
    let before = set(SELF, 0x77)?;
    check("the own", set(SELF, before)? == 0x77)
}

fn started(bed: &mut Bed) -> Result<(), Why> {
    let thread = launch(bed, &reader())?;
    next()?;
    set(thread, 0x3333)?;
    good(thread.stop())?;
    good(thread.start(ADDRESS, DATA, 0))?;
    let (r, f) = next()?;
    check("none", r.words[0] == vector::UNDEFINED && f.r[2] == 0)
}

fn refused(bed: &mut Bed) -> Result<(), Why> {
    let thread = create(bed, SPACE)?;
    for part in [1, 2, 16, 23, u32::MAX] {
        fails(
            sys::call(call::SetState { thread: thread.into(), part, values: [0, 0] }),
            Error::BadArgument,
        )?;
    }
    Ok(())
}

/// Two threads with all registers different, in turn.
fn registers(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, &[code::invalid(), code::invalid(), code::invalid()].concat());
    let frame_of = |of: u32| Frame {
        r: core::array::from_fn(|i| of << 8 | i as u32),
        sp: of << 8 | 13,
        lr: of << 8 | 14,
        pc: ADDRESS,
        cpsr: of << 28 | 0x10,
        ..Frame::default()
    };
    let mut waiting = [(0, Frame::default()); 2];
    for (of, entry) in (1..).zip(&mut waiting) {
        let thread = create(bed, SPACE)?;
        good(thread.set_registers(&frame_of(of), true))?;
        let (r, f) = next()?;
        *entry = (r.handle, f);
    }
    for _ in 0..2 {
        for (of, (handle, f)) in (1..).zip(&mut waiting) {
            let expected = Frame { pc: f.pc, vector: vector::UNDEFINED, ..frame_of(of) };
            check("its own registers", Frame { error: 0, address: 0, ..*f } == expected)?;
            f.skip_invalid();
            set_frame(f);
            *handle = good(reply_wait(*handle, WHOLE))?.handle;
            let pc = f.pc;
            *f = macadamia::cap::frame();
            check("at the next instruction", f.pc == pc && pc <= ADDRESS + 2 * INVALID_BYTES)?;
        }
    }
    Ok(())
}
