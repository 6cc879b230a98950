// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aliens: threads of which every kernel entry is a message to their handler; and the receive mode
//! `run`.

use crate::{
    ADDRESS, Bed, Case, PAGE, QUOTA, SELF, SPACE, Why, bytes, cache, check, fails, fill, good, own,
};
use abi::frame::{Frame, fault, vector};
use abi::{CacheOp, Delivery, MapRecord, MessageKind, Op, Rights, Tag, Word};
use core::mem::offset_of;
use macadamia::cap::{Bound, copy};
use macadamia::ipc::{Received, map_run, run};
use macadamia::map::{map, unmap};
use macadamia::{Error, Space, Thread, start, sys, time, utcb};
use processor::{ARGUMENTS, INVALID, NUMBER, PC, RESULT, SP, WRITE_MISSED, WRITE_REFUSED, code};

pub const CASES: &[Case] = &[
    (own::SYSTEM_CALL_CASE, system_call),
    ("a_page_fault_arrives", page_fault),
    ("an_exception_arrives", exception),
    ("the_alien_sees_what_the_handler_wrote", handler_writes),
    ("a_notification_interrupts_run", notification_interrupts),
    ("pending_bits_come_before_the_alien_runs", pending_bits),
    ("run_wants_an_aliens_handle", |_| fails(run(0x1_0000), Error::BadHandle)),
    ("an_answer_maps_and_runs", answer_maps),
    ("an_answer_replaces_a_page", answer_replaces),
    ("an_answer_has_up_to_16_records", answer_of_many),
    ("an_answer_whose_record_fails_runs_nothing", answer_fails),
    ("an_answer_to_nobody_maps_nothing", answer_to_nobody),
    ("an_answer_is_interrupted_behind_its_records", answer_interrupted),
    ("run_fails_when_the_alien_halts", |bed| {
        let alien = launch(bed, code::invalid())?;
        good(alien.thread.set_handler(None))?;
        fails(run(alien.bound.handle), Error::BadState)
    }),
];

/// The address of the code in the alien's space; a page of data is after it.
pub const CODE: Word = 0x0804_8000;
pub const DATA: Word = CODE + PAGE;

pub struct Alien {
    pub thread: Thread,
    pub bound: Bound,
    pub space: Space,
}

impl Alien {
    /// A word of its UTCB slot, where its registers are.
    pub fn word(&self, offset: usize) -> Word {
        let bytes = size_of::<Word>() as Word;
        let at = start::bytes(self.bound.utcb + offset as Word, bytes);
        at.try_into().map_or(0, Word::from_ne_bytes)
    }
    pub fn set(&self, offset: usize, value: Word) {
        let bytes = value.to_ne_bytes();
        start::fill(self.bound.utcb + offset as Word, bytes.len() as Word, &bytes);
    }
    pub fn run(&self, handle: Word) -> Result<Received, Why> {
        let r = good(run(handle))?;
        check("an alien's event", r.kind == MessageKind::Alien)?;
        Ok(r)
    }
}

