// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotas against a naive model: which Quota is charged for what, what is refused, and that every
//! byte and every thread comes back. Quotas are nested; what is charged are small Memory objects
//! and threads.

use crate::common;

use abi::{CacheOp, Error, Op, PAGE_SIZE, Word};
use arch_host::{Host, RELOCATED, boot};
use common::{begin, call, call_with, results, seed, slot};
use kcore::Kernel;
use kcore::quota::MAX_DEPTH;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;

const FIRST: Word = slot::FREE;
const SLOTS: Word = 20;
/// Bytes of a Quota, and of a Memory.
const QUOTA_BYTES: Word = kcore::quota::QUOTA_BYTES as Word;
const MEMORY_BYTES: Word = pool::MIN_BYTES as Word;
/// The root server's own Quota, whose charges from elsewhere the model does not know.
const ROOT: u32 = 0;

/// Bytes and threads.
type Cost = (Word, Word);

#[derive(Clone, Debug)]
enum What {
    Quota { limit: Cost, deleted: bool },
    Charge(Cost),
}

/// Something charged: to which Quota (an id), and what it is.
#[derive(Clone, Debug)]
struct Item {
    payer: u32,
    what: What,
}

#[derive(Default)]
struct Model {
    items: BTreeMap<u32, Item>,
    slots: BTreeMap<Word, u32>,
    next: u32,
}

impl Model {
    fn cost(item: &Item) -> Cost {
        match item.what {
            What::Quota { limit: (bytes, threads), .. } => (bytes + QUOTA_BYTES, threads),
            What::Charge(cost) => cost,
        }
    }
    fn used(&self, quota: u32) -> Cost {
        let charged = self.items.values().filter(|item| item.payer == quota).map(Self::cost);
        charged.fold((0, 0), |(bytes, threads), (b, t)| (bytes + b, threads + t))
    }
    fn limit(&self, quota: u32) -> Cost {
        match self.items.get(&quota) {
            Some(Item { what: What::Quota { limit, .. }, .. }) => *limit,
            _ => (Word::MAX, Word::MAX),
        }
    }
    fn fits(&self, quota: u32, (bytes, threads): Cost) -> bool {
        let (limit, used) = (self.limit(quota), self.used(quota));
        bytes <= limit.0 - used.0 && threads <= limit.1 - used.1
    }
    /// Quotas above one.
    fn depth(&self, quota: u32) -> u32 {
        self.items.get(&quota).map_or(0, |item| self.depth(item.payer) + 1)
    }
    fn add(&mut self, slot: Word, payer: u32, what: What) {
        self.next += 1;
        self.items.insert(self.next, Item { payer, what });
        self.slots.insert(slot, self.next);
    }
    /// A deleted quota lives until nothing is charged to it.
    fn delete(&mut self, slot: Word) {
        let Some(id) = self.slots.remove(&slot) else { return };
        match &mut self.items.get_mut(&id).expect("what a slot names").what {
            What::Quota { deleted, .. } => *deleted = true,
            What::Charge(_) => {
                self.items.remove(&id);
            }
        }
        while let Some(done) = self
            .items
            .iter()
            .find(|(id, item)| {
                matches!(item.what, What::Quota { deleted: true, .. }) && self.used(**id) == (0, 0)
            })
            .map(|(id, _)| *id)
        {
            self.items.remove(&done);
        }
    }
}

fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 4]) {
    let [what, a, b, c] = numbers;
    let to = FIRST + a % SLOTS;
    let quotas: Vec<(Word, u32)> = model
        .slots
        .iter()
        .filter(|(_, id)| matches!(model.items[id].what, What::Quota { .. }))
        .map(|(slot, id)| (*slot, *id))
        .collect();
    // Mostly a quota of the model, else the root server's.
    let (selector, payer) =
        quotas.get(b as usize % (quotas.len() + 1)).copied().unwrap_or((slot::QUOTA, ROOT));
    let free = !model.slots.contains_key(&to);
    let expect = |status: Word, fits: bool| {
        let expected = if !free {
            Error::BadSlot as Word
        } else if fits {
            0
        } else {
            Error::QuotaExceeded as Word
        };
        assert_eq!(status, expected);
        status == 0
    };
    match what % 4 {
        0 => {
            let limit = (c % 6000, c / 6000 % 6);
            let (bytes, threads) = limit;
            let [status, ..] = call(kernel, Op::CreateQuota, [selector, bytes, to, threads]);
            if free && model.depth(payer) == MAX_DEPTH {
                assert_eq!(status, Error::TooDeep as Word);
            } else if expect(status, model.fits(payer, (bytes + QUOTA_BYTES, threads))) {
                model.add(to, payer, What::Quota { limit, deleted: false });
            }
        }
        1 => {
            let cost = (MEMORY_BYTES, 0);
            let fits = model.fits(payer, cost);
            if expect(
                call_with(
                    kernel,
                    Op::DeriveMemory,
                    [slot::RAM, 0, PAGE_SIZE, to],
                    &[(3, selector)],
                )[0],
                fits,
            ) {
                model.add(to, payer, What::Charge(cost));
            }
        }
        2 => {
            let fits = model.fits(payer, (0, 1));
            if expect(call(kernel, Op::CreateThread, [selector, slot::SPACE, to, 0])[0], fits) {
                model.add(to, payer, What::Charge((0, 1)));
            }
        }
        _ => {
            assert_eq!(call(kernel, Op::Delete, [to, 0, 0, 0])[0] == 0, !free);
            model.delete(to);
        }
    }
}

