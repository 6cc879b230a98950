// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotas, spaces, threads.

use crate::{Bed, Case, QUOTA, SELF, SHARED, SPACE, Why, check, fails, good};
use core::sync::atomic::Ordering;
use macadamia::cap::delete;
use macadamia::{Error, Irq, Thread, Word, ipc, thread};

pub const CASES: &[Case] = &[
    ("a_quota_is_charged_to_its_parent", a_quota_is_charged_to_its_parent),
    ("a_quota_cannot_exceed_its_parent", |bed| {
        let slot = bed.slot();
        fails(QUOTA.create_quota(Word::MAX - 64, 0, slot), Error::QuotaExceeded)
    }),
    ("what_does_not_fit_the_quota_is_refused", what_does_not_fit),
    ("a_quota_gives_so_many_threads", so_many_threads),
    ("threads_promised_to_one_are_not_taken_by_another", promised_threads),
    ("quotas_nest_16_deep", quotas_nest),
    ("a_space_gives_its_memory_back", a_space_gives_its_memory_back),
    ("a_space_has_at_most_65536_slots", |bed| {
        let slot = bed.slot();
        fails(QUOTA.create_space(65537, slot), Error::BadArgument)
    }),
    ("a_segment_is_a_multiple_of_a_table", |bed| {
        let slot = bed.slot();
        fails(QUOTA.create_segment(4096, slot), Error::BadArgument)
    }),
    ("a_thread_starts_stops_and_starts", a_thread_starts_and_stops),
    ("a_running_thread_cannot_be_started", |_| {
        fails(SELF.start(0x40_0000, 0x40_0000, 0), Error::BadState)
    }),
    ("a_native_thread_needs_a_native_space", a_native_thread_needs_a_native_space),
    ("priorities_are_limited", |_| fails(SELF.set_priority(255, 255), Error::BadPriority)),
    ("priorities_end_at_255", |_| fails(SELF.set_priority(256, 1), Error::BadArgument)),
    ("a_thread_cannot_reset_itself", |_| fails(SELF.reset(SPACE, None), Error::BadArgument)),
    ("an_unbound_line_cannot_be_acknowledged", |_| {
        fails(Irq(QUOTA.0).acknowledge(), Error::WrongKind)
    }),
    ("unknown_operations_are_refused", unknown_operations),
];

fn a_quota_is_charged_to_its_parent(bed: &mut Bed) -> Result<(), Why> {
    let (before, _) = good(QUOTA.info())?;
    let slot = bed.slot();
    let child = good(QUOTA.create_quota(8192, 0, slot))?;
    let (after, _) = good(QUOTA.info())?;
    check("limit and block", after - before == 8192 + 64)?;
    check("no threads", good(child.threads())? == (0, 0))?;
    check("empty with its limit", good(child.info())? == (0, 8192))?;
    good(delete(slot))?;
    check("all of it comes back", good(QUOTA.info())?.0 == before)
}

fn what_does_not_fit(bed: &mut Bed) -> Result<(), Why> {
    let (small, space) = (bed.slot(), bed.slot());
    let child = good(QUOTA.create_quota(4096, 0, small))?;
    fails(child.create_space(16, space), Error::QuotaExceeded)?;
    check("nothing stays charged", good(child.info())?.0 == 0)
}

fn so_many_threads(bed: &mut Bed) -> Result<(), Why> {
    let (before, _) = good(QUOTA.threads())?;
    let [small, none, one, two, three] = [(); 5].map(|()| bed.slot());
    let child = good(QUOTA.create_quota(4096, 2, small))?;
    check("the parent is charged at once", good(QUOTA.threads())?.0 == before + 2)?;
    let none = good(child.create_quota(0, 0, none))?;
    fails(none.create_thread(SPACE, one, None).map(|_| ()), Error::QuotaExceeded)?;
    good(child.create_thread(SPACE, one, None))?;
    good(child.create_thread(SPACE, two, None))?;
    check("both", good(child.threads())? == (2, 2))?;
    fails(child.create_thread(SPACE, three, None).map(|_| ()), Error::QuotaExceeded)?;
    good(delete(one))?;
    check("one came back", good(child.threads())? == (1, 2))?;
    good(child.create_thread(SPACE, three, None))?;
    good(delete(none.0))?;
    good(delete(small))?;
    check("what is charged to it keeps it", good(QUOTA.threads())?.0 == before + 2)?;
    good(delete(two))?;
    good(delete(three))?;
    check("all of them come back", good(QUOTA.threads())?.0 == before)
}

