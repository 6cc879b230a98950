// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets of clients on a card that is a loop, clients that ask for anything, and frames of any
//! kind.

mod any;
mod frames;
mod neighbours;
mod net;
mod peers;

use any::few;
use frames::{OWN_V4, UDP, ip, udp};
use image::protocol::ip::*;
use net::{HERE, LIFE, MOST, Net};
use proptest::prelude::*;
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use sockets::{Configuration, Memory};

#[test]
fn a_client_says_hello_first() {
    let mut net = Net::with(1, Configuration::Dhcp);
    assert_eq!(net.ask(0, &[BIND])[0], NO_HELLO);
    assert_eq!(net.ask(1, &[HELLO])[0], BAD_REQUEST, "there is no such client");
    assert_eq!(net.begin(0, &[HELLO]), None, "it waits for an address");
    assert_eq!(net.answer(0)[0], 0, "though not for ever");
    assert!((4_000..6_000).contains(&net.now), "{} ms", net.now);
    assert_eq!(net.ask(0, &[CONNECT, 0, 0, 80, HERE])[0], UNREACHABLE);
}

#[test]
fn sockets_are_counted_and_ports_are_taken_once() {
    let mut net = Net::new(2);
    let socket = net.get(0, &[LISTEN, 0, 0, 80]);
    assert_eq!(socket >> 16, LIFE.into());
    assert_eq!(
        net.ask(0, &[ACCEPT, socket ^ 1 << 16])[0],
        NO_SOCKET,
        "that is of another life of the server"
    );
    assert_eq!(net.ask(1, &[LISTEN, 0, 0, 80])[0], ADDRESS_IN_USE);
    assert_eq!(
        net.ask(1, &[LISTEN, 0, 0, 81, HERE + 1])[0],
        UNREACHABLE,
        "that is another machine's address"
    );
    (1..MOST).for_each(|_| assert_eq!(net.ask(0, &[BIND])[0], 0));
    assert_eq!(net.ask(0, &[BIND])[0], QUOTA);
    assert_eq!(net.ask(1, &[BIND])[0], 0, "the other has its own");
    assert_eq!(net.ask(0, &[HELLO])[0], 0, "another thread of the same life");
    assert_eq!(net.ask(1, &[LISTEN, 0, 0, 80])[0], ADDRESS_IN_USE);
    assert_eq!(net.ask(0, &[HELLO, 1])[0], 0);
    net.poll();
    assert_eq!(net.ask(1, &[LISTEN, 0, 0, 80])[0], 0, "its new life has none of the sockets");
    net.datagram(b"text");
}

#[test]
fn a_connection_carries_every_byte() {
    let mut net = Net::new(2);
    let pair @ (from, to) = net.connect(7);
    net.send(pair, 100_000);
    net.wire.loss = Some(10);
    net.send(pair, 50_000);
    net.wire.loss = None;
    assert_eq!(net.ask(0, &[SHUT_DOWN, from])[0], 0);
    net.wait(1, to, READABLE);
    assert_eq!(net.ask(1, &[READ, to, 100])[..2], [0, 0], "the end");
    assert_eq!(net.ask(0, &[WRITE, from, 100])[0], NOT_CONNECTED);
    net.get(1, &[CLOSE, to]);
    net.get(0, &[CLOSE, from]);
    // All that is left of it is freed for new ones, and nothing of it is counted for ever.
    for round in 0..50 {
        let (from, to) = net.connect(100 + round);
        net.get(0, &[CLOSE, from]);
        net.wait(1, to, READABLE);
        net.get(1, &[CLOSE, to]);
    }
}

#[test]
fn a_connection_may_be_refused_or_reset() {
    let mut net = Net::new(2);
    let socket = net.get(0, &[CONNECT, 0, 0, 9, HERE]);
    assert_eq!(net.ask(0, &[READ, socket, 1])[0], NOT_CONNECTED);
    net.wait(0, socket, WRITABLE);
    assert_eq!(net.ask(0, &[CONNECTED, socket])[0], REFUSED);
    net.get(0, &[CLOSE, socket]);

    // What was not accepted is reset when its listener goes.
    let listener = net.get(1, &[LISTEN, 0, 0, 9]);
    let socket = net.get(0, &[CONNECT, 0, 0, 9, HERE]);
    net.wait(0, socket, WRITABLE);
    assert_eq!(net.ask(0, &[CONNECTED, socket])[0], 0);
    net.get(1, &[CLOSE, listener]);
    net.wait(0, socket, READABLE);
    assert_eq!(net.ask(0, &[READ, socket, 1])[0], RESET);
}

