// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens: what only ARM has.

use crate::alien::{CODE, DATA, clear, launch, write, written};
use crate::exception::WHOLE;
use crate::{Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, check, fill, good};
use abi::frame::vector;
use abi::{Error, Frame, Rights};
use core::mem::offset_of;
use macadamia::ipc::{reply, run};
use macadamia::map::map;
use macadamia::{MessageKind, time, utcb};
use processor::{PC, code, set_thread_pointer};

pub const CASES: &[Case] = &[
    ("swi_tells_its_number", numbered),
    ("swi_in_thumb_state_arrives", thumb),
    ("its_thread_pointer_works", thread_pointer),
    ("its_compare_and_exchange_is_never_interrupted", interrupted_helper),
    ("a_frame_goes_on_in_thumb_state", goes_on_in_thumb_state),
    ("hostile_frames_do_no_harm", hostile),
    ("each_register_is_kept", each_register),
    ("registers_in_another_spaces_utcbs_are_kept", elsewhere),
];

const STATUS: usize = offset_of!(Frame, cpsr);
const ERROR: usize = offset_of!(Frame, error);
const THUMB: u32 = 0x20;
/// Mode, T, F and I of the status.
const CONTROL: u32 = 0xff;
const USER: u32 = 0x10;

const fn register(number: usize) -> usize {
    offset_of!(Frame, r) + 4 * number
}

fn numbered(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, &[code::numbered_call(), code::system_call()].concat())?;
    let r = alien.run(alien.bound.handle)?;
    check("its number", r.words[0] == vector::SYSTEM_CALL && alien.word(ERROR) == 0x12_3456)?;
    let r = alien.run(r.handle)?;
    check("the number 0", r.words[0] == vector::SYSTEM_CALL && alien.word(ERROR) == 0)
}

fn thumb(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, code::thumb_call())?;
    alien.set(STATUS, THUMB);
    let r = alien.run(alien.bound.handle)?;
    check("a system call", r.words[0] == vector::SYSTEM_CALL && alien.word(ERROR) == 1)?;
    check(
        "after the instruction",
        alien.word(PC) == CODE + 4 && alien.word(STATUS) & CONTROL == USER | THUMB,
    )?;
    check("its register", alien.word(register(7)) == 20)
}

fn thread_pointer(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(
        bed,
        &[code::thread_pointer(), code::system_call(), code::thread_pointer(), code::system_call()]
            .concat(),
    )?;
    good(set_thread_pointer(alien.thread, 0x5eed_0000))?;
    let r = alien.run(alien.bound.handle)?;
    check(
        "as it was set",
        r.words[0] == vector::SYSTEM_CALL && alien.word(register(2)) == 0x5eed_0000,
    )?;
    good(set_thread_pointer(alien.thread, 0x5eed_1111))?;
    alien.run(r.handle)?;
    check("as it was set again", alien.word(register(2)) == 0x5eed_1111)
}

/// Its handler's domains do not open the memory of its registers. (They are zero at first, so it
/// begins at 0.)
fn elsewhere(bed: &mut Bed) -> Result<(), Why> {
    let [home, runs_in, slot] = [(); 3].map(|()| bed.slot());
    let (home, runs_in) =
        (good(QUOTA.create_space(4, home))?, good(QUOTA.create_space(0, runs_in))?);
    good(map(SPACE, CODE, bed.ram, 0, PAGE, Rights(3)))?;
    fill(
        CODE,
        PAGE,
        &[code::system_call(), code::system_call(), code::system_call(), code::invalid()].concat(),
    );
    good(map(runs_in, 0, bed.ram, 0, PAGE, Rights::READ))?;
    let (alien, bound) = good(QUOTA.create_thread(runs_in, slot, Some(home)))?;
    good(alien.set_handler(Some(SELF)))?;
    let mut handle = bound.handle;
    for event in [vector::SYSTEM_CALL, vector::SYSTEM_CALL, vector::SYSTEM_CALL, vector::UNDEFINED]
    {
        let r = good(run(handle))?;
        check("its next event", r.words[0] == event)?;
        handle = r.handle;
    }
    Ok(())
}

