// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual caches: what the operation `cache` does, and what the kernel does by itself.

use crate::exception::{DATA, WHOLE, create, launch_with, next};
use crate::{
    ADDRESS, Bed, Case, OTHER, PAGE, QUOTA, SELF, SPACE, Why, bytes, cache, check, fails, fill,
    good,
};
use abi::arch::armv5::kip::FEATURE_LOCKED_LINES;
use abi::arch::armv5::place::VSPACE_SHIFT;
use abi::frame::vector;
use abi::utcb::threads_a_space;
use abi::{CacheOp, Error, MapRecord, Rights, TABLE_SPAN, USER_END, Word};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use macadamia::cap::{Counts, copy, delete, frame, set_frame};
use macadamia::ipc::{reply_wait, wait};
use macadamia::map::{Batch, map, protect, unmap};
use macadamia::{Memory, Quota, Space, Thread, start, thread, time};
use processor::{Words, code};

pub const CASES: &[Case] = &[
    ("code_that_was_written_runs", written_code),
    ("code_of_another_page_at_its_address_runs", replaced_code),
    ("one_address_in_two_spaces_has_two_words", two_spaces),
    ("a_vspace_is_its_quotas", vspaces),
    ("a_segment_is_the_same_at_one_address", |bed| segment(bed, SEGMENT)),
    ("a_segment_is_the_same_at_another_address_once_it_is_clean", |bed| {
        segment(bed, SEGMENT + TABLE_SPAN)
    }),
    ("what_was_written_stays_when_it_is_unmapped", unmapped),
    ("so_it_does_of_a_segment_that_is_being_attached", attaching),
    ("invalidating_loses_nothing", invalidated),
    ("a_dead_spaces_memory_keeps_what_it_wrote", dead_space),
    ("every_operation_takes_any_range", ranges),
    ("locked_lines_lose_nothing", locked),
    ("locks_are_divided_by_quota", few_locks),
];

const RW: Rights = Rights(3);
const SEGMENT: u32 = 0x6000_0000;

fn word(address: u32) -> u32 {
    start::bytes(address, 4).try_into().map_or(0, u32::from_le_bytes)
}

/// Calls a function at `DATA`, then another one at the same address.
fn written_code(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, Rights::RWX))?;
    start::fill(DATA, PAGE, code::one());
    cache(SPACE, DATA, PAGE, CacheOp::SyncCode)?;
    launch_with(
        bed,
        &[code::calls(), code::invalid(), code::calls(), code::invalid()].concat(),
        DATA,
    )?;
    let (r, mut f) = next()?;
    check("the first", r.words[0] == vector::UNDEFINED && f.r[2] == 1)?;
    start::fill(DATA, PAGE, code::two());
    cache(SPACE, DATA, PAGE, CacheOp::SyncCode)?;
    f.skip_invalid();
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("the second", r.words[0] == vector::UNDEFINED && frame().r[2] == 2)
}

/// Two pages of code alternate at an address; only the kernel can know that the caches have the
/// previous one's lines.
fn replaced_code(bed: &mut Bed) -> Result<(), Why> {
    for (page, code) in [(2, code::one()), (3, code::two())] {
        good(map(SPACE, OTHER, bed.ram, page * PAGE, PAGE, RW))?;
        fill(OTHER, PAGE, code);
    }
    good(unmap(SPACE, OTHER, PAGE))?;
    for turn in 0..6 {
        good(map(SPACE, DATA, bed.ram, (2 + turn % 2) * PAGE, PAGE, Rights::RWX))?;
        let thread = launch_with(bed, &[code::calls(), code::invalid()].concat(), DATA)?;
        let (r, f) = next()?;
        check("this page's", r.words[0] == vector::UNDEFINED && f.r[2] == 1 + turn % 2)?;
        good(delete(thread.0))?;
    }
    Ok(())
}

/// Another native space with code that repeatedly reads the word at its argument to r2.
fn reader(bed: &mut Bed) -> Result<Space, Why> {
    let slot = bed.slot();
    let space = good(QUOTA.create_space(4, slot))?;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    fill(ADDRESS, PAGE, code::reads());
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    Ok(space)
}

