// SPDX-License-Identifier: MIT OR Apache-2.0
//! The switch against a naive model, by random acts, and against clients that write anything
//! anywhere.

use crate::net::*;
use frames::{CARD, Shared};
use image::protocol::net::*;
use proptest::prelude::*;
use std::collections::VecDeque;

/// What clients do.
#[derive(Clone, Debug)]
enum Act {
    Send { from: usize, to: usize, bytes: usize },
    Broadcast { from: usize, bytes: usize },
    Receive { at: usize },
    Round,
    Attach { port: usize },
}

const PORTS: usize = 4;

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..PORTS, 0..PORTS, 18..=MOST_BYTES as usize).prop_map(|(from, to, bytes)| Act::Send { from, to, bytes }),
        1 => (0..PORTS, 18..200_usize).prop_map(|(from, bytes)| Act::Broadcast { from, bytes }),
        4 => (0..PORTS).prop_map(|at| Act::Receive { at }),
        3 => Just(Act::Round),
        1 => (0..PORTS).prop_map(|port| Act::Attach { port }),
    ]
}

proptest! {
    /// Every frame comes once, whole, in its order, to its receiver; or it was lost because a
    /// ring was full or begun again.
    #[test]
    fn frames_go_where_a_naive_switch_sends_them(acts in prop::collection::vec(act(), 1..300)) {
        let mut net = Net::new(PORTS);
        // The card's host is known from here on.
        prop_assert!(net.clients[CARD].send(&frame(EVERYBODY, own(CARD), 0, 18)));
        net.settle();
        net.clients.iter_mut().for_each(|client| while client.receive().is_some() {});
        let mut waiting: Vec<VecDeque<Vec<u8>>> = vec![VecDeque::new(); PORTS];
        let mut sent: Vec<VecDeque<(usize, Vec<u8>)>> = vec![VecDeque::new(); PORTS];
        for (number, act) in acts.into_iter().enumerate() {
            match act {
                Act::Send { from, to, bytes } => {
                    let frame = frame(own(to), own(from), number as u32, bytes);
                    let room = sent[from].len() < RING as usize;
                    prop_assert_eq!(net.clients[from].send(&frame), room);
                    if room { sent[from].push_back((1 << to, frame)); }
                }
                Act::Broadcast { from, bytes } => {
                    let frame = frame(EVERYBODY, own(from), number as u32, bytes);
                    let room = sent[from].len() < RING as usize;
                    prop_assert_eq!(net.clients[from].send(&frame), room);
                    if room { sent[from].push_back(((1 << PORTS) - 1, frame)); }
                }
                Act::Receive { at } => prop_assert_eq!(net.clients[at].receive(), waiting[at].pop_front()),
                Act::Round => {
                    // Which port is first matters where rings are full: the naive switch has no
                    // rings.
                    let before: Vec<_> = (0..PORTS).map(|port| net.switch.counters(port).expect("a port").given).collect();
                    net.settle();
                    let given: Vec<u64> = (0..PORTS).map(|port| net.switch.counters(port).expect("a port").given - before[port]).collect();
                    for (port, given) in given.iter().enumerate() {
                        // Look at what came without taking it.
                        let client = &net.clients[port];
                        for _ in 0..*given {
                            let (_, frame) = client.look(waiting[port].len() as u32);
                            waiting[port].push_back(frame);
                        }
                    }
                    // What was taken; the rest waits for the card.
                    let mut taken: Vec<Vec<(usize, Vec<u8>)>> = Vec::new();
                    for (client, sent) in net.clients.iter_mut().zip(&mut sent) {
                        let left = RING - client.output.room(&client.memory).expect("sound");
                        taken.push(sent.drain(..sent.len() - left as usize).collect());
                        let is_full = |port: usize| waiting[port].len() == RING as usize;
                        // For all waits only for the card.
                        let waits = |to: usize| (0..PORTS).any(|port| is_full(port) && (to == 1 << port || (to >> port & 1 == 1 && port == CARD)));
                        prop_assert!(sent.front().is_none_or(|(to, _)| waits(*to)), "it waits for nobody");
                    }
                    // What came was sent to this port, each source's in its order; what is missing
                    // found a full ring.
                    for (port, given) in given.iter().enumerate() {
                        let new: Vec<_> = waiting[port].iter().rev().take(*given as usize).rev().collect();
                        for (from, taken) in taken.iter().enumerate().filter(|(from, _)| *from != port) {
                            let expected: Vec<_> = taken.iter().filter(|(to, _)| to >> port & 1 == 1).map(|(_, frame)| frame).collect();
                            let came: Vec<_> = new.iter().filter(|frame| frame[6..12] == own(from).0).collect();
                            let mut rest = expected.iter();
                            prop_assert!(came.iter().all(|frame| rest.any(|other| other == *frame)), "in order and whole");
                            prop_assert!(came.len() == expected.len() || waiting[port].len() == RING as usize, "lost without need");
                        }
                    }
                }
                Act::Attach { port } => {
                    net.attach(port);
                    waiting[port].clear();
                    sent[port].clear();
                    if port == CARD {
                        prop_assert!(net.clients[CARD].send(&frame(given(1), own(CARD), 0, 18)));
                        sent[CARD].push_back((1 << 1, frame(given(1), own(CARD), 0, 18)));
                    }
                }
            }
        }
    }

    /// Of a burst each frame comes once and in its order, however slowly it is read, or found a
    /// full ring; and the card has all its slots again.
    #[test]
    fn bursts_wait_and_nothing_is_lost(acts in prop::collection::vec((0..3_usize, 1..3_usize, 1..60_u32, 18..=MOST_BYTES as usize), 1..100)) {
        const SLOTS: u32 = 64;
        let mut net = Net::with(3, SLOTS);
        let (mut now, mut number) = (0, 0);
        let mut sent: [VecDeque<Vec<u8>>; 3] = Default::default();
        let read = |net: &mut Net, sent: &mut VecDeque<Vec<u8>>, at: usize, most: u32| {
            for _ in 0..most {
                let Some(frame) = net.clients[at].receive() else { return Ok(()) };
                // What is missing before it was lost.
                let position = sent.iter().position(|other| *other == frame);
                prop_assert!(position.is_some(), "twice, or out of order");
                sent.drain(..=position.unwrap_or(0));
            }
            Ok(())
        };
        for (act, to, count, bytes) in acts {
            match act {
                0 => for _ in 0..count {
                    number += 1;
                    let frame = frame(given(to), own(CARD), number, bytes);
                    if net.clients[CARD].send(&frame) { sent[to].push_back(frame); }
                },
                1 => read(&mut net, &mut sent[to], to, count)?,
                _ => now += u64::from(count) * 100_000,
            }
            let mut outcome = net.switch.round(now);
            while outcome.again { outcome = net.switch.round(now); }
            prop_assert!(outcome.look.is_none_or(|look| look > now && look <= now + 1_000_000));
        }
        let lost = |net: &Net, port| net.switch.counters(port).expect("a port").lost;
        for to in [1, 2] {
            let before = lost(&net, to);
            while filled(&mut net, to) > 0 {
                read(&mut net, &mut sent[to], to, SLOTS)?;
                while net.switch.round(now).again {}
            }
            prop_assert_eq!(lost(&net, to), before, "its ring had room");
            prop_assert!(before > 0 || sent[to].is_empty(), "lost without need");
        }
        prop_assert_eq!(net.clients[CARD].output.room(&net.memories[CARD]), Ok(SLOTS));
    }

    /// A client that writes anything anywhere at any time harms nobody else.
    #[test]
    fn a_hostile_client_harms_itself(
        writes in prop::collection::vec((prop_oneof![0..256_u32, 0..BYTES / 4], any::<u32>(), any::<bool>()), 1..400),
        entries in prop::collection::vec((0..4_u32, 0..RING, prop_oneof![0..RING, any::<u32>()]), 400),
        indices in prop::collection::vec((any::<bool>(), prop_oneof![0..20_u32, any::<u32>()]), 1..400),
    ) {
        let mut net = Net::new(4);
        const HOSTILE: usize = 3;
        let (mut number, mut sent) = (0, 0);
        for (((word, value, attach), (filled, index)), (ring, entry, slot)) in writes.into_iter().zip(indices).zip(entries) {
            net.memories[HOSTILE].write(word * 4, value);
            net.memories[HOSTILE].write(ENTRIES + (ring * RING + entry) * ENTRY, slot);
            net.memories[HOSTILE].write(PRODUCED + if filled { OUT } else { FREE }, index);
            if attach { net.attach(HOSTILE); }
            // The others talk to each other and to the card, without loss.
            number += 1;
            prop_assert!(net.clients[1].send(&frame(given(2), given(1), number, 300)));
            prop_assert!(net.clients[2].send(&frame(own(CARD), given(2), number, 300)));
            net.settle();
            let mut came = Vec::new();
            while let Some(frame) = net.clients[2].receive() { came.push(frame); }
            came.retain(|f| f[6..12] == given(1).0);
            prop_assert_eq!(came, vec![frame(given(2), given(1), number, 300)]);
            let mut came = Vec::new();
            while let Some(frame) = net.clients[CARD].receive() { came.push(frame); }
            came.retain(|f| f[6..12] == given(2).0);
            prop_assert_eq!(came, vec![frame(own(CARD), given(2), number, 300)]);
            while net.clients[1].receive().is_some() { sent += 1; }
        }
        for port in [1, 2] {
            let counters = net.switch.counters(port).expect("a port");
            prop_assert_eq!((counters.broken, counters.malformed, counters.refused), (0, 0, 0));
        }
        // What it sent to one of them, it sent by the rules.
        prop_assert_eq!(net.switch.counters(1).expect("a port").given, sent);
    }
}