/// The addresses of the helper's start, and after its store.
const HELPER: u32 = 0xffff_0fc0;
const HELPER_END: u32 = 0xffff_0fcc;
/// How often it is interrupted, and what the handler adds to the word each time.
const TIMES: u32 = 400;
const STEP: u32 = 0x1_0000;

/// An alien adds to a word by compare and exchange, and its handler adds to it whenever it
/// interrupts it: nothing is lost.
fn interrupted_helper(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, code::counts_atomically())?;
    alien.set(register(1), DATA);
    good(map(alien.space, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    clear(bed)?;
    let mut handle = alien.bound.handle;
    utcb::accept(1);
    for time in 0..TIMES {
        good(time::alarm(time::now() + 100_000 + u64::from(time) * 37, 1))?;
        let r = good(run(handle))?;
        check("interrupted", r.kind == MessageKind::Interrupted)?;
        let pc = alien.word(PC);
        check("not within the helper", !(HELPER + 1..HELPER_END).contains(&pc))?;
        let word = written(&alien, bed)?;
        write(bed, word + STEP)?;
        handle = r.handle;
    }
    let (word, own) = (written(&alien, bed)?, alien.word(register(5)));
    // It may have exchanged the word and not counted that yet.
    check("nothing is lost", word.wrapping_sub(TIMES * STEP).wrapping_sub(own) <= 1)?;
    check("it counted", own > TIMES)
}

fn goes_on_in_thumb_state(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, &[code::system_call(), code::thumb_call()].concat())?;
    let r = alien.run(alien.bound.handle)?;
    check("in ARM state", alien.word(STATUS) & CONTROL == USER)?;
    alien.set(STATUS, alien.word(STATUS) | THUMB);
    let r = alien.run(r.handle)?;
    check(
        "in Thumb state",
        r.words[0] == vector::SYSTEM_CALL
            && alien.word(PC) == CODE + 8
            && alien.word(STATUS) & THUMB != 0,
    )
}

fn hostile(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, &[code::read_status(), code::system_call()].concat())?;
    let mut handle = alien.bound.handle;
    for mode in 0..32 {
        alien.set(PC, CODE | mode & 3);
        alien.set(STATUS, 0xffff_ffc0 | mode);
        alien.set(offset_of!(Frame, changed), u32::MAX);
        let r = alien.run(handle)?;
        check("its system call", r.words[0] == vector::SYSTEM_CALL && alien.word(PC) == CODE + 8)?;
        check(
            "user mode, interrupts on",
            alien.word(register(2)) & CONTROL == USER && alien.word(STATUS) & CONTROL == USER,
        )?;
        check("nothing is changed any more", alien.word(offset_of!(Frame, changed)) == 0)?;
        handle = r.handle;
    }
    // A program counter in the kernel's addresses faults at once.
    alien.set(PC, 0xe010_0000);
    let r = alien.run(handle)?;
    check("a fetch", r.words[..2] == [vector::PAGE_FAULT, 0xe010_0000])?;
    check(
        "the handle cannot be used twice",
        reply(alien.bound.handle, WHOLE) == Err(Error::BadHandle),
    )
}

/// Everything that a handler writes is loaded, and returned with the next event.
fn each_register(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, code::system_calls())?;
    let mut handle = alien.run(alien.bound.handle)?.handle;
    let all: [usize; 15] = core::array::from_fn(register);
    for round in 1..4u32 {
        all.iter().zip(1..).for_each(|(offset, i)| alien.set(*offset, round << 16 | i));
        alien.set(STATUS, round << 28);
        let r = alien.run(handle)?;
        check("a system call", r.words[0] == vector::SYSTEM_CALL)?;
        check(
            "its registers",
            all.iter().zip(1..).all(|(offset, i)| alien.word(*offset) == round << 16 | i),
        )?;
        check("its flags", alien.word(STATUS) == round << 28 | USER)?;
        handle = r.handle;
    }
    Ok(())
}
