// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random operations on homes and the small spaces in them, against a naive model.

use crate::common;

use abi::{HOME, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, RAM, WINDOWS, boot};
use common::model::{
    MEMORIES, Model, PARTS, SHARED, SPAN, SPANS, Small, THREADS, found_in, is_there,
};
use common::servers::{
    ALL_WINDOWS, AREA, RWX, STARTS, check_moved, check_space, create, create_home, flush_homes,
    space_of,
};
use common::{
    Found, Seen, aside, begin, call, check_flushes_of, check_lookup, derive, low, map, protect,
    results, seed, seen, slot, some_rights, stop, succeeds, unmap, used,
};
use kcore::thread::flag;
use kcore::{Kernel, Space};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, HashMap};

/// Slots of the spaces: two homes, two spaces of aliens, two native ones, and a server.
const OWNERS: [Word; 7] = [
    slot::FREE + 20,
    slot::FREE + 21,
    slot::FREE,
    slot::FREE + 1,
    slot::FREE + 2,
    slot::FREE + 3,
    slot::FREE + 4,
];
/// Threads, one for each space.
const LAST: Word = THREADS + OWNERS.len() as Word;
/// Sizes of small spaces; the last ones are none. More entries than are copied in one step are in
/// two of them.
const SIZES: [Word; 8] = [
    4 * TABLE_SPAN,
    64 * TABLE_SPAN,
    4 * TABLE_SPAN,
    TABLE_SPAN,
    2 * TABLE_SPAN,
    1 << 30,
    3 * TABLE_SPAN,
    2 << 30,
];

/// A Quota that pays for one of the homes and for a space of aliens.
const OTHER_QUOTA: Word = slot::FREE + 22;

/// Makes a space again as it was at the beginning, or with its kernel's part elsewhere.
fn make(kernel: &mut Kernel<Host>, model: &mut Model, space: Word, number: Word) {
    let index = OWNERS.iter().position(|owner| *owner == space).expect("one of them");
    let place = match index {
        0..=3 => None,
        4 => Some(0),
        5 => Some([AREA, 0, 62 * TABLE_SPAN, STARTS[0]][(number % 4) as usize]),
        _ => Some(STARTS[(number % 3) as usize]),
    };
    match index {
        0 => create_home(kernel, space),
        1 | 3 => {
            succeeds(
                kernel,
                Op::CreateSpace,
                [OTHER_QUOTA, 0, space, if index == 1 { HOME } else { 0 }],
            );
        }
        _ => create(kernel, space, place),
    }
    model.create(space, place);
    model.spaces.get_mut(&space).expect("it is there").is_home = index < 2;
}

/// Where something may begin: in the first spans, beyond a size or at its end, where small spaces
/// are in their homes, and in a window.
fn span(number: Word) -> Word {
    let far = [
        63,
        64,
        65,
        66,
        127,
        128,
        (1 << 30) / TABLE_SPAN,
        USER_END / TABLE_SPAN - 1,
        (WINDOWS + AREA) / TABLE_SPAN - 1,
    ];
    let far = far
        .into_iter()
        .chain([(WINDOWS + AREA) / TABLE_SPAN, (STARTS[1] + AREA) / TABLE_SPAN])
        .nth((number / 4 % 11) as usize);
    TABLE_SPAN * if number.is_multiple_of(4) { far.expect("one of them") } else { number / 4 % 8 }
}

/// Where a small space may be, and its size. Some do not fit.
fn place(numbers: [Word; 2]) -> (Word, Word) {
    let [a, b] = numbers;
    let size = SIZES[(a % 32 / 4) as usize % if a % 4 == 0 { 8 } else { 5 }];
    let address = match b % 16 {
        0 => USER_END - USER_END % size,
        1 => (USER_END / size - 1).wrapping_mul(size),
        2 => (b / 16 % 4).wrapping_mul(size).wrapping_add(TABLE_SPAN),
        _ => (b / 16 % 4).wrapping_mul(size),
    };
    (address, size)
}

