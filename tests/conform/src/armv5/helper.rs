// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's helpers for programs (`kuser_helpers` of Linux), and the information page, which is
//! the same everywhere.

use crate::exception::{DATA, launch, launch_with, next};
use crate::{ADDRESS, Bed, Case, PAGE, QUOTA, SHARED, SPACE, Why, bytes, check, fails, fill, good};
use abi::Rights;
use abi::frame::{fault, vector};
use abi::utcb::{AREA_END, AREA_START, KIP_ADDRESS, threads_a_space};
use core::sync::atomic::{AtomicU32, Ordering};
use macadamia::alloc::format;
use macadamia::cap::delete;
use macadamia::ipc::receive;
use macadamia::map::map;
use macadamia::{Error, start, thread, time, utcb};
use processor::code;

pub const CASES: &[Case] = &[
    ("compare_and_exchange_exchanges_what_is_equal", exchanges),
    ("compare_and_exchange_leaves_what_is_not", leaves),
    ("compare_and_exchange_of_64_bits_does_the_same", exchanges_64),
    ("its_faults_are_its_callers", faults),
    ("a_barrier_returns", |bed| {
        launch(bed, &[code::barrier(), code::invalid()].concat())?;
        check("it returned", next()?.0.words[0] == vector::UNDEFINED)
    }),
    ("threads_that_count_together_lose_nothing", together),
    ("their_version_is_told", version),
    ("the_information_page_is_the_same_in_every_space", information),
    ("utcbs_of_other_spaces_are_not_there", other_areas),
    ("native_spaces_are_divided_by_quota", promised_spaces),
    ("the_counter_counts", counter),
];

/// Compares and exchanges with this word before; r3 and the word afterwards.
fn exchange(bed: &mut Bed, before: u32) -> Result<(u32, u32), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(DATA, 4, &before.to_le_bytes());
    launch_with(bed, &[code::compare_and_exchange(), code::invalid()].concat(), DATA)?;
    let (r, f) = next()?;
    check("it returned", r.words[0] == vector::UNDEFINED)?;
    Ok((f.r[3], u32::from_le_bytes(bytes(DATA, 4).try_into().unwrap_or_default())))
}

fn exchanges(bed: &mut Bed) -> Result<(), Why> {
    check("done", exchange(bed, 0)? == (0, 5))
}

fn leaves(bed: &mut Bed) -> Result<(), Why> {
    let (status, word) = exchange(bed, 9)?;
    check("not done", status != 0 && word == 9)
}

fn exchanges_64(bed: &mut Bed) -> Result<(), Why> {
    const WANTED: u64 = 0x1111_2222_3333_4444;
    const NEW: u64 = 0x5555_6666_7777_8888;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    // Equal; then not in the upper half, and in the lower.
    for (before, done) in [(WANTED, true), (WANTED ^ 1 << 32, false), (WANTED ^ 1, false)] {
        fill(DATA, 24, &[WANTED, NEW, before].map(u64::to_le_bytes).concat());
        launch_with(bed, &[code::compare_and_exchange_64(), code::invalid()].concat(), DATA)?;
        let (r, f) = next()?;
        check("it returned", r.words[0] == vector::UNDEFINED)?;
        check("whether it did", (f.r[3] == 0) == done)?;
        check("the 64 bits", bytes(DATA + 16, 8) == if done { NEW } else { before }.to_le_bytes())?;
    }
    Ok(())
}

fn faults(bed: &mut Bed) -> Result<(), Why> {
    launch_with(bed, code::compare_and_exchange(), DATA)?;
    check("nothing is there", next()?.0.words == [vector::PAGE_FAULT, DATA, 0])?;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights(3)))?;
    fill(DATA, 4, &[0; 4]);
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights::READ))?;
    launch_with(bed, code::compare_and_exchange(), DATA)?;
    check(
        "not to be written",
        next()?.0.words == [vector::PAGE_FAULT, DATA, fault::WRITE | fault::PROTECTION],
    )
}

/// How often each thread of [`together`] counts, and how many there are.
const TURNS: u32 = 200_000;
const THREADS: u32 = 3;
static DONE: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: u32) -> ! {
    for _ in 0..TURNS {
        SHARED.fetch_add(1, Ordering::Relaxed);
    }
    DONE.fetch_add(1, Ordering::Relaxed);
    loop {
        let _ = receive(None);
    }
}