/// Another space's word is changed through this space's alias; this space's own word at that
/// address changes, too, in between.
fn two_spaces(bed: &mut Bed) -> Result<(), Why> {
    let space = reader(bed)?;
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, RW))?;
    good(map(space, DATA, bed.ram, 2 * PAGE, PAGE, RW))?;
    good(map(SPACE, OTHER, bed.ram, 2 * PAGE, PAGE, RW))?;
    fill(DATA, 4, &100u32.to_le_bytes());
    fill(OTHER, 4, &200u32.to_le_bytes());
    let thread = create(bed, space)?;
    good(thread.start(ADDRESS, 0, DATA))?;
    let (mut r, _) = next()?;
    for turn in 1..20u32 {
        let f = frame();
        check("the other's", f.r[2] == 200 + turn - 1)?;
        check("the own", word(DATA) == 100 + turn - 1)?;
        start::fill(DATA, 4, &(100 + turn).to_le_bytes());
        start::fill(OTHER, 4, &(200 + turn).to_le_bytes());
        // Its cached word is dropped, and this one written to memory.
        cache(space, DATA, 4, CacheOp::CleanAndInvalidate)?;
        cache(SPACE, OTHER, 4, CacheOp::Clean)?;
        let mut f = f;
        f.skip_invalid();
        set_frame(&f);
        r = good(reply_wait(r.handle, WHOLE))?;
    }
    Ok(())
}

/// A space has a vspace. Spaces of its Quota's child and of a sibling have the same number, and
/// other memory at the same address.
fn vspaces(bed: &mut Bed) -> Result<(), Why> {
    // Three spaces are the first child's.
    let threads = 3 * threads_a_space(time::kip().max_threads);
    let children = [bed.slot(), bed.slot()];
    let [child, sibling] = children.map(|slot| QUOTA.create_quota(64 << 10, threads, slot));
    let (child, sibling) = (good(child)?, good(sibling)?);
    let (write, read) = ([code::write(), code::invalid()].concat(), code::reads());
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    fill(ADDRESS, PAGE, &[&write, read].concat());
    for (vspace, (one, other)) in (5..).zip([(QUOTA, child), (child, QUOTA), (child, sibling)]) {
        in_vspace(bed, (one, vspace), 1, ADDRESS)?;
        check("the first wrote", next()?.0.words[0] == vector::UNDEFINED)?;
        in_vspace(bed, (other, vspace), 2, ADDRESS + write.len() as u32)?;
        check("the second reads its own", next()?.1.r[2] == 0x0202_0202)?;
    }
    Ok(())
}

/// A thread in a space of a Quota with this vspace. The space has a page of the RAM at `DATA`, full
/// of its number. The thread runs the code at an address.
fn in_vspace(bed: &mut Bed, (quota, vspace): (Quota, u32), page: u32, at: u32) -> Result<(), Why> {
    good(map(SPACE, OTHER, bed.ram, page * PAGE, PAGE, RW))?;
    fill(OTHER, PAGE, &[page as u8; 4]);
    good(unmap(SPACE, OTHER, PAGE))?;
    let slot = bed.slot();
    let space = good(quota.create_space_at(4, slot, vspace << VSPACE_SHIFT))?;
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    good(map(space, DATA, bed.ram, page * PAGE, PAGE, RW))?;
    good(create(bed, space)?.start(at, 0, DATA))
}

/// A Segment is attached here at `SEGMENT`, and at this address in another space.
fn segment(bed: &mut Bed, there: u32) -> Result<(), Why> {
    let space = reader(bed)?;
    let slot = bed.slot();
    let segment = good(QUOTA.create_segment(TABLE_SPAN, slot))?;
    good(map(Space(segment.0), 0, bed.ram, PAGE, PAGE, RW))?;
    good(SPACE.attach(SEGMENT, segment, RW))?;
    good(space.attach(there, segment, RW))?;
    start::fill(SEGMENT, 4, &7u32.to_le_bytes());
    // With one address there is one copy in the cache, with two there are two.
    let settle = || {
        if there == SEGMENT {
            return Ok(());
        }
        cache(SPACE, SEGMENT, 4, CacheOp::Clean)?;
        cache(space, there, 4, CacheOp::CleanAndInvalidate)
    };
    settle()?;
    let thread = create(bed, space)?;
    good(thread.start(ADDRESS, 0, there))?;
    let (mut r, mut f) = next()?;
    for turn in 7..27u32 {
        check("the same word", r.words[0] == vector::UNDEFINED && f.r[2] == turn)?;
        start::fill(SEGMENT, 4, &(turn + 1).to_le_bytes());
        settle()?;
        f.skip_invalid();
        set_frame(&f);
        r = good(reply_wait(r.handle, WHOLE))?;
        f = frame();
    }
    good(SPACE.detach(SEGMENT))
}

