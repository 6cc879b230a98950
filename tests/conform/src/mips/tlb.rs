// SPDX-License-Identifier: MIT OR Apache-2.0
//! The TLB, which the kernel fills: entries of two pages, and ASIDs, of which there are 255.

use crate::exception::{DATA, WHOLE, create, launch_with, next};
use crate::{ADDRESS, Bed, Case, OTHER, PAGE, QUOTA, SPACE, Why, check, fill, good};
use abi::frame::{fault, vector};
use abi::{Rights, Word};
use macadamia::alien::Alien;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{copy, delete, set_frame};
use macadamia::ipc::{reply_wait, run};
use macadamia::map::{map, protect, unmap};
use macadamia::{Space, Thread};
use processor::{Words, code};

pub const CASES: &[Case] = &[
    ("the_other_page_of_an_entry_is_missed_and_found", pairs),
    ("one_page_of_an_entry_goes_and_the_other_stays", one_goes),
    ("a_page_that_may_be_written_now_is_written", gains),
    ("more_pages_than_the_tlb_has_are_all_there", many),
    ("a_range_of_many_pages_goes_as_a_whole", range),
    ("more_spaces_than_there_are_asids_have_their_own_pages", asids),
    ("spaces_that_take_turns_with_asids_have_their_own_pages", asids_in_turn),
];

/// The two pages of an entry of the TLB.
const EVEN: Word = DATA + PAGE;
const ODD: Word = EVEN + PAGE;
const _: () = assert!(EVEN.is_multiple_of(2 * PAGE));

/// The entry that the first page's miss loads does not have the second page yet.
fn pairs(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, EVEN, bed.ram, PAGE, PAGE, Rights(3)))?;
    launch_with(
        bed,
        &[code::read(), code::invalid(), code::read(), code::invalid()].concat(),
        EVEN,
    )?;
    let (r, mut f) = next()?;
    check("the first page is read", r.words[0] == vector::RESERVED)?;
    f.skip_invalid();
    f.r[5] = ODD;
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("the second is missed", r.words == [vector::PAGE_FAULT, ODD, 0])?;
    good(map(SPACE, ODD, bed.ram, 2 * PAGE, PAGE, Rights(3)))?;
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("and found", r.words[0] == vector::RESERVED)
}

fn one_goes(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, EVEN, bed.ram, PAGE, 2 * PAGE, Rights(3)))?;
    launch_with(bed, code::reads(), EVEN)?;
    let (r, mut f) = next()?;
    check("the first page is read", r.words[0] == vector::RESERVED)?;
    good(unmap(SPACE, ODD, PAGE))?;
    f.skip_invalid();
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("it stays", r.words[0] == vector::RESERVED)?;
    f.r[5] = ODD;
    set_frame(&f);
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("the second is gone", r.words == [vector::PAGE_FAULT, ODD, 0])
}

/// An added right needs no flush: the TLB entry without it is replaced.
fn gains(bed: &mut Bed) -> Result<(), Why> {
    good(map(SPACE, EVEN, bed.ram, PAGE, PAGE, Rights(3)))?;
    good(protect(SPACE, EVEN, PAGE, Rights::READ))?;
    let code = [code::read(), code::write(), code::invalid()].concat();
    launch_with(bed, &code, EVEN)?;
    let (r, _) = next()?;
    let error = fault::WRITE | fault::PROTECTION;
    check("the write is refused", r.words == [vector::PAGE_FAULT, EVEN, error])?;
    good(protect(SPACE, EVEN, PAGE, Rights(3)))?;
    let r = good(reply_wait(r.handle, WHOLE))?;
    check("it is made", r.words[0] == vector::RESERVED)
}