/// An alien that is about to run `code` with a stack and a data page.
pub fn launch(bed: &mut Bed, code: &[u8]) -> Result<Alien, Why> {
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code);
    let (space, thread, handler) = (bed.slot(), bed.slot(), bed.slot());
    let space = good(QUOTA.create_space(0, space))?;
    good(map(space, CODE, bed.ram, 0, PAGE, Rights(5)))?;
    good(map(space, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    good(copy(SELF.0, None, handler, Rights::CALL, 5))?;
    let (thread, bound) = good(QUOTA.create_thread(space, thread, Some(SPACE)))?;
    good(thread.set_handler(Some(Thread(handler))))?;
    // It runs below its handler, as a Linux process does.
    good(thread.set_priority(90, 90))?;
    let alien = Alien { thread, bound, space };
    alien.set(PC, CODE);
    alien.set(SP, DATA + PAGE);
    Ok(alien)
}

/// Checks that the alien has its page fault at DATA now.
fn faulted(bed: &mut Bed) -> Result<(Alien, Word), Why> {
    let alien = launch(bed, code::writes_seven())?;
    alien.set(ARGUMENTS[0], DATA);
    good(unmap(alien.space, DATA, PAGE))?;
    let r = alien.run(alien.bound.handle)?;
    check("a page fault", r.words[0] == vector::PAGE_FAULT && r.words[1] == DATA)?;
    Ok((alien, r.handle))
}

/// The first word of the second page of RAM, to which the alien wrote.
pub fn written(alien: &Alien, bed: &Bed) -> Result<u32, Why> {
    cache(alien.space, DATA, PAGE, CacheOp::CleanAndInvalidate)?;
    good(map(SPACE, ADDRESS + PAGE, bed.ram, PAGE, PAGE, Rights::READ))?;
    Ok(u32::from_ne_bytes(bytes(ADDRESS + PAGE, 4).try_into().unwrap_or_default()))
}

/// Writes that word.
pub fn write(bed: &Bed, word: u32) -> Result<(), Why> {
    good(map(SPACE, ADDRESS + PAGE, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(ADDRESS + PAGE, 4, &word.to_ne_bytes());
    Ok(())
}

/// Makes it zero.
pub fn clear(bed: &Bed) -> Result<(), Why> {
    write(bed, 0)
}

fn data_page(alien: &Alien, bed: &Bed, rights: Rights) -> MapRecord {
    MapRecord::new(MapRecord::MAP, alien.space.0, DATA, bed.ram.0, PAGE, PAGE, rights)
}

fn answer_maps(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let r = good(map_run(handle, &[data_page(&alien, bed, Rights(3))]))?;
    check("its system call", r.kind == MessageKind::Alien && r.words[0] == vector::SYSTEM_CALL)?;
    check("what it wrote", written(&alien, bed)? == 7)
}

fn answer_replaces(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let r = good(map_run(handle, &[data_page(&alien, bed, Rights::READ)]))?;
    check(
        "a fault again, of a page that is there",
        r.words == [vector::PAGE_FAULT, DATA, WRITE_REFUSED],
    )?;
    let r = good(map_run(r.handle, &[data_page(&alien, bed, Rights(3))]))?;
    check("its system call", r.words[0] == vector::SYSTEM_CALL)?;
    check("what it wrote", written(&alien, bed)? == 7)
}

fn answer_of_many(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let mut records = [data_page(&alien, bed, Rights(3)); 17];
    for (record, page) in records.iter_mut().zip(1..16) {
        *record = MapRecord::new(
            MapRecord::MAP,
            alien.space.0,
            DATA + page * PAGE,
            bed.ram.0,
            PAGE,
            PAGE,
            Rights::READ,
        );
    }
    fails(map_run(handle, &records), Error::BadArgument)?;
    fails(map_run(handle, &[]), Error::BadArgument)?;
    let r = good(map_run(handle, &records[..16]))?;
    check("its system call", r.words[0] == vector::SYSTEM_CALL)?;
    check("what it wrote", written(&alien, bed)? == 7)
}

fn answer_fails(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let good_one = data_page(&alien, bed, Rights(3));
    let bad = MapRecord::new(MapRecord::MAP, alien.space.0, DATA, 999, PAGE, PAGE, Rights(3));
    let elsewhere = MapRecord::new(
        MapRecord::MAP,
        alien.space.0,
        DATA + PAGE,
        bed.ram.0,
        PAGE,
        PAGE,
        Rights(3),
    );
    fails(map_run(handle, &[bad]), Error::NoCapability)?;
    let words = [elsewhere, elsewhere, bad, good_one].into_iter().flat_map(|record| record.0);
    words.enumerate().for_each(|(i, word)| utcb::set_word(i, word));
    let mut registers = sys::registers([Tag::new(Op::MapRun, 0, 0).0 as Word, handle, 4, 0, 0]);
    sys::raw(&mut registers);
    check(
        "the third failed",
        Delivery(registers[0] as u32).error() == Some(Error::NoCapability) && registers[2] == 2,
    )?;
    check("it has not run", written(&alien, bed)? == 0)?;
    let r = good(map_run(handle, &[good_one]))?;
    check("the handle was good", r.words[0] == vector::SYSTEM_CALL)
}

fn answer_to_nobody(bed: &mut Bed) -> Result<(), Why> {
    let (alien, handle) = faulted(bed)?;
    let record = data_page(&alien, bed, Rights(3));
    fails(map_run(handle ^ 0x100_0000, &[record]), Error::BadHandle)?;
    let r = alien.run(handle)?;
    check("the same fault", r.words == [vector::PAGE_FAULT, DATA, WRITE_MISSED])
}

fn answer_interrupted(bed: &mut Bed) -> Result<(), Why> {
    clear(bed)?;
    let (alien, handle) = faulted(bed)?;
    let bell = bed.slot();
    good(copy(SELF.0, None, bell, Rights::NOTIFY, 4))?;
    good(Thread(bell).notify())?;
    utcb::accept(4);
    let r = map_run(handle, &[data_page(&alien, bed, Rights(3))]);
    utcb::accept(0);
    let r = good(r)?;
    check(
        "the bits, and the same handle",
        r.kind == MessageKind::Interrupted && r.words[0] == 4 && r.handle == handle,
    )?;
    check("it has not run", written(&alien, bed)? == 0)?;
    let r = alien.run(handle)?;
    check("the page was there", r.words[0] == vector::SYSTEM_CALL && written(&alien, bed)? == 7)
}

fn system_call(bed: &mut Bed) -> Result<(), Why> {
    let alien =
        launch(bed, &[code::arguments(), code::system_call(), code::system_call()].concat())?;
    let behind = CODE + (code::arguments().len() + code::system_call().len()) as Word;
    let r = alien.run(alien.bound.handle)?;
    check("a system call with the badge", r.words[0] == vector::SYSTEM_CALL && r.badge == 5)?;
    check("its number", alien.word(NUMBER) == 20)?;
    check(
        "its arguments",
        ARGUMENTS.into_iter().zip(1..).all(|(offset, value)| alien.word(offset) == value),
    )?;
    check("after the instruction", alien.word(PC) == behind)?;
    alien.set(RESULT, 1234);
    let r = alien.run(r.handle)?;
    check(
        "the result arrived, the rest stayed",
        alien.word(RESULT) == 1234 && alien.word(ARGUMENTS[5]) == 6,
    )?;
    check("a second call", r.words[0] == vector::SYSTEM_CALL)
}

fn page_fault(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, code::writes_seven())?;
    alien.set(ARGUMENTS[0], 0x1234_5678);
    let r = alien.run(alien.bound.handle)?;
    check("vector and address", r.words[0] == vector::PAGE_FAULT && r.words[1] == 0x1234_5678)?;
    check("a write", r.words[2] & fault::WRITE != 0)?;
    good(map(alien.space, 0x1234_5000, bed.ram, 2 * PAGE, PAGE, Rights(3)))?;
    let r = alien.run(r.handle)?;
    check("it went on", r.words[0] == vector::SYSTEM_CALL)
}

fn exception(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, code::invalid())?;
    let r = alien.run(alien.bound.handle)?;
    check("vector", r.words[0] == INVALID)?;
    check("at the instruction", alien.word(PC) == CODE)
}

fn handler_writes(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, &[code::system_call(), code::stores(), code::system_call()].concat())?;
    let r = alien.run(alien.bound.handle)?;
    alien.set(ARGUMENTS[0], DATA);
    alien.set(ARGUMENTS[4], 0x5566_7788);
    alien.run(r.handle)?;
    check("stored", written(&alien, bed)? == 0x5566_7788)
}

