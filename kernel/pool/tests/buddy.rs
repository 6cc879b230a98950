// SPDX-License-Identifier: MIT OR Apache-2.0
//! The allocator against a naive model: blocks never overlap, are aligned and
//! cleared, and all memory comes back.

use pool::{BASE, MIN_BYTES, Pool};
use proptest::prelude::*;
use std::alloc::Layout;

const BYTES: u32 = 1 << 20;

fn pool() -> Pool {
    let layout = Layout::from_size_align(BYTES as usize, abi::PAGE_SIZE as usize).unwrap();
    // SAFETY: the layout is not empty; the memory is never freed and used by nobody else.
    unsafe { Pool::new(std::alloc::alloc(layout), BYTES, 8192) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn blocks_are_apart_aligned_cleared_and_come_back(steps in prop::collection::vec((any::<bool>(), 1u32..70_000, any::<prop::sample::Index>()), 1..200)) {
        let mut pool = pool();
        let all = pool.free_bytes();
        let mut held: Vec<(u32, u32)> = Vec::new();
        for (take, bytes, index) in steps {
            if take {
                let Some(at) = pool.allocate(bytes) else { continue };
                let size = bytes.next_power_of_two().max(MIN_BYTES);
                prop_assert!(at.is_multiple_of(size) && at >= BASE + 8192 && at + size <= BASE + BYTES);
                prop_assert!(held.iter().all(|(other, s)| at + size <= *other || other + s <= at));
                prop_assert!(pool.bytes_at(at, size).iter().all(|b| *b == 0));
                pool.bytes_mut(at, size).fill(0x55);
                held.push((at, size));
            } else if !held.is_empty() {
                let (at, size) = held.swap_remove(index.index(held.len()));
                pool.free(at, size);
            }
            let used: u32 = held.iter().map(|(_, s)| s).sum();
            prop_assert_eq!(pool.free_bytes(), all - used);
        }
        for (at, size) in held {
            pool.free(at, size);
        }
        prop_assert_eq!(pool.free_bytes(), all);
        // Everything is one again: the largest block can be had (the pool's end belongs to none).
        prop_assert!(pool.allocate(BYTES / 4).is_some());
    }
}

#[test]
#[should_panic(expected = "not allocated")]
fn a_block_cannot_be_freed_twice() {
    let mut pool = pool();
    let at = pool.allocate(64).unwrap();
    pool.free(at, 64);
    pool.free(at, 64);
}
