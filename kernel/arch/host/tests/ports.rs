// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a processor has besides memory, such as I/O ports, against a naive model: after each call a
//! space has exactly what a list says.

use crate::common;

use abi::{MapRecord, Op, Rights, Word};
use arch_host::{Host, NUMBERS, Numbers, boot};
use common::{call, derive, map, named, seed, slot};
use kcore::{Kernel, Space};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const SPACE: Word = slot::FREE;
const PART: Word = slot::FREE + 1;
const ALL: Word = NUMBERS as Word;

/// A record of `map` for ports: its status.
fn record(
    kernel: &mut Kernel<Host>,
    operation: u32,
    memory: Word,
    (offset, count): (Word, Word),
) -> Word {
    map(kernel, MapRecord::new(operation, SPACE, 0, memory, offset, count, Rights::WRITE))
}

/// A range within `limit` ports: all, a few, or any.
fn range(numbers: [Word; 2], limit: Word) -> (Word, Word) {
    let first = numbers[0] / 8 % limit;
    let rest = limit - first;
    match numbers[0] % 8 {
        0 => (0, limit),
        1..=4 => (first, 1 + numbers[1] % rest.min(100)),
        _ => (first, 1 + numbers[1] % rest),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_map_says_what_the_model_says(steps in prop::collection::vec(any::<[Word; 5]>(), 1..50)) {
        let mut kernel = boot();
        prop_assert_eq!(call(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, SPACE, 0])[0], 0);
        let root = kernel.current().and_then(|me| kernel.pool[me].space.get()).expect("the root server runs");
        let space: Ref<Space> = named(&kernel, root, SPACE);
        let mut open = vec![false; ALL as usize];
        for [what, a, b, c, d] in steps {
            let (first, count) = range([a, b], ALL);
            let (opens, status) = match what % 3 {
                0 => (true, record(&mut kernel, MapRecord::MAP, slot::PORTS, (first, count))),
                1 => (false, record(&mut kernel, MapRecord::UNMAP, slot::PORTS, (first, count))),
                // What a capability may open closes with it, whatever else opened it.
                _ => {
                    prop_assert_eq!(derive(&mut kernel, slot::PORTS, first, count, PART), 0);
                    prop_assert_eq!(record(&mut kernel, MapRecord::MAP, PART, range([c, d], count)), 0);
                    (false, call(&mut kernel, Op::Delete, [PART, 0, 0, 0])[0])
                }
            };
            prop_assert_eq!(status, 0);
            open[first as usize..(first + count) as usize].fill(opens);
            let special = kernel.pool[space].special;
            if special != 0 {
                let numbers = &kernel.pool[Ref::<Numbers>::new(special)];
                let wrong = (0..NUMBERS).find(|number| numbers.is_open(*number) != open[*number as usize]);
                prop_assert_eq!(wrong, None, "a port is not as the model has it");
            }
        }
    }
}
