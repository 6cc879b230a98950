// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random operations on servers and the spaces that show them, against a naive model.

use crate::common;

use abi::utcb::AREA_END;
use abi::{MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, RAM, WINDOWS, boot};
use common::model::{MEMORIES, Model, PARTS, SHARED, SPAN, SPANS, THREADS, found_in, is_there};
use common::servers::{ALL_WINDOWS, AREA, RWX, STARTS, check_space, create, space_of};
use common::{
    Found, call, check_flushes_of, check_lookup, derive, map, protect, seed, seen, slot,
    some_rights, succeeds, unmap, used,
};
use kcore::{Kernel, Space};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, HashMap};

/// Slots of the spaces: the first two are servers at the beginning, then come two of aliens and a
/// native one.
const OWNERS: [Word; 5] =
    [slot::FREE, slot::FREE + 1, slot::FREE + 2, slot::FREE + 3, slot::FREE + 4];
/// Where something may begin or end: borders of windows and what is near.
fn border(number: Word) -> Word {
    let start = STARTS[(number / 4 % 3) as usize];
    match number % 8 {
        0 => 0x1000_0000,
        1 => USER_END,
        2 => AREA_END,
        3 => start + AREA + TABLE_SPAN,
        4 | 5 => start + AREA,
        _ => start,
    }
}

/// What one step's random numbers mean; the space that is another one afterwards.
fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 5]) -> Option<Word> {
    let [what, a, b, c, d] = numbers;
    let space = OWNERS[(a % 5) as usize];
    let owner = if a % 8 == 7 { SHARED } else { space };
    let rights = some_rights(d / 64);
    if !model.spaces.contains_key(&space) {
        let place =
            [None, Some(0), Some(STARTS[0]), Some(STARTS[1]), Some(STARTS[2]), Some(STARTS[1])]
                [(b % 6) as usize];
        create(kernel, space, place);
        model.create(space, place);
        return Some(space);
    }
    let thread = THREADS + (a % 5);
    // A range from one border to another, a few pages around one, or a span; in the segment
    // likewise.
    let near = c / 8 % 5 * PAGE_SIZE;
    let limit = if owner == SHARED { SPANS * TABLE_SPAN } else { Word::MAX };
    let at = if owner == SHARED { b % SPANS * TABLE_SPAN + 2 * PAGE_SIZE } else { border(b) };
    let other = if owner == SHARED { SPANS * TABLE_SPAN } else { border(d) + near };
    let (start, end) = match c % 8 {
        0..=2 => {
            (at - 2 * PAGE_SIZE + near, at + (d % 4 + near / PAGE_SIZE) * PAGE_SIZE - PAGE_SIZE)
        }
        3 | 4 => (at - at % TABLE_SPAN, (at - at % TABLE_SPAN + TABLE_SPAN).min(limit)),
        _ => (at.min(other), at.max(other)),
    };
    let end = end.max(start + PAGE_SIZE);
    let (answer, expected) = match what % 16 {
        0 => {
            let global = Word::from(d % 4 == 0);
            (
                call(kernel, Op::Serve, [space, PARTS[(b % 3) as usize], global, 0])[0],
                model.serve(space, STARTS[(b % 3) as usize], global),
            )
        }
        1 if model.kind(space).place.is_some() => {
            let has_thread = &mut model.spaces.get_mut(&space).expect("it is there").has_thread;
            *has_thread = !*has_thread;
            let answer = if *has_thread {
                call(kernel, Op::CreateThread, [slot::QUOTA, space, thread, 0])
            } else {
                call(kernel, Op::Delete, [thread, 0, 0, 0])
            };
            (answer[0], 0)
        }
        2..=4 => {
            let server = OWNERS[(b % 5) as usize];
            let address = model
                .kind(server)
                .place
                .filter(|_| d % 8 != 0)
                .unwrap_or(STARTS[(d / 8 % 3) as usize]);
            if !model.spaces.contains_key(&server) {
                return None;
            }
            (
                call(kernel, Op::Attach, [space, address, server, RWX])[0],
                model.show(space, server, address),
            )
        }
        5 => {
            let place =
                border(b).max(SPANS * TABLE_SPAN) - [0, 1, 3][(c % 3) as usize] * TABLE_SPAN;
            let rights = rights.union(Rights::READ);
            (
                call(kernel, Op::Attach, [space, place, SHARED, rights.0 as Word])[0],
                model.attach(space, place, rights),
            )
        }
        6 => {
            let place = model
                .places
                .keys()
                .filter(|(s, _)| *s == space)
                .map(|(_, place)| *place)
                .nth((c % 4) as usize);
            let address =
                place.unwrap_or(if b % 4 == 0 { border(b / 4) } else { model.end(space) });
            (call(kernel, Op::Detach, [space, address, 0, 0])[0], model.detach(space, address))
        }
        7..=11 => {
            let is_large = c % 8 == 3;
            let memory = MEMORIES[if is_large { 2 } else { (d / 4 % 3) as usize }];
            let (first, count) = if is_large { (0, SPAN) } else { (d / 16 % 8, 1 + d % 4) };
            let start = if is_large { at - at % TABLE_SPAN } else { at - 2 * PAGE_SIZE + near };
            let record = MapRecord::new(
                MapRecord::MAP,
                owner,
                start,
                memory,
                first * PAGE_SIZE,
                count * PAGE_SIZE,
                rights,
            );
            (map(kernel, record), model.map(owner, start, (memory, first, count), rights))
        }
        12 => (map(kernel, unmap(owner, start, end - start)), model.unmap(owner, start, end)),
        13 => {
            let rights = if d % 8 < 3 { Rights::NONE } else { rights };
            (
                map(kernel, protect(owner, start, end - start, rights)),
                model.protect(owner, start, end, rights),
            )
        }
        14 => {
            let memory = MEMORIES[(d % 3) as usize];
            model.revoke(memory);
            (call(kernel, Op::Revoke, [memory, 0, 0, 0])[0], 0)
        }
        15 if d % 3 == 0 => {
            if model.kind(space).has_thread {
                succeeds(kernel, Op::Delete, [thread, 0, 0, 0]);
            }
            model.delete(space);
            (call(kernel, Op::Delete, [space, 0, 0, 0])[0], 0)
        }
        _ => return None,
    };
    assert_eq!(answer, expected, "{numbers:?}");
    None
}