/// They preempt each other at the end of their time slices.
fn together(bed: &mut Bed) -> Result<(), Why> {
    DONE.store(0, Ordering::Relaxed);
    for _ in 0..THREADS {
        let slot = bed.slot();
        good(thread::spawn(count, 0, slot))?;
    }
    while DONE.load(Ordering::Relaxed) != THREADS {
        good(crate::object::yield_now())?;
    }
    check("all of it", SHARED.load(Ordering::Relaxed) == THREADS * TURNS)
}

fn version(bed: &mut Bed) -> Result<(), Why> {
    launch(bed, &[code::helper_version(), code::invalid()].concat())?;
    let (r, f) = next()?;
    // Linux has had five since it has one for 64 bits; 3 are what ARMv5 needs.
    check("some", r.words[0] == vector::UNDEFINED && (3..=5).contains(&f.r[2]))
}

/// A native space, an alien one: each reads the first word of the page.
fn information(bed: &mut Bed) -> Result<(), Why> {
    let magic = start::bytes(KIP_ADDRESS, 4);
    check("here", magic == abi::kip::MAGIC.to_le_bytes())?;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights(3)))?;
    fill(ADDRESS, PAGE, &[code::read(), code::invalid()].concat());
    let slot = bed.slot();
    let space = good(QUOTA.create_space(4, slot))?;
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    crate::exception::start(bed, space, KIP_ADDRESS)?;
    let (r, f) = next()?;
    check("in another space", r.words[0] == vector::UNDEFINED && f.r[2] == abi::kip::MAGIC)?;
    let alien = crate::alien::launch(bed, &[code::read(), code::system_call()].concat())?;
    alien.set(processor::ARGUMENTS[1], KIP_ADDRESS);
    let r = alien.run(alien.bound.handle)?;
    check(
        "in a space of aliens",
        r.words[0] == vector::SYSTEM_CALL && alien.word(processor::ARGUMENTS[2]) == abi::kip::MAGIC,
    )
}

/// Each native space has its own MiB for UTCBs.
fn other_areas(bed: &mut Bed) -> Result<(), Why> {
    const BYTES: u32 = AREA_END - AREA_START;
    let slots = [bed.slot(), bed.slot()];
    let other = good(QUOTA.create_space(4, slots[0]))?;
    let (_, bound) = good(QUOTA.create_thread(other, slots[1], None))?;
    let section = |address: u32| (address - AREA_START) / BYTES;
    check("a section of its own", section(bound.utcb) != section(utcb::address()))?;
    for address in
        [bound.utcb, AREA_START + (section(utcb::address()) ^ 1) * BYTES, AREA_START + 255 * BYTES]
    {
        for code in [code::read(), code::write()] {
            launch_with(bed, code, address)?;
            let (r, _) = next()?;
            if r.words[..2] != [vector::PAGE_FAULT, address] {
                return Err(format!("exception {} for {address:#x}", r.words[0]));
            }
        }
    }
    // Its own can be read.
    launch_with(bed, &[code::read(), code::invalid()].concat(), utcb::address())?;
    check("the own is there", next()?.0.words[0] == vector::UNDEFINED)
}

/// A Quota that uses up its share of the sections for UTCBs leaves the others theirs.
fn promised_spaces(bed: &mut Bed) -> Result<(), Why> {
    let share = threads_a_space(time::kip().max_threads);
    let [modest, greedy, more] = [(); 3].map(|()| bed.slot());
    let modest = good(QUOTA.create_quota(16384, share, modest))?;
    let (used, limit) = good(QUOTA.threads())?;
    let greedy = good(QUOTA.create_quota(1 << 20, limit - used, greedy))?;
    for _ in 0..(limit - used) / share {
        good(greedy.create_space(4, bed.slot()))?;
    }
    fails(greedy.create_space(4, more).map(|_| ()), Error::QuotaExceeded)?;
    good(modest.create_space(4, more))?;
    check("it is charged as threads", good(modest.threads())? == (share, share))?;
    good(delete(more))?;
    check("they come back", good(modest.threads())? == (0, share))
}

fn counter(_: &mut Bed) -> Result<(), Why> {
    let mut last = time::now();
    let end = last + 20_000_000;
    while last < end {
        let now = time::now();
        check("never back", now >= last)?;
        last = now;
    }
    Ok(())
}