/// Written at one address, unmapped without a call of `cache`, read at another.
fn unmapped(bed: &mut Bed) -> Result<(), Why> {
    for page in 1..9u32 {
        good(map(SPACE, DATA, bed.ram, page * PAGE, PAGE, RW))?;
        start::fill(DATA, 8, &[page.to_le_bytes(), (!page).to_le_bytes()].concat());
    }
    good(unmap(SPACE, DATA, PAGE))?;
    for page in 1..9u32 {
        good(map(SPACE, OTHER, bed.ram, page * PAGE, PAGE, Rights::READ))?;
        check("still there", word(OTHER) == page && word(OTHER + 4) == !page)?;
    }
    Ok(())
}

/// The arguments of the thread of [`attaching`]: the Segment and the RAM, ...
static SEGMENT_AND_RAM: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// ... the time until it acts, in nanoseconds, ...
static DELAY: AtomicU32 = AtomicU32::new(0);
/// ... and its result; 0: none yet.
static SEEN: AtomicU32 = AtomicU32::new(0);

/// Waits, unmaps page 0 of the Segment, and reads what was written there.
extern "C" fn takes_away(_: Word) -> ! {
    const GO: u32 = 1;
    const TICK: u32 = 2;
    loop {
        if wait(GO | TICK).is_ok_and(|bits| bits & TICK == 0) {
            let _ = time::alarm(time::now() + u64::from(DELAY.load(Relaxed)), TICK);
            continue;
        }
        let [segment, ram] = [0, 1].map(|i| SEGMENT_AND_RAM[i].load(Relaxed));
        let _ = unmap(Space(segment), 0, PAGE);
        let _ = map(SPACE, OTHER, Memory(ram), PAGE, PAGE, RW);
        SEEN.store(word(OTHER), Relaxed);
        let _ = unmap(SPACE, OTHER, PAGE);
    }
}

/// A page of a Segment is unmapped while the Segment is being attached in another space, at the
/// same address. (That attachment is the Segment's newest one, and has none of its pages yet.)
fn attaching(bed: &mut Bed) -> Result<(), Why> {
    const TURNS: u32 = 100;
    const BYTES: u32 = 0x1000_0000;
    const AT: u32 = 0x8000_0000;
    let slots = [(); 4].map(|()| bed.slot());
    let other = good(QUOTA.create_space(4, slots[0]))?;
    let segment = good(QUOTA.create_segment(BYTES, slots[1]))?;
    [segment.0, bed.ram.0]
        .into_iter()
        .zip(&SEGMENT_AND_RAM)
        .for_each(|(selector, of)| of.store(selector, Relaxed));
    good(SPACE.attach(AT, segment, RW))?;
    let thread = good(thread::spawn(takes_away, 0, slots[2]))?;
    good(copy(thread.0, None, slots[3], Rights::NOTIFY, 1))?;
    good(SELF.set_priority(20, 100))?;
    let outcome = (0..TURNS).try_for_each(|turn| {
        good(map(Space(segment.0), 0, bed.ram, PAGE, PAGE, RW))?;
        let value = 0x5000_0000 + turn;
        start::fill(AT, 4, &value.to_le_bytes());
        DELAY.store(1000 * (1 + turn), Relaxed);
        SEEN.store(0, Relaxed);
        good(Thread(slots[3]).notify())?;
        good(other.attach(AT, segment, RW))?;
        while SEEN.load(Relaxed) == 0 {
            core::hint::spin_loop();
        }
        good(other.detach(AT))?;
        check("what was written", SEEN.load(Relaxed) == value)
    });
    good(SELF.set_priority(100, 100))?;
    outcome.and_then(|()| good(SPACE.detach(AT)))
}

/// No space sees the contents that memory had before it was written or cleared.
fn invalidated(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, PAGE, RW))?;
    for operation in [CacheOp::CleanAndInvalidate, CacheOp::SyncCode, CacheOp::Clean] {
        for value in 1..5u32 {
            start::fill(DATA, 4, &value.to_le_bytes());
            cache(SPACE, DATA, PAGE, operation)?;
            check("what was written", word(DATA) == value)?;
        }
    }
    Ok(())
}

