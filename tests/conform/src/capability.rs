// SPDX-License-Identifier: MIT OR Apache-2.0
//! Capability tables: copy, identify, delete, revoke.

use crate::{Bed, Case, QUOTA, SELF, Why, check, fails, good};
use abi::{Kind, Rights, Word};
use macadamia::cap::{copy, delete, identify, revoke};
use macadamia::{Error, Thread};

pub const CASES: &[Case] = &[
    ("identify_tells_kind_and_limit", identify_tells_kind_and_limit),
    ("slot_zero_is_always_empty", |_| fails(identify(0), Error::NoCapability)),
    ("selector_beyond_the_table_is_no_capability", |_| {
        fails(identify(1 << 20), Error::NoCapability)
    }),
    ("copy_has_at_most_the_rights_of_its_source", copy_has_at_most_the_rights),
    ("copy_to_a_slot_in_use_is_refused", |_| {
        fails(copy(SELF.0, None, SELF.0, Rights::ALL, 0), Error::BadSlot)
    }),
    ("copy_beyond_the_table_is_refused", |_| {
        fails(copy(SELF.0, None, 1 << 20, Rights::ALL, 0), Error::BadSlot)
    }),
    ("copy_of_nothing_is_refused", copy_of_nothing),
    ("a_badge_is_set_once", a_badge_is_set_once),
    ("only_threads_have_badges", |bed| {
        let slot = bed.slot();
        fails(copy(QUOTA.0, None, slot, Rights::ALL, 7), Error::BadArgument)
    }),
    ("delete_empties_a_slot", delete_empties_a_slot),
    ("delete_of_nothing_is_refused", |bed| {
        let slot = bed.slot();
        fails(delete(slot), Error::NoCapability)
    }),
    ("revoke_takes_copies_of_copies", revoke_takes_copies_of_copies),
    ("deleting_a_copy_takes_its_copies", deleting_a_copy_takes_its_copies),
    ("deleting_the_original_takes_all", deleting_the_original_takes_all),
    ("wrong_kind_is_said", |_| fails(Thread(QUOTA.0).stop(), Error::WrongKind)),
    ("missing_right_is_said", missing_right),
    ("depth_is_limited", depth_is_limited),
];

fn identify_tells_kind_and_limit(_: &mut Bed) -> Result<(), Why> {
    let [kind, _, size] = good(identify(QUOTA.0))?;
    let (_, limit) = good(QUOTA.info())?;
    check("kind is Quota", kind == Kind::Quota as Word)?;
    check("size is the limit", size == limit)
}

fn copy_has_at_most_the_rights(bed: &mut Bed) -> Result<(), Why> {
    let (weak, weaker) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, weak, Rights::CALL, 0))?;
    good(copy(weak, None, weaker, Rights::ALL, 0))?;
    let [_, rights, _] = good(identify(weaker))?;
    check("only the right to call", rights == Rights::CALL.0 as Word)
}

fn copy_of_nothing(bed: &mut Bed) -> Result<(), Why> {
    let (from, to) = (bed.slot(), bed.slot());
    fails(copy(from, None, to, Rights::ALL, 0), Error::NoCapability)
}

fn a_badge_is_set_once(bed: &mut Bed) -> Result<(), Why> {
    let (badged, again, kept) = (bed.slot(), bed.slot(), bed.slot());
    good(copy(SELF.0, None, badged, Rights::ALL, 0xabcde))?;
    fails(copy(badged, None, again, Rights::ALL, 1), Error::BadArgument)?;
    good(copy(badged, None, kept, Rights::ALL, 0))?;
    let [_, rights, _] = good(identify(kept))?;
    check("badge is inherited", rights >> 12 == 0xabcde)
}

fn delete_empties_a_slot(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    good(copy(SELF.0, None, slot, Rights::ALL, 0))?;
    good(delete(slot))?;
    fails(identify(slot), Error::NoCapability)
}

fn revoke_takes_copies_of_copies(bed: &mut Bed) -> Result<(), Why> {
    let (a, b, c) = (bed.slot(), bed.slot(), bed.slot());
    good(copy(SELF.0, None, a, Rights::ALL, 0))?;
    good(copy(a, None, b, Rights::ALL, 0))?;
    good(copy(b, None, c, Rights::ALL, 0))?;
    good(revoke(a))?;
    check("the revoked one stays", identify(a).is_ok())?;
    fails(identify(b), Error::NoCapability)?;
    fails(identify(c), Error::NoCapability)?;
    check("the source stays", identify(SELF.0).is_ok())
}

fn deleting_a_copy_takes_its_copies(bed: &mut Bed) -> Result<(), Why> {
    let (a, b) = (bed.slot(), bed.slot());
    good(copy(SELF.0, None, a, Rights::ALL, 0))?;
    good(copy(a, None, b, Rights::ALL, 0))?;
    good(delete(a))?;
    // Its derived capabilities are deleted, too: a delete revokes first.
    fails(identify(b), Error::NoCapability)
}

fn deleting_the_original_takes_all(bed: &mut Bed) -> Result<(), Why> {
    let (original, copied) = (bed.slot(), bed.slot());
    good(QUOTA.create_quota(4096, 0, original))?;
    good(copy(original, None, copied, Rights::ALL, 0))?;
    good(delete(original))?;
    fails(identify(copied), Error::NoCapability)
}

fn missing_right(bed: &mut Bed) -> Result<(), Why> {
    let slot = bed.slot();
    good(copy(SELF.0, None, slot, Rights::CALL, 0))?;
    fails(Thread(slot).stop(), Error::NoRight)?;
    fails(Thread(slot).notify(), Error::NoRight)
}

fn depth_is_limited(bed: &mut Bed) -> Result<(), Why> {
    let mut from = SELF.0;
    for _ in 0..300 {
        let to = bed.slot();
        match copy(from, None, to, Rights::ALL, 0) {
            Ok(()) => from = to,
            Err(error) => return check("the error says so", error == Error::TooDeep),
        }
    }
    Err("300 generations".into())
}
