// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects whose deletion deletes much else.

use crate::code::{Code, OWN_QUOTA, OWN_SPACE};
use crate::{Bed, CONTROL, Case, PAGE, QUOTA, RW, SPAN, batches, expect, pause};
use abi::{MapRecord, Op, USER_END, Word};
use macadamia::cap::{copy, delete, identify, revoke};
use macadamia::interval::case;
use macadamia::{Error, Result, Space, Thread};

pub const CASES: &[Case] = &[
    ("own_ground", own_ground),
    ("nested_quotas", nested_quotas),
    ("nested_spaces", nested_spaces),
    ("large_space", large_space),
    ("unfinished_space", unfinished_space),
    ("space_of_objects", space_of_objects),
    ("space_of_tables", space_of_tables),
    ("space_of_threads", space_of_threads),
    ("deep_derivation", deep_derivation),
    ("wide_derivation", wide_derivation),
];

/// How many objects the kernel has to walk over.
const MANY: Word = 2000;
/// More Quotas than may be nested.
const DEEP: Word = 17;

/// Quotas in the table of a dwelling, from slot 16 on.
fn fill(bed: &Bed, thread: Thread) -> Result<()> {
    (16..16 + MANY).try_for_each(|slot| {
        bed.act(thread, &Code::call(Op::CreateQuota, [OWN_QUOTA, 64, slot, 0]))
    })
}

/// A thread whose original is among the first capabilities of a Space deletes that Space: the
/// thread is deleted when most of the work is still to be done.
fn own_ground(bed: &mut Bed) -> Result<()> {
    const ORIGINAL: Word = 3;
    let (ground, builder) = bed.dwelling(16 + MANY)?;
    let slot = bed.slot();
    bed.act(builder, &Code::call(Op::CreateThread, [OWN_QUOTA, OWN_SPACE, ORIGINAL, 0]))?;
    bed.act(builder, &Code::call(Op::Copy, [ORIGINAL, OWN_SPACE, slot, CONTROL.0 as Word]))?;
    fill(bed, builder)?;
    case("own_ground.delete");
    bed.start(Thread(slot), &Code::call(Op::Delete, [ground.0, 0, 0, 0]), 0)?;
    for _ in 0..1000 {
        if identify(ground.0).is_err() {
            return Ok(());
        }
        pause(1_000_000)?;
    }
    expect(false)
}

/// Each in the one before; all except the last no longer have a capability when that is deleted.
fn nested_quotas(bed: &mut Bed) -> Result<()> {
    let mut inner = QUOTA;
    let first = bed.slot();
    for (slot, room) in (first..).zip((0..DEEP).rev()) {
        match inner.create_quota(room * 128, 0, slot) {
            Ok(made) => inner = made,
            // It is as deep as allowed.
            Err(Error::TooDeep) => break,
            Err(error) => return Err(error),
        }
        bed.slot();
    }
    case("nested_quotas.delete");
    (first..=inner.0).try_for_each(delete)
}

/// Each one's original is in the table of the outer one; the outermost is deleted.
fn nested_spaces(bed: &mut Bed) -> Result<()> {
    const DEPTH: u32 = 250;
    const INNER: Word = 3;
    let (outermost, builder) = bed.dwelling(4)?;
    for _ in 0..DEPTH {
        let slot = bed.slot();
        bed.act(builder, &Code::call(Op::CreateSpace, [OWN_QUOTA, 4, INNER, 0]))?;
        bed.act(builder, &Code::call(Op::Copy, [INNER, OWN_SPACE, slot, CONTROL.0 as Word]))?;
        bed.furnish(Space(slot))?;
        builder.reset(Space(slot), None)?;
    }
    case("nested_spaces.delete");
    delete(outermost.0)
}

/// The largest table of capabilities, made and deleted.
fn large_space(bed: &mut Bed) -> Result<()> {
    let slot = bed.slot();
    QUOTA.create_space(65536, slot)?;
    case("large_space.delete");
    delete(slot)
}

/// Spaces for which the kernel memory is not enough: what was made is freed in the same step. One
/// that is made has about eight pages beside its table.
fn unfinished_space(bed: &mut Bed) -> Result<()> {
    const SLOTS: Word = 2000;
    const TABLE: Word = 32 << 10;
    const MOST: Word = 12;
    let mut failed = 0;
    for pages in 0..MOST {
        let few = QUOTA.create_quota(TABLE + pages * PAGE, 1, bed.slot())?;
        let slot = bed.slot();
        case("unfinished_space.create");
        failed += u32::from(few.create_space(SLOTS, slot).is_err());
    }
    expect(failed > 1)
}

fn space_of_objects(bed: &mut Bed) -> Result<()> {
    let (space, builder) = bed.dwelling(16 + MANY)?;
    fill(bed, builder)?;
    case("space_of_objects.delete");
    delete(space.0)
}

/// As many tables as kernel memory allows, where a space can have more.
const TABLES: usize = if Word::BITS == 64 { 2000 } else { 4000 };

/// A table for nearly every span of a space, or for as many as kernel memory allows.
fn space_of_tables(bed: &mut Bed) -> Result<()> {
    let space = QUOTA.create_space(0, bed.slot())?;
    let (ram, spans) = (bed.ram, (0..USER_END).step_by(SPAN as usize).take(TABLES));
    batches(
        spans.map(|address| MapRecord::new(MapRecord::MAP, space.0, address, ram.0, 0, PAGE, RW)),
    )?;
    case("space_of_tables.delete");
    delete(space.0)
}

fn space_of_threads(bed: &mut Bed) -> Result<()> {
    let (space, _) = bed.dwelling(4)?;
    (0..200).try_for_each(|_| QUOTA.create_thread(space, bed.slot(), None).map(|_| ()))?;
    case("space_of_threads.delete");
    delete(space.0)
}

/// As many copies of copies as are allowed.
fn deep_derivation(bed: &mut Bed) -> Result<()> {
    let first = bed.slot();
    QUOTA.create_quota(PAGE, 0, first)?;
    (0..255).try_for_each(|_| {
        let slot = bed.slot();
        copy(slot - 1, None, slot, CONTROL, 0)
    })?;
    expect(copy(first + 255, None, bed.slot(), CONTROL, 0).is_err())?;
    case("deep_derivation.delete");
    delete(first)
}

fn wide_derivation(bed: &mut Bed) -> Result<()> {
    let first = bed.slot();
    bed.ram.derive(0, PAGE, first, QUOTA)?;
    (0..MANY).try_for_each(|_| copy(first, None, bed.slot(), RW, 0))?;
    case("wide_derivation.revoke");
    revoke(first)
}
