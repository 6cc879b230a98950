// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots of relocation: Quotas have shares of them, and spaces that share a slot keep their own
//! memory.

use super::domain;
use crate::{Bed, Case, PAGE, QUOTA, Why, check, good};
use abi::arch::armv5::place::RELOCATED;
use abi::{Error, Selector, Word, call};
use macadamia::alloc::vec::Vec;
use macadamia::cap::{Counts, delete};
use macadamia::{Quota, Space, sys};
use processor::code;

pub const CASES: &[Case] = &[
    ("slots_are_divided_by_quota", divided),
    ("more_slots_than_there_are_are_not_promised", refused),
    ("spaces_that_share_a_slot_keep_their_words", shared),
];

/// Kernel memory of a Quota here.
const BYTES: Word = 128 << 10;
/// The addresses of spaces' code and data: both are relocated.
const CODE: u32 = 0x10_0000;
const DATA: u32 = CODE + PAGE;

fn quota(bed: &mut Bed, threads: Word, slots: Word) -> Result<Quota, Why> {
    let slot = bed.slot();
    good(QUOTA.create_quota_with(
        BYTES,
        Counts { threads, relocation_slots: slots, locked_ranges: 0 },
        slot,
    ))
}

/// A space of aliens that asks for a slot, and the number of the one that it has.
fn relocated(bed: &mut Bed, quota: Quota) -> Result<(Space, Word), Why> {
    let slot = bed.slot();
    let [_, place, _] = good(sys::call(call::CreateSpace {
        quota: quota.into(),
        slots: 0,
        destination: Selector(slot),
        place: RELOCATED,
    }))?;
    Ok((Space(slot), place))
}

fn divided(bed: &mut Bed) -> Result<(), Why> {
    let (two, one, none) = (quota(bed, 0, 2)?, quota(bed, 0, 1)?, quota(bed, 0, 0)?);
    let (a, b, c) = (relocated(bed, two)?, relocated(bed, two)?, relocated(bed, one)?);
    check(
        "a slot for each",
        a.1 != 0 && b.1 != 0 && c.1 != 0 && a.1 != b.1 && a.1 != c.1 && b.1 != c.1,
    )?;
    check("without any it is not relocated", relocated(bed, none)?.1 == 0)?;
    let (third, fourth) = (relocated(bed, two)?, relocated(bed, two)?);
    check(
        "they share the two evenly",
        [third.1, fourth.1] == [a.1, b.1] || [third.1, fourth.1] == [b.1, a.1],
    )?;
    check("it shares the one", relocated(bed, one)?.1 == c.1)?;
    check(
        "what is charged",
        good(two.relocation_slots())? == (2, 2) && good(one.relocation_slots())? == (1, 1),
    )?;
    // The slot is free again when its last space is deleted.
    let others = if third.1 == a.1 { [third.0, b.0, fourth.0] } else { [fourth.0, b.0, third.0] };
    good(delete(a.0.0))?;
    check("one is left in the slot", good(two.relocation_slots())? == (2, 2))?;
    good(delete(others[0].0))?;
    check("nobody is", good(two.relocation_slots())? == (1, 2))?;
    check("the next has one of its own", relocated(bed, two)?.1 != b.1)?;
    good(delete(others[1].0))?;
    good(delete(others[2].0))?;
    check("again nobody is", good(two.relocation_slots())? == (1, 2))
}

fn refused(bed: &mut Bed) -> Result<(), Why> {
    let (used, limit) = good(QUOTA.relocation_slots())?;
    let (rest, slot) = (limit - used, bed.slot());
    let counts = Counts { relocation_slots: rest + 1, ..Counts::default() };
    let made = QUOTA.create_quota_with(BYTES, counts, slot).map(|_| ());
    check("one more than is left", made == Err(Error::QuotaExceeded))?;
    quota(bed, 0, rest)?;
    check("all are promised", good(QUOTA.relocation_slots())? == (limit, limit))?;
    let wrong = sys::call(call::QuotaInfo { quota: QUOTA.into(), part: 3 });
    check("there is no fourth kind", wrong == Err(Error::BadArgument))
}

fn shared(bed: &mut Bed) -> Result<(), Why> {
    const SPACES: u32 = 5;
    let quota = quota(bed, SPACES, 2)?;
    domain::load(bed, code::increments_and_calls())?;
    let mut all = Vec::new();
    for i in 0..SPACES {
        domain::number(bed, i)?;
        let (space, _) = relocated(bed, quota)?;
        all.push(domain::counter(bed, quota, space, (i, CODE, DATA))?);
    }
    domain::count(&mut all)
}