/// A space writes and ends before anything cleans its lines.
fn dead_space(bed: &mut Bed) -> Result<(), Why> {
    let slots = [bed.slot(), bed.slot()];
    let part: Memory = good(bed.ram.derive(2 * PAGE, PAGE, slots[0], QUOTA))?;
    good(map(SPACE, OTHER, part, 0, PAGE, RW))?;
    fill(OTHER, 4, &5u32.to_le_bytes());
    good(unmap(SPACE, OTHER, PAGE))?;
    let space = good(QUOTA.create_space(4, slots[1]))?;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    fill(ADDRESS, PAGE, &[code::write(), code::invalid()].concat());
    good(map(space, ADDRESS, bed.ram, 0, PAGE, Rights::READ))?;
    good(map(space, DATA, part, 0, PAGE, RW))?;
    crate::exception::start(bed, space, DATA)?;
    check("it wrote", next()?.0.words[0] == vector::UNDEFINED)?;
    good(delete(space.0))?;
    good(map(SPACE, OTHER, part, 0, PAGE, Rights::READ))?;
    check("a zero", bytes(OTHER, 4) == [0; 4])
}

fn ranges(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, DATA, bed.ram, PAGE, 2 * PAGE, RW))?;
    for operation in [CacheOp::Clean, CacheOp::CleanAndInvalidate, CacheOp::SyncCode] {
        for (address, bytes) in [
            (DATA, 1),
            (DATA + 3, 70),
            (DATA, 4 * PAGE),
            (DATA, 0),
            (OTHER, PAGE),
            (0x4000_0000, 64 << 20),
            (USER_END - PAGE, PAGE),
        ] {
            cache(SPACE, address, bytes, operation)?;
        }
        fails(
            macadamia::sys::call_with(
                abi::Op::Cache,
                [SPACE.0, USER_END - PAGE, PAGE + 1, operation as u32],
            ),
            Error::BadAddress,
        )?;
        fails(
            macadamia::sys::call_with(abi::Op::Cache, [SPACE.0, u32::MAX, 2, operation as u32]),
            Error::BadAddress,
        )?;
    }
    Ok(())
}

/// Whether the processor can lock lines; if not, the case checks that the kernel says so.
fn locks() -> Result<bool, Why> {
    let can = time::kip().features & FEATURE_LOCKED_LINES != 0;
    if !can {
        fails(SPACE.cache(ADDRESS, PAGE, CacheOp::Lock), Error::Unsupported)?;
        fails(SPACE.cache(ADDRESS, PAGE, CacheOp::Unlock), Error::Unsupported)?;
        fails(lock_by_record(ADDRESS), Error::Unsupported)?;
    }
    Ok(can)
}

/// Locks the lines of a page by a record of `map`.
fn lock_by_record(address: u32) -> Result<(), Error> {
    let mut batch = Batch::new();
    batch.push(MapRecord::cache(CacheOp::Lock, SPACE.0, address, PAGE))?;
    batch.commit().map_err(|(_, error)| error)
}

/// Locked lines are written, and read at another address: after the whole cache was cleaned, for
/// two reasons, after it was dropped, and after only the page was dropped.
fn locked(bed: &mut Bed) -> Result<(), Why> {
    /// More bytes than the kernel cleans or drops line by line.
    const MANY: u32 = 28 * PAGE;
    if !locks()? {
        return Ok(());
    }
    fails(SPACE.cache(OTHER, PAGE, CacheOp::Lock), Error::BadAddress)?;
    good(map(SPACE, ADDRESS, bed.ram, 0, MANY, RW))?;
    good(map(SPACE, OTHER, bed.ram, 0, PAGE, Rights::READ))?;
    fails(SPACE.cache(ADDRESS + PAGE - 4, 8, CacheOp::Lock), Error::BadArgument)?;
    fails(SPACE.cache(ADDRESS, 0, CacheOp::Lock), Error::BadArgument)?;
    fails(SPACE.cache(ADDRESS, PAGE, CacheOp::Unlock), Error::NotThere)?;
    cache(SPACE, ADDRESS, PAGE, CacheOp::Lock)?;
    good(lock_by_record(ADDRESS))?;
    let read_there = |what: &[u8; 4]| {
        let is = bytes(OTHER, 4) == what;
        cache(SPACE, OTHER, PAGE, CacheOp::CleanAndInvalidate)
            .and_then(|()| check("what was written", is))
    };
    start::fill(ADDRESS, PAGE, b"one ");
    cache(SPACE, ADDRESS, MANY, CacheOp::Clean)?;
    read_there(b"one ")?;
    start::fill(ADDRESS, PAGE, b"half");
    good(protect(SPACE, ADDRESS, MANY, Rights::READ))?;
    read_there(b"half")?;
    good(protect(SPACE, ADDRESS, MANY, RW))?;
    start::fill(ADDRESS, PAGE, b"two ");
    good(unmap(SPACE, ADDRESS, MANY))?;
    read_there(b"two ")?;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, RW))?;
    cache(SPACE, ADDRESS, PAGE, CacheOp::Lock)?;
    start::fill(ADDRESS, PAGE, b"tree");
    good(unmap(SPACE, ADDRESS, PAGE))?;
    read_there(b"tree")?;
    good(map(SPACE, ADDRESS, bed.ram, PAGE, PAGE, RW))?;
    start::fill(ADDRESS, PAGE, b"four");
    cache(SPACE, ADDRESS, PAGE, CacheOp::Unlock)?;
    fails(SPACE.cache(ADDRESS, PAGE, CacheOp::Unlock), Error::NotThere)?;
    good(map(SPACE, OTHER, bed.ram, PAGE, PAGE, Rights::READ))?;
    cache(SPACE, ADDRESS, PAGE, CacheOp::Clean)?;
    read_there(b"four")
}