/// What `quota_info` tells: used, limit.
fn figures(kernel: &mut Kernel<Host>, selector: Word) -> (Cost, Cost) {
    let [status, used, limit, threads, _] = call(kernel, Op::QuotaInfo, [selector, 0, 0, 0]);
    assert_eq!(status, 0);
    ((used, threads & 0xffff), (limit, threads >> 16))
}

fn free_bytes(kernel: &Kernel<Host>) -> Word {
    kernel.pool.free_bytes() as Word
}

/// The ranges of locked lines of `quota_info`: used, limit.
fn locks(kernel: &mut Kernel<Host>, selector: Word) -> (Word, Word) {
    let [status, used, limit, none, _] = call(kernel, Op::QuotaInfo, [selector, 2, 0, 0]);
    assert_eq!((status, none), (0, 0));
    (used, limit)
}

/// A component that makes Quotas gets no more ranges by that, and gets back the ranges of Quotas
/// that end.
#[test]
fn locked_ranges_are_divided() {
    const CHILD: Word = FIRST;
    const SPACE: Word = FIRST + 1;
    let mut kernel = boot();
    let all = Word::from(arch_host::LOCKS);
    let lock = |kernel: &mut Kernel<Host>, space: Word, page: Word, what: CacheOp| {
        call(kernel, Op::Cache, [space, page * PAGE_SIZE, PAGE_SIZE, what as Word])[0]
    };
    assert_eq!(
        call(&mut kernel, Op::CreateQuota, [slot::QUOTA, 1 << 16, CHILD, (all + 1) << 24])[0],
        Error::QuotaExceeded as Word
    );
    assert_eq!(call(&mut kernel, Op::CreateQuota, [slot::QUOTA, 1 << 16, CHILD, 1 << 24])[0], 0);
    assert_eq!((locks(&mut kernel, slot::QUOTA), locks(&mut kernel, CHILD)), ((1, all), (0, 1)));
    assert_eq!(call(&mut kernel, Op::CreateSpace, [CHILD, 0, SPACE, 0])[0], 0);
    assert_eq!(lock(&mut kernel, SPACE, 1, CacheOp::Unlock), Error::NotThere as Word);
    assert_eq!(lock(&mut kernel, SPACE, 1, CacheOp::Lock), 0);
    assert_eq!(lock(&mut kernel, SPACE, 1, CacheOp::Lock), 0, "it is paid for");
    assert_eq!(lock(&mut kernel, SPACE, 2, CacheOp::Lock), Error::QuotaExceeded as Word);
    for page in 1..all {
        assert_eq!(lock(&mut kernel, slot::SPACE, page, CacheOp::Lock), 0);
    }
    assert_eq!(lock(&mut kernel, slot::SPACE, all, CacheOp::Lock), Error::QuotaExceeded as Word);
    assert_eq!(lock(&mut kernel, SPACE, 1, CacheOp::Unlock), 0);
    assert_eq!(locks(&mut kernel, CHILD), (0, 1));
    assert_eq!(lock(&mut kernel, SPACE, 2, CacheOp::Lock), 0);
    assert_eq!((locks(&mut kernel, slot::QUOTA), locks(&mut kernel, CHILD)), ((all, all), (1, 1)));
    assert_eq!(call(&mut kernel, Op::Delete, [SPACE, 0, 0, 0])[0], 0);
    assert_eq!(locks(&mut kernel, CHILD), (0, 1));
    assert_eq!(call(&mut kernel, Op::Delete, [CHILD, 0, 0, 0])[0], 0);
    assert_eq!(locks(&mut kernel, slot::QUOTA), (all - 1, all));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn charges_are_what_the_model_says(steps in prop::collection::vec(any::<[Word; 4]>(), 1..150)) {
        let mut kernel = boot();
        // The UTCB page of the first further thread is the space's, and stays.
        prop_assert_eq!(call(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, FIRST, 0])[0], 0);
        prop_assert_eq!(call(&mut kernel, Op::Delete, [FIRST, 0, 0, 0])[0], 0);
        let root = |kernel: &mut Kernel<Host>| figures(kernel, slot::QUOTA).0;
        let before = root(&mut kernel);
        let mut model = Model::default();
        for numbers in steps {
            step(&mut kernel, &mut model, numbers);
            for (slot, id) in &model.slots {
                if let What::Quota { limit, .. } = model.items[id].what {
                    prop_assert_eq!(figures(&mut kernel, *slot), (model.used(*id), limit));
                }
            }
            let (used, threads) = model.used(ROOT);
            // Pages of UTCBs are allocated and freed with the threads of the space.
            prop_assert_eq!((root(&mut kernel).0 - before.0) % PAGE_SIZE, used % PAGE_SIZE);
            prop_assert_eq!(root(&mut kernel).1 - before.1, threads);
        }
        for slot in FIRST..FIRST + SLOTS {
            call(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
        }
        let (stayed, threads) = (root(&mut kernel).0 - before.0, root(&mut kernel).1 - before.1);
        prop_assert!(stayed <= 5 * PAGE_SIZE, "{} bytes stayed", stayed);
        prop_assert_eq!(threads, 0);
    }
}

