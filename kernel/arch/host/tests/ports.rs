// SPDX-License-Identifier: MIT OR Apache-2.0
//! I/O ports against a naive model: after every call a space's map says what a list of ports says.

mod common;

use abi::syscall::MapRecord;
use abi::{Op, Rights};
use arch_host::{Host, boot, slot};
use common::{call, call_with, seed};
use ia32_context::ports::PortMap;
use kcore::{Kernel, Space};
use pool::{Link, Ref};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const SPACE: u32 = slot::FREE;
const PART: u32 = slot::FREE + 1;
const ALL: u32 = 0x1_0000;

/// A record of `map` for ports: its status.
fn record(kernel: &mut Kernel<Host>, operation: u32, memory: u32, (offset, count): (u32, u32)) -> u32 {
    let record = MapRecord::new(operation, SPACE, 0, memory, offset, count, Rights::WRITE);
    let words: Vec<(u32, u32)> = (0..).zip(record.0).collect();
    call_with(kernel, Op::Map, [1, 0, 0, 0], &words)[0]
}

/// A range within `limit` ports: all, a few, or any.
fn range(numbers: [u32; 2], limit: u32) -> (u32, u32) {
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
    fn the_map_says_what_the_model_says(steps in prop::collection::vec(any::<[u32; 5]>(), 1..50)) {
        let mut kernel = boot();
        prop_assert_eq!(call(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, SPACE, 0])[0], 0);
        let root = kernel.current().and_then(|me| kernel.pool[me].space.get()).expect("the root server runs");
        let space: Ref<Space> = kernel.pool[Space::slot(root, SPACE)].object();
        let mut open = vec![false; ALL as usize];
        for [what, a, b, c, d] in steps {
            let (first, count) = range([a, b], ALL);
            let (opens, status) = match what % 3 {
                0 => (true, record(&mut kernel, MapRecord::MAP, slot::PORTS, (first, count))),
                1 => (false, record(&mut kernel, MapRecord::UNMAP, slot::PORTS, (first, count))),
                // What a capability may open closes with it, whatever else opened it.
                _ => {
                    prop_assert_eq!(call_with(&mut kernel, Op::DeriveMemory, [slot::PORTS, first, count, PART], &[(3, slot::QUOTA)])[0], 0);
                    prop_assert_eq!(record(&mut kernel, MapRecord::MAP, PART, range([c, d], count)), 0);
                    (false, call(&mut kernel, Op::Delete, [PART, 0, 0, 0])[0])
                }
            };
            prop_assert_eq!(status, 0);
            open[first as usize..(first + count) as usize].fill(opens);
            if let Some(map) = Link::<PortMap>::from_value(kernel.pool[space].special).get() {
                let words = kernel.pool[map].0;
                let wrong = (0..ALL as usize).find(|port| (words[port / 32] >> (port % 32) & 1 == 0) != open[*port]);
                prop_assert_eq!(wrong, None, "a port is not as the model has it");
            }
        }
    }
}
