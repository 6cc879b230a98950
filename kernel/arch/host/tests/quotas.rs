// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotas against a naive model: who is charged for what, what is refused, and that every byte
//! comes back. Quotas lie in quotas; what is charged is small Memory objects and threads.

mod common;

use abi::boot::slot;
use abi::{Error, Op, PAGE_SIZE};
use arch_host::{Host, boot};
use common::{call, call_with, seed};
use kcore::Kernel;
use kcore::quota::QUOTA_BYTES;
use kcore::thread::BYTES as THREAD_BYTES;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;

const FIRST: u32 = slot::FREE;
const SLOTS: u32 = 20;
/// The root server's own Quota, whose charges from elsewhere the model does not know.
const ROOT: u32 = 0;

#[derive(Clone, Debug)]
enum What {
    Quota { limit: u32, deleted: bool },
    Charge(u32),
}

/// Something charged: to whom (an id), and what it is.
#[derive(Clone, Debug)]
struct Item {
    payer: u32,
    what: What,
}

#[derive(Default)]
struct Model {
    items: BTreeMap<u32, Item>,
    slots: BTreeMap<u32, u32>,
    next: u32,
}

impl Model {
    fn cost(item: &Item) -> u32 {
        match item.what {
            What::Quota { limit, .. } => limit + QUOTA_BYTES,
            What::Charge(bytes) => bytes,
        }
    }
    fn used(&self, quota: u32) -> u32 {
        self.items.values().filter(|item| item.payer == quota).map(Self::cost).sum()
    }
    fn limit(&self, quota: u32) -> u32 {
        match self.items.get(&quota) {
            Some(Item { what: What::Quota { limit, .. }, .. }) => *limit,
            _ => u32::MAX,
        }
    }
    fn fits(&self, quota: u32, bytes: u32) -> bool {
        bytes <= self.limit(quota) - self.used(quota)
    }
    fn add(&mut self, slot: u32, payer: u32, what: What) {
        self.next += 1;
        self.items.insert(self.next, Item { payer, what });
        self.slots.insert(slot, self.next);
    }
    /// A deleted quota lives until nothing is charged to it.
    fn delete(&mut self, slot: u32) {
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
            .find(|(id, item)| matches!(item.what, What::Quota { deleted: true, .. }) && self.used(**id) == 0)
            .map(|(id, _)| *id)
        {
            self.items.remove(&done);
        }
    }
}

fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [u32; 4]) {
    let [what, a, b, c] = numbers;
    let to = FIRST + a % SLOTS;
    let quotas: Vec<(u32, u32)> =
        model.slots.iter().filter(|(_, id)| matches!(model.items[id].what, What::Quota { .. })).map(|(slot, id)| (*slot, *id)).collect();
    // Mostly a quota of the model, else the root server's.
    let (selector, payer) = quotas.get(b as usize % (quotas.len() + 1)).copied().unwrap_or((slot::QUOTA, ROOT));
    let free = !model.slots.contains_key(&to);
    let expect = |status: u32, fits: bool| {
        let expected = if !free {
            Error::BadSlot as u32
        } else if fits {
            0
        } else {
            Error::QuotaExceeded as u32
        };
        assert_eq!(status, expected);
        status == 0
    };
    match what % 4 {
        0 => {
            let bytes = c % 6000;
            let fits = model.fits(payer, bytes + QUOTA_BYTES);
            if expect(call(kernel, Op::CreateQuota, [selector, bytes, to, 0])[0], fits) {
                model.add(to, payer, What::Quota { limit: bytes, deleted: false });
            }
        }
        1 => {
            let fits = model.fits(payer, pool::MIN_BYTES);
            if expect(call_with(kernel, Op::DeriveMemory, [slot::RAM, 0, PAGE_SIZE, to], &[(3, selector)])[0], fits) {
                model.add(to, payer, What::Charge(pool::MIN_BYTES));
            }
        }
        2 => {
            let fits = model.fits(payer, THREAD_BYTES);
            if expect(call(kernel, Op::CreateThread, [selector, slot::SPACE, to, 0])[0], fits) {
                model.add(to, payer, What::Charge(THREAD_BYTES));
            }
        }
        _ => {
            assert_eq!(call(kernel, Op::Delete, [to, 0, 0, 0])[0] == 0, !free);
            model.delete(to);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn charges_are_what_the_model_says(steps in prop::collection::vec(any::<[u32; 4]>(), 1..150)) {
        let mut kernel = boot();
        // The UTCB page of the first further thread is the space's, and stays.
        prop_assert_eq!(call(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, FIRST, 0])[0], 0);
        prop_assert_eq!(call(&mut kernel, Op::Delete, [FIRST, 0, 0, 0])[0], 0);
        let root = |kernel: &mut Kernel<Host>| call(kernel, Op::QuotaInfo, [slot::QUOTA, 0, 0, 0])[1];
        let before = root(&mut kernel);
        let mut model = Model::default();
        for numbers in steps {
            step(&mut kernel, &mut model, numbers);
            for (slot, id) in &model.slots {
                if let What::Quota { limit, .. } = model.items[id].what {
                    let [status, used, most, ..] = call(&mut kernel, Op::QuotaInfo, [*slot, 0, 0, 0]);
                    prop_assert_eq!([status, used, most], [0, model.used(*id), limit]);
                }
            }
            // Pages of UTCBs come and go with the threads of the space.
            prop_assert_eq!((root(&mut kernel) - before) % PAGE_SIZE, model.used(ROOT) % PAGE_SIZE);
        }
        for slot in FIRST..FIRST + SLOTS {
            call(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
        }
        prop_assert!(root(&mut kernel) - before <= 5 * PAGE_SIZE, "{} bytes stayed", root(&mut kernel) - before);
    }
}