/// Two servers, spaces for both kinds of threads, a segment, and the memories.
fn set_up() -> (Kernel<Host>, Model) {
    let (mut kernel, mut model) = (boot(), Model::default());
    for (number, place) in
        [Some(STARTS[0]), Some(STARTS[1]), None, None, Some(0)].into_iter().enumerate()
    {
        create(&mut kernel, OWNERS[number], place);
        model.create(OWNERS[number], place);
    }
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, SPANS * TABLE_SPAN, SHARED, 0]);
    for (part, start) in PARTS.into_iter().zip(STARTS) {
        assert_eq!(derive(&mut kernel, ALL_WINDOWS, start - WINDOWS, USER_END - start, part), 0);
    }
    for server in 0..2 {
        succeeds(&mut kernel, Op::Serve, [OWNERS[server], PARTS[server], 0, 0]);
        assert_eq!(model.serve(OWNERS[server], STARTS[server], 0), 0);
    }
    for memory in MEMORIES {
        let bytes = Model::pages_of(memory) * PAGE_SIZE;
        assert_eq!(
            derive(&mut kernel, slot::RAM, Model::base(memory) - RAM.base, bytes, memory),
            0
        );
    }
    (kernel, model)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_server_is_there_where_it_is_shown(steps in prop::collection::vec((any::<[Word; 5]>(), any::<bool>()), 1..80)) {
        let (mut kernel, mut model) = set_up();
        let start = used(&mut kernel) - model.charge();
        let addresses = |kernel: &Kernel<Host>, model: &Model| -> BTreeMap<Word, Ref<Space>> {
            model.spaces.keys().map(|space| (*space, space_of(kernel, *space))).collect()
        };
        let mut spaces = addresses(&kernel, &model);
        let mut before: BTreeMap<Word, Vec<Found>> = spaces.iter().map(|(slot, space)| (*slot, found_in(&kernel, *space))).collect();
        for (numbers, interrupted) in steps {
            kernel.port.invalidated.clear();
            kernel.port.announced.clear();
            kernel.port.pending = interrupted;
            let shown = kernel.port.shown.clone();
            let remade = step(&mut kernel, &mut model, numbers);
            spaces = addresses(&kernel, &model);
            before.retain(|slot, _| spaces.contains_key(slot));
            for (slot, space) in &spaces {
                check_space(&kernel, *space);
                let after = found_in(&kernel, *space);
                prop_assert!(seen(&after) == model.seen(*slot), "space {}", slot);
                if remade != Some(*slot) {
                    let of: Vec<u32> = [Some(space.address()), shown.get(&space.address()).copied()].into_iter().flatten().collect();
                    check_flushes_of(&kernel, &of, &before[slot], &after);
                }
                let end = model.end(*slot);
                for number in numbers {
                    let address = UserAddr(border(number) + number / 32 % 4 * PAGE_SIZE - 2 * PAGE_SIZE);
                    let is_kernels = model.kind(*slot).place.is_some_and(|place| (place..place + AREA).contains(&address.0));
                    if address.0 < end && !is_kernels {
                        check_lookup(&mut kernel, *slot, &after, (slot::RAM, RAM.base), address);
                    }
                }
                before.insert(*slot, after);
            }
            let expected = model.spaces.iter().filter_map(|(slot, kind)| Some((spaces[slot].address(), spaces[&kind.shows?].address())));
            prop_assert_eq!(&kernel.port.shown, &expected.collect::<HashMap<_, _>>());
            prop_assert_eq!(used(&mut kernel) - start, model.charge());
        }
        let objects = OWNERS.into_iter().chain([SHARED]).chain(PARTS).chain(MEMORIES).chain(THREADS..THREADS + 5);
        for slot in objects {
            if is_there(&kernel, slot) {
                succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
            }
        }
        prop_assert_eq!(used(&mut kernel), used(&mut boot()), "all comes back");
        prop_assert!(kernel.port.shown.is_empty() && kernel.port.segments.is_empty());
    }
}