/// Creates in the root server's slots from the first on until it fails: how many, and the error.
fn exhaust(
    kernel: &mut Kernel<Host>,
    mut create: impl FnMut(&mut Kernel<Host>, Word) -> Word,
) -> (Word, Word) {
    let mut to = FIRST + SLOTS;
    loop {
        match create(kernel, to) {
            0 => to += 1,
            error => return (to - FIRST - SLOTS, error),
        }
    }
}

#[test]
fn a_chain_of_quotas_ends_at_its_depth() {
    let mut kernel = boot();
    let (before, _) = figures(&mut kernel, slot::QUOTA);
    let mut parent = slot::QUOTA;
    let (made, error) = exhaust(&mut kernel, |kernel, to| {
        let [status, ..] =
            call(kernel, Op::CreateQuota, [parent, 65536 - 128 * (to - FIRST), to, 3]);
        parent = to;
        status
    });
    assert_eq!((made, error), (MAX_DEPTH as Word, Error::TooDeep as Word));
    // The outermost first: the end of the innermost ends them all, each in a step of its own.
    for to in FIRST + SLOTS..FIRST + SLOTS + made {
        assert_eq!(figures(&mut kernel, slot::QUOTA).0.1, before.1 + 3);
        let free = free_bytes(&kernel);
        assert_eq!(call(&mut kernel, Op::Delete, [to, 0, 0, 0])[0], 0);
        assert!(free_bytes(&kernel) - free <= QUOTA_BYTES, "more than one ended at a time");
    }
    let (free, me) = (free_bytes(&kernel), kernel.current().expect("the root server runs"));
    begin(&mut kernel, Op::QuotaInfo, [slot::QUOTA, 0, 0, 0]);
    assert_eq!(free_bytes(&kernel) - free, QUOTA_BYTES, "an interrupt comes between two");
    kernel.port.pending = false;
    while kernel.carry_on() {}
    assert_eq!(results(&kernel.pool[me])[1], before.0);
    assert_eq!(figures(&mut kernel, slot::QUOTA).0, before);
}

#[test]
fn threads_promised_to_one_are_not_taken_by_another() {
    const GREEDY: Word = FIRST;
    const MODEST: Word = FIRST + 1;
    let mut kernel = boot();
    let (used, most) = figures(&mut kernel, slot::QUOTA);
    assert_eq!(most.1, kernel.threads.count as Word - 1);
    let left = most.1 - used.1;
    assert_eq!(call(&mut kernel, Op::CreateQuota, [slot::QUOTA, 0, MODEST, 5])[0], 0);
    assert_eq!(
        call(&mut kernel, Op::CreateQuota, [slot::QUOTA, 1 << 20, GREEDY, left - 4])[0],
        Error::QuotaExceeded as Word
    );
    assert_eq!(call(&mut kernel, Op::CreateQuota, [slot::QUOTA, 1 << 20, GREEDY, left - 5])[0], 0);
    let threads_of = |quota| {
        move |kernel: &mut Kernel<Host>, to: Word| {
            call(kernel, Op::CreateThread, [quota, slot::SPACE, to, 0])[0]
        }
    };
    assert_eq!(exhaust(&mut kernel, threads_of(GREEDY)), (left - 5, Error::QuotaExceeded as Word));
    assert_eq!(threads_of(slot::QUOTA)(&mut kernel, FIRST + 2), Error::QuotaExceeded as Word);
    for to in FIRST + 2..FIRST + 7 {
        assert_eq!(threads_of(MODEST)(&mut kernel, to), 0);
    }
    assert_eq!(threads_of(MODEST)(&mut kernel, FIRST + 7), Error::QuotaExceeded as Word);
}

