// SPDX-License-Identifier: MIT OR Apache-2.0
//! No two segments have one VSID, and no context is taken twice.

use mmu::vsid::{CONTEXTS, Contexts, SEGMENTS, vsid};

#[test]
fn all_segments_of_all_contexts_have_their_own() {
    let mut seen = vec![0u64; (CONTEXTS * SEGMENTS / 64) as usize];
    for context in 0..CONTEXTS {
        for segment in 0..SEGMENTS {
            let vsid = vsid(context, segment);
            let (word, bit) = ((vsid / 64) as usize, 1 << (vsid % 64));
            assert_eq!(seen[word] & bit, 0, "context {context}, segment {segment}");
            seen[word] |= bit;
        }
    }
}

#[test]
fn contexts_are_taken_once_until_they_begin_again() {
    let mut contexts = Contexts::new(64);
    let first: Vec<u32> = std::iter::from_fn(|| contexts.take()).collect();
    assert_eq!(first, (1..64).collect::<Vec<_>>());
    assert_eq!(contexts.take(), None);
    contexts.begin_again();
    assert_eq!(contexts.take(), Some(1));
    assert_eq!(
        std::iter::from_fn({
            let mut all = Contexts::new(u32::MAX);
            move || all.take()
        })
        .count() as u32,
        CONTEXTS - 1
    );
}
