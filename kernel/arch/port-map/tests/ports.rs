// SPDX-License-Identifier: MIT OR Apache-2.0
//! The map of I/O ports against a set of the ports that are open.

use bytemuck::Zeroable;
use kcore::port::Special;
use port_map::PortMap;
use proptest::prelude::*;
use std::collections::BTreeSet;

const PORTS: u32 = 1 << 16;

/// A first port and a number of ports: often a few within one word, sometimes up to the last.
fn range() -> impl Strategy<Value = (u32, u32)> {
    let few = (0..PORTS).prop_flat_map(|first| (Just(first), 1..=(PORTS - first).min(40)));
    let many = (0..PORTS).prop_flat_map(|first| (Just(first), 1..=PORTS - first));
    prop_oneof![4 => few, 1 => many, 1 => (0..PORTS).prop_map(|first| (first, PORTS - first))]
}

proptest! {
    #[test]
    fn the_processor_lets_through_what_is_open(steps in prop::collection::vec((range(), any::<bool>()), 1..12)) {
        let mut map = PortMap::zeroed();
        map.close_all();
        let mut open = BTreeSet::new();
        for ((first, count), opens) in steps {
            map.set(first, count, opens);
            let ports = first..first + count;
            if opens { open.extend(ports) } else { open.retain(|port| !ports.contains(port)) }
        }
        // The processor reads the bit of a port: set means refused (IA-32 manual, volume 1,
        // Input/Output: I/O permission bit map).
        for port in 0..PORTS {
            let refused = map.0[(port / 32) as usize] >> (port % 32) & 1 != 0;
            prop_assert_eq!(refused, !open.contains(&port), "port {}", port);
        }
    }
}

#[test]
fn ports_beyond_the_last_change_nothing() {
    let mut map = PortMap::zeroed();
    map.close_all();
    map.set(PORTS - 1, 2, true);
    map.set(PORTS, 1, true);
    assert!(map.0.iter().all(|word| *word == u32::MAX));
}