#[test]
fn many_are_waited_for_at_once_and_for_a_time() {
    let mut net = Net::new(2);
    let (from, to) = net.connect(7);
    let other = net.get(1, &[BIND]);
    let before = net.now;
    assert_eq!(net.ask(1, &[WAIT, to, READABLE, 200])[..2], [0, 0]);
    assert!((200..250).contains(&(net.now - before)));
    let entries: Vec<u8> =
        [other, READABLE, to, READABLE].iter().flat_map(|word| word.to_le_bytes()).collect();
    net.memories[1].write(0, &entries);
    assert_eq!(net.begin(1, &[POLL, 2, 16, FOREVER]), None);
    net.get(0, &[WRITE, from, 5]);
    assert_eq!(net.answer(1)[..2], [0, 1]);
    assert_eq!(net.memories[1].0.borrow()[4..8], READABLE.to_le_bytes());
    assert_eq!(net.memories[1].0.borrow()[12..16], (READABLE | READABLE << 16).to_le_bytes());
    assert_eq!(
        net.ask(1, &[POLL, 3, 16, FOREVER])[0],
        BAD_REQUEST,
        "that is another number of them"
    );
    assert_eq!(net.ask(1, &[POLL, 0, 0, 0])[..2], [0, 0]);
    let too_many = MOST as u32 + 1;
    assert_eq!(net.ask(1, &[POLL, too_many, too_many * 8, 0])[0], BAD_REQUEST);
}

#[test]
fn names_are_waited_for_without_harm() {
    let mut net = Net::new(1);
    net.memories[0].write(0, b"name.example");
    assert_eq!(net.ask(0, &[LOOK_UP, 5, 12])[0], BAD_REQUEST);
    assert_eq!(net.ask(0, &[LOOK_UP, 4, 0])[0], NO_NAME);
    assert_eq!(net.ask(0, &[LOOK_UP, 4, 300])[0], NO_NAME);
    assert_eq!(net.ask(0, &[LOOK_UP, 4, 12])[0], NO_NAME, "there is nobody to ask");
    assert_eq!(net.begin(0, &[LOOK_UP, 4, 12]), None);
    assert_eq!(net.ask(0, &[HELLO, 1])[0], 0, "its new life does not wait for the answer");
    (0..100).for_each(|_| net.poll());
    assert!(net.late.is_empty());
}

/// Frames that look like something: an Ethernet header for this machine or all, a type that there
/// is, and anything after it.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just([8_u8, 0]), Just([8, 6]), Just([0x86, 0xdd]), any::<[u8; 2]>()];
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        // An IP packet whose header is right, for a protocol and a port that there may be.
        (
            prop_oneof![Just(6_u8), Just(17), Just(1), any::<u8>()],
            prop::collection::vec(any::<u8>(), 0..80)
        )
            .prop_map(|(protocol, rest)| {
                let mut packet = vec![
                    0x45,
                    0,
                    0,
                    (20 + rest.len()) as u8,
                    0,
                    0,
                    0,
                    0,
                    64,
                    protocol,
                    0,
                    0,
                    10,
                    0,
                    2,
                    2,
                    10,
                    0,
                    2,
                    15,
                ];
                let sum = packet
                    .chunks(2)
                    .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
                    .sum::<u32>();
                let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
                packet.extend(rest);
                packet
            }),
        (
            prop_oneof![Just(6_u8), Just(17), Just(58), Just(0), any::<u8>()],
            prop::collection::vec(any::<u8>(), 0..80)
        )
            .prop_map(|(next, rest)| {
                let mut packet = vec![0x60, 0, 0, 0, 0, rest.len() as u8, next, 255, 0xfe, 0x80];
                packet.extend([0; 13]);
                packet.extend([2, 0xff, 2]);
                packet.extend([0; 13]);
                packet.extend([1]);
                packet.extend(rest);
                packet
            }),
    ];
    (any::<bool>(), kind, body).prop_map(|(all, kind, body)| {
        let mut frame = if all { vec![0xff; 6] } else { vec![2, 0, 0, 0, 0, 1] };
        frame.extend([2, 0, 0, 0, 0, 2]);
        frame.extend(kind);
        frame.extend(body);
        frame
    })
}

