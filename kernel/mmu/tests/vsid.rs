// SPDX-License-Identifier: MIT OR Apache-2.0
//! No two segments have one VSID, no context is taken twice, and no segment stays loaded.

use mmu::vsid::{
    CONTEXTS, Contexts, Function, LOW, NO_TOKEN, SEGMENTS, SHOWS, SHUT, Segments, USER_SEGMENTS,
    switch, token, vsid,
};
use proptest::prelude::*;

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

/// So they have by the other functions, and none has what a segment has that is shut or that nobody
/// uses.
#[test]
fn other_functions_tell_segments_apart_too() {
    let shut: Vec<u32> = (0..USER_SEGMENTS).map(|segment| vsid(0, segment)).collect();
    for function in Function::ALL {
        for context in 1..function.contexts() {
            for segment in 0..USER_SEGMENTS {
                let vsid = function.vsid(context, segment);
                assert!(
                    !shut.contains(&vsid),
                    "{function:?}, context {context}, segment {segment}"
                );
                assert_eq!(
                    (function.context(vsid), vsid >> 24),
                    (context, 0),
                    "{function:?}, segment {segment}"
                );
            }
        }
        let own: std::collections::BTreeSet<u32> =
            (0..SEGMENTS).map(|segment| function.vsid(7, segment)).collect();
        assert_eq!(own.len(), SEGMENTS as usize, "{function:?}");
    }
}

/// What a shut window has is a VSID of the first context, which no space has; a register that is
/// open has none of the upper bits.
#[test]
fn a_shut_window_is_nobodys() {
    assert!((0..SEGMENTS).any(|segment| vsid(0, segment) == SHUT & 0xff_ffff));
    assert_ne!(SHUT >> 24, 0);
}

#[test]
fn contexts_are_taken_once_in_each_half() {
    let mut contexts = Contexts::new(64);
    let rest =
        |contexts: &mut Contexts| std::iter::from_fn(|| contexts.take()).collect::<Vec<u32>>();
    assert_eq!(rest(&mut contexts), (1..32).collect::<Vec<_>>());
    contexts.turn();
    assert_eq!([31, 32].map(|context| contexts.index(context)), [None; 2]);
    assert_eq!(contexts.take(), Some(32));
    assert_eq!([31, 32, 33].map(|context| contexts.index(context)), [None, Some(0), None]);
    contexts.forget_all();
    assert_eq!(contexts.index(32), None);
    assert_eq!(rest(&mut contexts), (33..64).collect::<Vec<_>>());
    assert_eq!([32, 33, 63].map(|context| contexts.index(context)), [None, Some(1), Some(31)]);
    contexts.turn();
    assert_eq!(contexts.take(), Some(1));
    let mut all = Contexts::new(u32::MAX);
    assert_eq!(rest(&mut all).len() as u32, CONTEXTS / 2 - 1);
    all.turn();
    assert_eq!(rest(&mut all).len() as u32, CONTEXTS / 2);
}

#[test]
fn no_token_is_given_twice() {
    assert_eq!([0, 1, u64::from(SHOWS) - 2].map(token), [Some(0), Some(1), Some(SHOWS - 2)]);
    let others = [
        u64::from(SHOWS) - 1,
        u64::from(SHOWS),
        u64::from(NO_TOKEN),
        1 << 32,
        (1 << 32) + 1,
        u64::MAX,
    ];
    assert_eq!(others.map(token), [None; 6]);
}

proptest! {
    #[test]
    fn a_space_sees_its_own_segments_only(switches in proptest::collection::vec((0u16..1 << USER_SEGMENTS, 1u32..50), 1..100)) {
        let (mut registers, mut loaded): (Vec<u32>, Segments) = ((0..USER_SEGMENTS).map(|segment| vsid(0, segment)).collect(), 0);
        for (used, context) in switches {
            let used = used | LOW;
            switch(loaded, used, |segment| vsid(context, segment)).for_each(|(segment, vsid)| registers[segment as usize] = vsid);
            for segment in 0..USER_SEGMENTS {
                let own = if used & 1 << segment != 0 { context } else { 0 };
                prop_assert_eq!(registers[segment as usize], vsid(own, segment));
            }
            loaded = used;
        }
    }
}