#[test]
fn what_is_promised_is_there() {
    let mut kernel = boot();
    let (used, most) = figures(&mut kernel, slot::QUOTA);
    assert_eq!(
        most.0 - used.0,
        free_bytes(&kernel),
        "a byte of the pool for each that can be charged"
    );
}

/// What `quota_info` tells of slots: used, limit.
fn slots(kernel: &mut Kernel<Host>, selector: Word) -> (Word, Word) {
    let [status, used, limit, none, _] = call(kernel, Op::QuotaInfo, [selector, 1, 0, 0]);
    assert_eq!((status, none), (0, 0));
    (used, limit)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    /// Two Quotas and spaces that are relocated: the spaces of one Quota share only its slots,
    /// evenly, and none has one too many.
    #[test]
    fn slots_are_divided(limits in [0..4 as Word, 0..4 as Word], steps in prop::collection::vec((0..2_usize, 0..12 as Word), 1..60)) {
        const PAYERS: [Word; 2] = [FIRST, FIRST + 1];
        const SPACES: Word = FIRST + 2;
        let mut kernel = boot();
        let all = arch_host::SLOTS as Word;
        prop_assert_eq!(slots(&mut kernel, slot::QUOTA), (0, all));
        let mut left = all;
        for (payer, limit) in PAYERS.into_iter().zip(limits) {
            let fits = limit <= left;
            let made = call(&mut kernel, Op::CreateQuota, [slot::QUOTA, 1 << 18, payer, limit << 16])[0];
            prop_assert_eq!(made, if fits { 0 } else { Error::QuotaExceeded as Word });
            prop_assume!(fits);
            left -= limit;
        }
        // Spaces: by selector the payer, and the slot.
        let mut spaces: BTreeMap<Word, (usize, Word)> = BTreeMap::new();
        for (payer, number) in steps {
            let to = SPACES + number;
            if spaces.remove(&to).is_some() {
                prop_assert_eq!(call(&mut kernel, Op::Delete, [to, 0, 0, 0])[0], 0);
            } else {
                let users = |slot: Word| spaces.values().filter(|(_, at)| *at == slot).count();
                let his: Vec<Word> = spaces.values().filter(|(by, slot)| *by == payer && *slot != 0).map(|(_, slot)| *slot).collect();
                let mut distinct = his.clone();
                distinct.sort_unstable();
                distinct.dedup();
                // One that is not to have any.
                let place = if number == 0 { 0 } else { RELOCATED };
                let [status, _, at, ..] = call(&mut kernel, Op::CreateSpace, [PAYERS[payer], 0, to, place]);
                prop_assert_eq!(status, 0);
                if place == 0 || his.is_empty() && limits[payer] == 0 {
                    prop_assert_eq!(at, 0);
                } else if (distinct.len() as Word) < limits[payer] {
                    prop_assert!(at != 0 && users(at) == 0);
                } else {
                    prop_assert!(his.contains(&at) && distinct.iter().all(|other| users(at) <= users(*other)));
                }
                spaces.insert(to, (payer, at));
            }
            for (payer, selector) in PAYERS.into_iter().enumerate() {
                let mut his: Vec<Word> = spaces.values().filter(|(by, slot)| *by == payer && *slot != 0).map(|(_, slot)| *slot).collect();
                his.sort_unstable();
                his.dedup();
                prop_assert_eq!(slots(&mut kernel, selector), (his.len() as Word, limits[payer]));
            }
        }
        // The Quotas first: they end with the last charge.
        for selector in PAYERS.into_iter().chain(spaces.into_keys()) {
            prop_assert_eq!(call(&mut kernel, Op::Delete, [selector, 0, 0, 0])[0], 0);
        }
        prop_assert_eq!(slots(&mut kernel, slot::QUOTA), (0, all));
        prop_assert_eq!(call(&mut kernel, Op::QuotaInfo, [slot::QUOTA, 3, 0, 0])[0], Error::BadArgument as Word);
    }
}

/// Of numbers as large as a word, too, whose lower half would be little.
#[test]
fn more_than_there_is_is_not_promised() {
    let mut kernel = boot();
    for most in [Word::MAX, 1 << (Word::BITS - 1)] {
        for [bytes, threads] in [[most, 0], [0, most]] {
            assert_eq!(
                call(&mut kernel, Op::CreateQuota, [slot::QUOTA, bytes, FIRST, threads])[0],
                Error::QuotaExceeded as Word
            );
        }
    }
}