/// Runs an alien that counts until an alarm interrupts it. It tries a later alarm if the alarm was
/// due before the alien ran, as on a machine that was stopped meanwhile.
fn run_interrupted(alien: &Alien, mut handle: Word) -> Result<Word, Why> {
    let before = alien.word(NUMBER);
    for delay in (0..10).map(|doublings| 5_000_000u64 << doublings) {
        good(time::alarm(time::now() + delay, 1))?;
        let r = good(run(handle))?;
        check("interrupted by the bit", r.kind == MessageKind::Interrupted && r.words[0] == 1)?;
        if alien.word(NUMBER) != before {
            check(
                "its frame says so",
                alien.word(offset_of!(Frame, vector)) == vector::INTERRUPTED,
            )?;
            return Ok(r.handle);
        }
        handle = r.handle;
    }
    check("it runs before its time is up", false).map(|()| handle)
}

fn notification_interrupts(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, code::counts())?;
    utcb::accept(1);
    let handle = run_interrupted(&alien, alien.bound.handle)?;
    // It continues from there.
    run_interrupted(&alien, handle).map(|_| ())
}

fn pending_bits(bed: &mut Bed) -> Result<(), Why> {
    let alien = launch(bed, code::system_call())?;
    good(time::alarm(1, 2))?;
    utcb::accept(2);
    let r = good(run(alien.bound.handle))?;
    check(
        "interrupted before it ran",
        r.kind == MessageKind::Interrupted && r.handle == alien.bound.handle,
    )?;
    let r = alien.run(r.handle)?;
    check("its handle was still good", r.words[0] == vector::SYSTEM_CALL)
}