fn promised_threads(bed: &mut Bed) -> Result<(), Why> {
    const PROMISED: Word = 3;
    let [greedy, modest, more] = [(); 3].map(|()| bed.slot());
    let (used, limit) = good(QUOTA.threads())?;
    let modest = good(QUOTA.create_quota(4096, PROMISED, modest))?;
    fails(
        QUOTA.create_quota(4096, limit - used - PROMISED + 1, greedy).map(|_| ()),
        Error::QuotaExceeded,
    )?;
    let greedy = good(QUOTA.create_quota(4096, limit - used - PROMISED, greedy))?;
    for _ in 0..limit - used - PROMISED {
        good(greedy.create_thread(SPACE, bed.slot(), None))?;
    }
    fails(greedy.create_thread(SPACE, more, None).map(|_| ()), Error::QuotaExceeded)?;
    fails(QUOTA.create_thread(SPACE, more, None).map(|_| ()), Error::QuotaExceeded)?;
    for _ in 0..PROMISED {
        good(modest.create_thread(SPACE, bed.slot(), None))?;
    }
    fails(modest.create_thread(SPACE, more, None).map(|_| ()), Error::QuotaExceeded)
}

fn quotas_nest(bed: &mut Bed) -> Result<(), Why> {
    // The component's Quota is a part of the root server's.
    const BELOW: Word = 15;
    let (before, _) = good(QUOTA.info())?;
    let (first, mut inner) = (bed.slot(), QUOTA);
    for depth in 0..BELOW {
        let slot = if depth == 0 { first } else { bed.slot() };
        inner = good(inner.create_quota((BELOW - depth) * 128, 0, slot))?;
    }
    fails(inner.create_quota(0, 0, bed.slot()).map(|_| ()), Error::TooDeep)?;
    for slot in first..first + BELOW {
        check("kept by what is charged", good(QUOTA.info())?.0 > before)?;
        good(delete(slot))?;
    }
    check("the last one ends all", good(QUOTA.info())?.0 == before)
}

fn a_space_gives_its_memory_back(bed: &mut Bed) -> Result<(), Why> {
    let (before, _) = good(QUOTA.info())?;
    let (space, thread) = (bed.slot(), bed.slot());
    let made = good(QUOTA.create_space(16, space))?;
    good(QUOTA.create_thread(made, thread, None))?;
    good(delete(space))?;
    check("the thread lost its space", good(Thread(thread).state())? == 5)?;
    good(delete(thread))?;
    check("all of it comes back", good(QUOTA.info())?.0 == before)
}

extern "C" fn count(_: Word) -> ! {
    loop {
        SHARED.fetch_add(1, Ordering::Relaxed);
        let _ = ipc::receive(None);
    }
}

fn a_thread_starts_and_stops(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    let made = good(thread::spawn(count, 0, slot))?;
    while SHARED.load(Ordering::Relaxed) == 0 {
        good(yield_now())?;
    }
    check("waits", good(made.state())? == 2)?;
    good(made.stop())?;
    check("stopped", good(made.state())? == 0)?;
    let frame = good(made.registers())?;
    good(made.set_registers(&frame, true))?;
    while SHARED.load(Ordering::Relaxed) == 1 {
        good(yield_now())?;
    }
    check("its receive was interrupted and it went on", SHARED.load(Ordering::Relaxed) == 2)
}

/// Yields to threads of the same priority.
pub fn yield_now() -> macadamia::Result<()> {
    macadamia::sys::call(abi::call::Yield {}).map(|_| ())
}

fn a_native_thread_needs_a_native_space(bed: &mut Bed) -> Result<(), Why> {
    let (space, thread) = (bed.slot(), bed.slot());
    let alien = good(QUOTA.create_space(0, space))?;
    fails(QUOTA.create_thread(alien, thread, None).map(|_| ()), Error::BadArgument)
}

fn unknown_operations(_: &mut Bed) -> Result<(), Why> {
    for number in [0, 11, 15, 25, 40, 63, 1000, 0xf_ffff] {
        let mut registers = macadamia::sys::registers([number << 12, 0, 0, 0, 0]);
        macadamia::sys::raw(&mut registers);
        check("status is BadOperation", registers[0] == Error::BadOperation as Word)?;
    }
    Ok(())
}