/// Quotas have shares of the ranges, and a space that ends gives back its own.
fn few_locks(bed: &mut Bed) -> Result<(), Why> {
    const BYTES: u32 = 32 << 10;
    let threads = threads_a_space(time::kip().max_threads);
    let [one, none, more, spaces @ ..] = [(); 5].map(|()| bed.slot());
    let with = |locked_ranges, slot| {
        QUOTA.create_quota_with(BYTES, Counts { threads, locked_ranges, ..Counts::default() }, slot)
    };
    check("all are its own", good(QUOTA.locked_ranges())? == (0, 4))?;
    fails(with(5, more), Error::QuotaExceeded)?;
    let quotas = [good(with(1, one))?, good(with(0, none))?];
    check(
        "one is promised",
        good(QUOTA.locked_ranges())? == (1, 4) && good(quotas[0].locked_ranges())? == (0, 1),
    )?;
    if !locks()? {
        return Ok(());
    }
    good(map(SPACE, ADDRESS, bed.ram, 0, 4 * PAGE, RW))?;
    for page in 0..3 {
        cache(SPACE, ADDRESS + page * PAGE, 64, CacheOp::Lock)?;
        cache(SPACE, ADDRESS + page * PAGE, 64, CacheOp::Lock)?;
        check("each once", good(QUOTA.locked_ranges())? == (2 + page, 4))?;
    }
    fails(SPACE.cache(ADDRESS + 32, 64, CacheOp::Lock), Error::BadArgument)?;
    fails(SPACE.cache(ADDRESS + 3 * PAGE, 64, CacheOp::Lock), Error::QuotaExceeded)?;
    for (quota, slot) in quotas.into_iter().zip(spaces) {
        let space = good(quota.create_space(4, slot))?;
        good(map(space, OTHER, bed.ram, 4 * PAGE, 2 * PAGE, RW))?;
    }
    let [has, has_not] = spaces.map(Space);
    fails(has_not.cache(OTHER, PAGE, CacheOp::Lock), Error::QuotaExceeded)?;
    cache(has, OTHER, PAGE, CacheOp::Lock)?;
    fails(has.cache(OTHER + PAGE, PAGE, CacheOp::Lock), Error::QuotaExceeded)?;
    check("it has one", good(quotas[0].locked_ranges())? == (1, 1))?;
    good(delete(has.0))?;
    check("none is left", good(quotas[0].locked_ranges())? == (0, 1))?;
    start::fill(ADDRESS, 4, b"mine");
    start::fill(ADDRESS + PAGE, 4, b"too ");
    cache(SPACE, ADDRESS, 2 * PAGE, CacheOp::Unlock)?;
    check("two have gone", good(QUOTA.locked_ranges())? == (2, 4))?;
    check("still there", bytes(ADDRESS, 4) == b"mine" && bytes(ADDRESS + PAGE, 4) == b"too ")?;
    cache(SPACE, ADDRESS + 2 * PAGE, PAGE, CacheOp::Unlock)
}