proptest! {
    #[test]
    fn a_hostile_client_harms_only_itself(requests in prop::collection::vec((0_u32..17, prop_oneof![any::<u32>(), 0_u32..16, (0_u32..16).prop_map(|index| index | u32::from(LIFE) << 16)], prop_oneof![any::<u32>(), 0_u32..8192], prop_oneof![any::<u32>(), 0_u32..0x20000], prop_oneof![any::<[u32; 4]>(), Just([HERE, 0, 0, 0])]), 0..200)) {
        let mut net = Net::new(3);
        for (what, socket, place, port, address) in requests {
            net.begin(2, &[what, socket, place, port, address[0], address[1], address[2], address[3]]);
            net.poll();
        }
        net.late.clear();
        net.datagram(b"of the others");
        let pair = net.connect(60_000);
        net.send(pair, 10_000);
    }

}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn frames_of_any_kind_harm_nobody(frames in prop::collection::vec(frame(), 0..200)) {
        for from in [Configuration::Dhcp, Configuration::Static { address: Ipv4Cidr::new(Ipv4Address::from_bits(HERE), 24), gateway: None, name_server: None }] {
            let mut net = Net::with(2, from);
            (0..2).for_each(|client| assert_eq!(net.ask(client, &[HELLO])[0], 0));
            net.ask(0, &[LISTEN, 0, 0, 80]);
            net.ask(1, &[BIND, 0, 0, 53]);
            for frame in &frames {
                net.wire.frames.borrow_mut().push_back(frame.clone());
                net.poll();
            }
            if from != Configuration::Dhcp {
                net.datagram(b"of the others");
            }
        }
    }
}

/// Bytes as options and records have them: a kind, a length that may be right, and something.
fn parts() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![
        Just(1_u8),
        Just(3),
        Just(6),
        Just(51),
        Just(53),
        Just(54),
        Just(0xc0),
        any::<u8>()
    ];
    let part = (kind, any::<bool>(), prop::collection::vec(any::<u8>(), 0..9)).prop_map(
        |(kind, right, bytes)| {
            let length =
                if right { bytes.len() as u8 } else { bytes.first().copied().unwrap_or(0xff) };
            [vec![kind, length], bytes].concat()
        },
    );
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn answers_about_names_of_any_kind_harm_nobody(answers in prop::collection::vec((prop_oneof![Just(0x8180_u16), any::<u16>()], 0_u16..4, any::<bool>(), parts()), 1..20)) {
        let (address, server) = (Ipv4Cidr::new(Ipv4Address::from_bits(HERE), 24), Ipv4Address::from_bits(HERE));
        let mut net = Net::with(2, Configuration::Static { address, gateway: None, name_server: Some(server) });
        (0..2).for_each(|client| assert_eq!(net.ask(client, &[HELLO])[0], 0));
        for (flags, count, repeats, records) in answers {
            net.memories[0].write(0, b"name.example");
            assert_eq!(net.begin(0, &[LOOK_UP, 4, 12]), None, "it waits");
            let (port, question) = net.sent_to(53).expect("a question");
            let mut answer = question[..2].to_vec();
            answer.extend(flags.to_be_bytes());
            answer.extend([0, 1]);
            answer.extend(count.to_be_bytes());
            answer.extend([0; 4]);
            answer.extend(&question[12..]);
            // A name that points to the question's or to itself, a type and a class that were asked
            // for, and an address, if it goes on so.
            answer.extend([0xc0, if repeats { 12 } else { answer.len() as u8 }, 0, 1, 0, 1, 0, 0, 0, 1]);
            if repeats {
                answer.extend([0, 4, 10, 0, 2, 9]);
            }
            answer.extend(records);
            net.comes(ip(OWN_V4, OWN_V4, UDP, udp([53, port], &answer)));
            assert_eq!(net.ask(0, &[HELLO, 1])[0], 0);
            assert_eq!(net.ask(0, &[HELLO, 0])[0], 0);
        }
        net.datagram(b"of the others");
    }
}

#[test]
fn a_peer_that_sends_and_ends_at_once_is_heard() {
    let mut net = Net::new(2);
    let listener = net.get(1, &[LISTEN, 0, 0, 7]);
    for _ in 0..20 {
        let begun = net.now;
        let from = net.get(0, &[CONNECT, 0, 0, 7, HERE]);
        net.wait(0, from, WRITABLE);
        assert_eq!(net.ask(0, &[CONNECTED, from])[0], 0);
        assert_eq!(net.get(0, &[WRITE, from, 6]), 6);
        assert_eq!(net.ask(0, &[SHUT_DOWN, from])[0], 0);
        net.wait(1, listener, READABLE);
        let to = net.get(1, &[ACCEPT, listener]);
        net.wait(1, to, READABLE);
        assert_eq!(net.get(1, &[READ, to, 100]), 6);
        assert_eq!(net.get(1, &[WRITE, to, 6]), 6);
        net.wait(1, to, READABLE);
        assert_eq!(net.get(1, &[READ, to, 100]), 0);
        net.get(1, &[CLOSE, to]);
        net.wait(0, from, READABLE);
        assert_eq!(net.get(0, &[READ, from, 100]), 6);
        net.wait(0, from, READABLE);
        assert_eq!(net.get(0, &[READ, from, 100]), 0);
        net.get(0, &[CLOSE, from]);
        assert!(net.now - begun < 500, "{} ms", net.now - begun);
    }
}