/// The pages of 300 addresses, which are two pages in turn.
fn many(bed: &mut Bed) -> Result<(), Why> {
    const PAGES: Word = 300;
    for page in 0..2 {
        good(map(SPACE, ADDRESS, bed.ram, page * PAGE, PAGE, Rights(3)))?;
        fill(ADDRESS, PAGE, &(page as u32 + 1).to_ne_bytes());
    }
    good(unmap(SPACE, ADDRESS, PAGE))?;
    for page in 0..PAGES {
        good(map(SPACE, OTHER + page * PAGE, bed.ram, page % 2 * PAGE, PAGE, Rights(3)))?;
    }
    // The code is in the third page.
    good(map(SPACE, ADDRESS, bed.ram, 2 * PAGE, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, code::adds_pages());
    for _ in 0..3 {
        let thread = create(bed, SPACE)?;
        good(thread.start(ADDRESS, 0, OTHER))?;
        let (r, f) = next()?;
        check("all of them", r.words[0] == vector::RESERVED && f.r[6] == PAGES / 2 * 3)?;
    }
    Ok(())
}

/// A thread has read all pages of a range, which is then unmapped.
fn range(bed: &mut Bed) -> Result<(), Why> {
    const PAGES: Word = 300;
    for page in 0..PAGES {
        good(map(SPACE, OTHER + page * PAGE, bed.ram, PAGE, PAGE, Rights(3)))?;
    }
    launch_with(bed, &[code::adds_pages(), code::read()].concat(), OTHER)?;
    let (mut r, mut f) = next()?;
    check("all of them", r.words[0] == vector::RESERVED)?;
    good(unmap(SPACE, OTHER, PAGES * PAGE))?;
    f.skip_invalid();
    // The pages that it read last, which the TLB had.
    for page in (PAGES - 100..PAGES).rev() {
        f.r[5] = OTHER + page * PAGE;
        set_frame(&f);
        r = good(reply_wait(r.handle, WHOLE))?;
        check("gone", r.words == [vector::PAGE_FAULT, f.r[5], 0])?;
    }
    Ok(())
}

/// The address of a space's code; its page is after it.
const THERE: Word = 0x0100_0000;

/// A handler for threads of other spaces.
fn handler(bed: &mut Bed) -> Result<Thread, Why> {
    let handler = bed.slot();
    good(copy(crate::SELF.0, None, handler, Rights::CALL, crate::exception::BADGE))?;
    Ok(Thread(handler))
}

/// A thread of a space reads this in its page.
fn finds(space: Space, slot: Word, handler: Thread, number: u32) -> Result<(), Why> {
    let (made, _) = good(QUOTA.create_thread(space, slot, None))?;
    good(made.set_handler(Some(handler)))?;
    good(made.start(THERE, 0, THERE + PAGE))?;
    let (r, f) = next()?;
    check("its own", r.words[0] == vector::RESERVED && f.r[6] == number.into())?;
    good(delete(slot))
}

/// One space after another, each with its own page at the same address: an ASID that is given again
/// has no entry of its last owner.
fn asids(bed: &mut Bed) -> Result<(), Why> {
    const SPACES: u32 = 300;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, &[code::read(), code::invalid()].concat());
    good(map(SPACE, DATA, bed.ram, PAGE, 2 * PAGE, Rights(3)))?;
    let (slot, thread, handler) = (bed.slot(), bed.slot(), handler(bed)?);
    for number in 0..SPACES {
        let page = PAGE + Word::from(number % 2) * PAGE;
        fill(DATA + page - PAGE, 4, &number.to_ne_bytes());
        let space = good(QUOTA.create_space(16, slot))?;
        good(map(space, THERE, bed.ram, 0, PAGE, Rights(5)))?;
        good(map(space, THERE + PAGE, bed.ram, page, PAGE, Rights(3)))?;
        finds(space, thread, handler, number)?;
        good(delete(slot))?;
    }
    Ok(())
}

/// An alien of a space reads this in its page.
fn alien_finds(space: Space, slot: Word, number: u32) -> Result<(), Why> {
    let (alien, handle) = good(Alien::create(QUOTA, space, slot, crate::SELF))?;
    let mut f = alien.frame();
    (f.pc, f.r[5]) = (THERE, THERE + PAGE);
    alien.set_frame(&f);
    let event = good(run(handle))?;
    let found = alien.frame().r[6];
    check("its own", event.words[0] == vector::RESERVED && found == number.into())?;
    good(delete(slot))
}

/// All spaces stay, and run again and again: each loses its ASID to another one.
fn asids_in_turn(bed: &mut Bed) -> Result<(), Why> {
    const SPACES: u32 = 260;
    const PAGES: u32 = 60;
    good(map(SPACE, ADDRESS, bed.ram, 0, PAGE, Rights::RWX))?;
    fill(ADDRESS, PAGE, &[code::read(), code::invalid()].concat());
    good(map(SPACE, DATA, bed.ram, PAGE, Word::from(PAGES) * PAGE, Rights(3)))?;
    let page = |number: u32| Word::from(number % PAGES) * PAGE;
    let alien = bed.slot();
    let mut spaces = Vec::new();
    for number in 0..SPACES {
        let space = good(QUOTA.create_space(0, bed.slot()))?;
        good(map(space, THERE, bed.ram, 0, PAGE, Rights(5)))?;
        good(map(space, THERE + PAGE, bed.ram, PAGE + page(number), PAGE, Rights(3)))?;
        spaces.push(space);
    }
    for round in 0..3 {
        for (number, space) in (0..).zip(&spaces) {
            let written = round * SPACES + number;
            fill(DATA + page(number), 4, &written.to_ne_bytes());
            alien_finds(*space, alien, written)?;
        }
    }
    Ok(())
}