/// What one step's random numbers mean; the spaces that are others afterwards.
fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 5]) -> Vec<Word> {
    let [what, a, b, c, d] = numbers;
    let index = (a % 7) as usize;
    let space = OWNERS[index];
    let owner = if a / 7 % 5 == 0 { SHARED } else { space };
    let rights = some_rights(d / 64);
    if !model.spaces.contains_key(&space) {
        make(kernel, model, space, b);
        return vec![space];
    }
    let thread = THREADS + index as Word;
    // A few pages at the border of a span, or spans; in the segment likewise.
    let at = if owner == SHARED { b % SPANS * TABLE_SPAN } else { span(b) };
    let limit = if owner == SHARED { SPANS * TABLE_SPAN } else { USER_END };
    let (start, end) = match c % 4 {
        0 if at > 0 => (at - PAGE_SIZE, at + (1 + d % 4) * PAGE_SIZE),
        0 | 1 => (at + d / 4 % 8 * PAGE_SIZE, at + 8 * PAGE_SIZE),
        2 => (at, at + TABLE_SPAN),
        _ => (at, (at + (1 + d % 70) * TABLE_SPAN).min(limit)),
    };
    let (answer, expected) = match what % 24 {
        0 => (
            call(kernel, Op::Serve, [space, PARTS[(b % 3) as usize], 0, 0])[0],
            model.serve(space, STARTS[(b % 3) as usize], 0),
        ),
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
        2 | 3 => {
            let server = OWNERS[6 - usize::from(b % 8 == 0)];
            if !model.spaces.contains_key(&server) {
                return vec![];
            }
            let address = model
                .kind(server)
                .place
                .filter(|_| d % 8 != 0)
                .unwrap_or(STARTS[(d / 8 % 3) as usize]);
            (
                call(kernel, Op::Attach, [space, address, server, RWX])[0],
                model.show(space, server, address),
            )
        }
        4 | 5 => {
            let rights = rights.union(Rights::READ);
            (
                call(kernel, Op::Attach, [space, at, SHARED, rights.0 as Word])[0],
                model.attach(space, at, rights),
            )
        }
        6 => {
            let place = model
                .places
                .keys()
                .filter(|(s, _)| *s == space)
                .map(|(_, place)| *place)
                .nth((c % 4) as usize);
            let address = place.unwrap_or(if b % 4 == 0 { at } else { model.large_end(space) });
            (call(kernel, Op::Detach, [space, address, 0, 0])[0], model.detach(space, address))
        }
        7 => {
            let home = OWNERS[(a % 2) as usize];
            let Some(address) =
                model.small_in(home).map(|(_, small)| small.address).nth((c % 3) as usize)
            else {
                return vec![];
            };
            (call(kernel, Op::Detach, [home, address, 0, 0])[0], model.detach(home, address))
        }
        8..=11 => {
            let (home, (address, size)) =
                (OWNERS[if a % 16 == 0 { index } else { (d % 2) as usize }], place([b, c]));
            if !model.spaces.contains_key(&home) {
                return vec![];
            }
            (
                call(kernel, Op::Attach, [home, address, space, size + RWX])[0],
                model.make_small(home, address, space, size, false),
            )
        }
        12..=17 => {
            let is_large = c % 4 == 2;
            let memory = MEMORIES[if is_large { 2 } else { (d / 4 % 3) as usize }];
            let (first, count) = if is_large { (0, SPAN) } else { (d / 16 % 8, 1 + d % 4) };
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
        18 | 19 => (map(kernel, unmap(owner, start, end - start)), model.unmap(owner, start, end)),
        20 => {
            let rights = if d % 8 < 3 { Rights::NONE } else { rights };
            (
                map(kernel, protect(owner, start, end - start, rights)),
                model.protect(owner, start, end, rights),
            )
        }
        21 => {
            let memory = MEMORIES[(d % 3) as usize];
            model.revoke(memory);
            (call(kernel, Op::Revoke, [memory, 0, 0, 0])[0], 0)
        }
        22 if d % 2 == 0 => {
            if model.kind(space).has_thread {
                succeeds(kernel, Op::Delete, [thread, 0, 0, 0]);
            }
            model.delete(space);
            (call(kernel, Op::Delete, [space, 0, 0, 0])[0], 0)
        }
        // A segment and a memory are there again at once.
        23 if d % 4 == 0 => {
            model.delete_segment();
            succeeds(kernel, Op::Delete, [SHARED, 0, 0, 0]);
            (call(kernel, Op::CreateSegment, [slot::QUOTA, SPANS * TABLE_SPAN, SHARED, 0])[0], 0)
        }
        23 if d % 4 == 1 => {
            let memory = MEMORIES[(b % 3) as usize];
            model.revoke(memory);
            succeeds(kernel, Op::Delete, [memory, 0, 0, 0]);
            (derive_memory(kernel, memory), 0)
        }
        _ => return vec![],
    };
    assert_eq!(answer, expected, "{numbers:?}");
    vec![]
}

fn derive_memory(kernel: &mut Kernel<Host>, memory: Word) -> Word {
    derive(
        kernel,
        slot::RAM,
        Model::base(memory) - RAM.base,
        Model::pages_of(memory) * PAGE_SIZE,
        memory,
    )
}

/// Begins to make a space small as random numbers say; how, if it is to be carried on.
fn begin_small(
    kernel: &mut Kernel<Host>,
    model: &mut Model,
    numbers: [Word; 5],
) -> Option<(Word, Small)> {
    let [what, a, b, c, d] = numbers;
    let ((home, space), (address, size)) =
        ((OWNERS[(d % 2) as usize], OWNERS[2 + (a % 4) as usize]), place([b, c]));
    if what % 4 != 0 || !model.spaces.contains_key(&home) || !model.spaces.contains_key(&space) {
        return None;
    }
    let goes_on = begin(kernel, Op::Attach, [home, address, space, size + RWX]);
    let me = kernel.current().expect("the root server runs");
    let expected = model.make_small(home, address, space, size, false);
    assert_eq!(goes_on, expected == 0, "it checks for interrupts");
    if !goes_on {
        assert_eq!(results(&kernel.pool[me])[0], expected, "{numbers:?}");
        return None;
    }
    // A part of it may come at once.
    for _ in 0..d / 2 % 2 {
        kernel.carry_on();
        if kernel.pool[me].flags & flag::AGAIN == 0 {
            return None;
        }
    }
    let small = model.spaces.get_mut(&space)?.small.as_mut()?;
    small.is_whole = false;
    Some((space, *small))
}

/// Carries that on, or leaves it.
fn end_small(
    kernel: &mut Kernel<Host>,
    model: &mut Model,
    (space, small): (Word, Small),
    is_left: bool,
) {
    if is_left {
        return stop(kernel);
    }
    while kernel.carry_on() {}
    let Small { home, address, size, .. } = small;
    let is_gone = [home, space].iter().any(|space| !model.spaces.contains_key(space));
    let expected = if is_gone {
        abi::Error::NoCapability as Word
    } else {
        model.make_small(home, address, space, size, true)
    };
    let me = kernel.current().expect("the root server runs");
    assert_eq!(results(&kernel.pool[me])[0], expected, "{small:x?}", small = (home, address, size));
}

/// What was found before a step, with which it is compared.
struct Before {
    found: BTreeMap<Word, Vec<Found>>,
    shown: HashMap<u32, u32>,
    moved: HashMap<u32, (u32, std::ops::Range<UserAddr>)>,
}

impl Before {
    fn new(kernel: &mut Kernel<Host>, model: &Model) -> Self {
        kernel.port.invalidated.clear();
        kernel.port.announced.clear();
        let found = model
            .spaces
            .keys()
            .map(|slot| (*slot, found_in(kernel, space_of(kernel, *slot))))
            .collect();
        Self { found, shown: kernel.port.shown.clone(), moved: kernel.port.moved.clone() }
    }
}

/// The kernel is as the model says. Of spaces that are others than before nothing needs to be
/// flushed.
fn check(kernel: &mut Kernel<Host>, model: &Model, before: &Before, remade: &[Word], start: u32) {
    let spaces: BTreeMap<Word, Ref<Space>> =
        model.spaces.keys().map(|space| (*space, space_of(kernel, *space))).collect();
    flush_homes(kernel, &before.moved);
    for (slot, space) in &spaces {
        check_space(kernel, *space);
        assert_eq!(kernel.pool[*space].region.end.0, model.end(*slot), "where space {slot} ends");
        let after = found_in(kernel, *space);
        let (now, mut expected) = (seen(&after), model.seen(*slot));
        for (_, small) in model.small_in(*slot).filter(|(_, small)| !small.is_whole) {
            // Up to some entry it is there.
            let is_late = |at: &UserAddr| {
                (small.address..small.address + small.size).contains(&at.0) && !now.contains_key(at)
            };
            expected.retain(|at, _| !is_late(at));
        }
        assert!(now == expected, "space {slot}: {:?}", difference(&now, &expected));
        if !remade.contains(slot) {
            let of: Vec<u32> = [Some(space.address()), before.shown.get(&space.address()).copied()]
                .into_iter()
                .flatten()
                .collect();
            check_flushes_of(kernel, &of, &before.found[slot], &after);
        }
        let look_at = after
            .iter()
            .step_by(1 + after.len() / 4)
            .map(|found| found.address)
            .collect::<Vec<_>>();
        for address in look_at.into_iter().filter(|address| address.0 < model.end(*slot)) {
            check_lookup(kernel, *slot, &after, (slot::RAM, RAM.base), address);
        }
    }
    let homes = model.spaces.iter().filter(|(_, kind)| kind.is_home).map(|(slot, _)| spaces[slot]);
    check_moved(kernel, &homes.collect::<Vec<_>>());
    let small = model.spaces.iter().filter_map(|(slot, kind)| {
        Some((spaces[slot].address(), kind.small.filter(|small| small.is_whole)?))
    });
    let moved = small.map(|(space, Small { home, address, size, .. })| {
        (space, (spaces[&home].address(), UserAddr(address)..UserAddr(address + size)))
    });
    assert_eq!(kernel.port.moved, moved.collect::<HashMap<_, _>>());
    let shown = model
        .spaces
        .iter()
        .filter_map(|(slot, kind)| Some((spaces[slot].address(), spaces[&kind.shows?].address())));
    assert_eq!(kernel.port.shown, shown.collect::<HashMap<_, _>>());
    assert_eq!(all_used(kernel) - start, model.charge());
}

/// Bytes that are charged to both Quotas.
fn all_used(kernel: &mut Kernel<Host>) -> u32 {
    used(kernel) + low(succeeds(kernel, Op::QuotaInfo, [OTHER_QUOTA, 0, 0, 0])[1])
}

/// What is in only one of them.
fn difference(now: &Seen, expected: &Seen) -> Vec<UserAddr> {
    let one = now.iter().filter(|(at, what)| expected.get(at) != Some(what));
    let other = expected.iter().filter(|(at, what)| now.get(at) != Some(what));
    one.chain(other).map(|(at, _)| *at).collect()
}

fn set_up() -> (Kernel<Host>, Model) {
    let (mut kernel, mut model) = (boot(), Model::default());
    succeeds(&mut kernel, Op::CreateQuota, [slot::QUOTA, 256 * PAGE_SIZE, OTHER_QUOTA, 0]);
    for owner in OWNERS {
        make(&mut kernel, &mut model, owner, 0);
    }
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, SPANS * TABLE_SPAN, SHARED, 0]);
    for (part, start) in PARTS.into_iter().zip(STARTS) {
        assert_eq!(derive(&mut kernel, ALL_WINDOWS, start - WINDOWS, USER_END - start, part), 0);
    }
    succeeds(&mut kernel, Op::Serve, [OWNERS[6], PARTS[0], 0, 0]);
    assert_eq!(model.serve(OWNERS[6], STARTS[0], 0), 0);
    for memory in MEMORIES {
        assert_eq!(derive_memory(&mut kernel, memory), 0);
    }
    (kernel, model)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_home_has_what_its_small_spaces_have(steps in prop::collection::vec((any::<[Word; 5]>(), any::<[Word; 5]>()), 1..100), order in any::<u32>()) {
        let (mut kernel, mut model) = set_up();
        let start = all_used(&mut kernel) - model.charge();
        for (numbers, others) in steps {
            kernel.port.pending = false;
            let before = Before::new(&mut kernel, &model);
            if let Some(begun) = begin_small(&mut kernel, &mut model, numbers) {
                aside(&mut kernel, |kernel| {
                    check(kernel, &model, &before, &[], start);
                    let before = Before::new(kernel, &model);
                    let remade = step(kernel, &mut model, others);
                    check(kernel, &model, &before, &remade, start);
                });
                let before = Before::new(&mut kernel, &model);
                end_small(&mut kernel, &mut model, begun, numbers[1] / 8 % 4 == 0);
                kernel.port.pending = false;
                check(&mut kernel, &model, &before, &[], start);
            } else {
                kernel.port.pending = numbers[0] / 8 % 2 == 0;
                let remade = step(&mut kernel, &mut model, others);
                kernel.port.pending = false;
                check(&mut kernel, &model, &before, &remade, start);
            }
        }
        let mut objects: Vec<Word> = OWNERS.into_iter().chain([SHARED, OTHER_QUOTA]).chain(PARTS).chain(MEMORIES).chain(THREADS..LAST).collect();
        objects.sort_by_key(|slot| low(*slot).wrapping_mul(order | 1).rotate_left(16));
        for slot in objects {
            if is_there(&kernel, slot) {
                succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
            }
            let spaces = OWNERS.into_iter().filter(|space| is_there(&kernel, *space)).map(|space| space_of(&kernel, space));
            let (homes, others): (Vec<_>, Vec<_>) = spaces.partition(|space| kernel.pool[*space].is_home());
            homes.iter().chain(&others).for_each(|space| check_space(&kernel, *space));
            check_moved(&kernel, &homes);
        }
        prop_assert_eq!(used(&mut kernel), used(&mut boot()), "all comes back");
        prop_assert!(kernel.port.shown.is_empty() && kernel.port.moved.is_empty() && kernel.port.segments.is_empty());
    }
}
