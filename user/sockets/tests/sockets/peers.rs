// SPDX-License-Identifier: MIT OR Apache-2.0
//! What peers of connections send.

use crate::any::{few, flags, tcp_options};
use crate::frames::*;
use crate::net::{MOST, Net, PEER};
use image::protocol::ip::*;
use proptest::collection::vec;
use proptest::prelude::*;

impl Net {
    /// A segment of a peer's connection to port 80 comes, after others that wait.
    fn hears(&self, flags: u8, numbers: [u32; 2], body: &[u8]) {
        let frame = ip(PEER_V4, OWN_V4, TCP, segment([4000, 80], numbers, flags, 8192, &[], body));
        self.wire.frames.borrow_mut().push_back(frame);
    }

    /// The number that the server's last segment to the peer has, and those before the next one.
    fn next_number(&self) -> u32 {
        let sent = self.wire.peer.borrow_mut().pop_back().expect("a segment");
        u32::from_be_bytes([sent[38], sent[39], sent[40], sent[41]])
            .wrapping_add((sent[47] & SYN != 0).into())
    }
}

/// What is half of all numbers away from the window is neither before nor after it.
const HALF: u32 = 1 << 31;

#[test]
fn a_peer_that_resets_and_begins_anew_begins_at_any_number() {
    for quota in [false, true] {
        let mut net = Net::new(2);
        net.comes(arp(1, [10, 0, 2, 2], PEER, [10, 0, 2, 15]));
        net.get(0, &[LISTEN, 0, 0, 80]);
        // Without a socket for another one it is the same that listens again.
        (1..if quota { MOST } else { 1 }).for_each(|_| assert_eq!(net.ask(0, &[BIND])[0], 0));
        net.hears(SYN, [1000, 0], &[]);
        net.poll();
        for (flags, number) in
            [(RST, 1001), (SYN, 1000 + (HALF - 1)), (RST, 1001 + (HALF - 1)), (SYN, 7)]
        {
            net.hears(flags, [number, 0], &[]);
        }
        net.wire.peer.borrow_mut().clear();
        net.poll();
        let sent = net.wire.peer.borrow();
        assert_eq!(
            sent.back().map(|frame| (frame[47], &frame[42..46])),
            Some((SYN | ACK, &[0, 0, 0, 8][..]))
        );
    }
}

#[test]
fn who_is_asked_answers_and_does_not_ask() {
    let mut net = Net::new(2);
    net.comes(arp(1, [10, 0, 2, 2], PEER, [10, 0, 2, 15]));
    let own = net.ask(0, &[CONNECT, 0, 0, 4000, u32::from_be_bytes([10, 0, 2, 2])]);
    let peer = |flags: u8, numbers| {
        ip(PEER_V4, OWN_V4, TCP, segment([4000, own[3] as u16], numbers, flags, 8192, &[], &[]))
    };
    for (flags, number) in [(SYN, 1000), (RST, 1001 + (HALF - 1))] {
        net.wire.frames.borrow_mut().push_back(peer(flags, [number, 0]));
    }
    net.poll();
    let asked = net.next_number();
    net.comes(peer(SYN | ACK, [5000, asked]));
    assert_eq!(net.ask(0, &[CONNECTED, own[1]])[0], 0);
}

#[test]
fn a_peer_that_ends_has_no_more_to_say() {
    let mut net = Net::new(2);
    net.comes(arp(1, [10, 0, 2, 2], PEER, [10, 0, 2, 15]));
    let listener = net.get(0, &[LISTEN, 0, 0, 80]);
    for first in [1000_u32, u32::MAX - 4000] {
        let number = |count: u32| first.wrapping_add(count);
        net.hears(SYN, [first, 0], &[]);
        net.poll();
        let own = net.next_number();
        // As much as there is room for, and the end after it; then something far away.
        (0..8).for_each(|part| net.hears(ACK, [number(1 + part * 1024), own], &[1; 1024]));
        net.hears(FIN | ACK, [number(8193), own], &[]);
        net.hears(ACK, [number(8194 + (HALF - 1)), own], &[]);
        net.hears(ACK, [number(8194 + (HALF - 1)), own], &[1; 10]);
        net.poll();
        let socket = net.get(0, &[ACCEPT, listener]);
        assert_eq!(net.get(0, &[READ, socket, 9000]), 8192);
        assert_eq!(net.get(0, &[READ, socket, 9000]), 0, "the end");
        net.get(0, &[CLOSE, socket]);
        net.poll();
        net.hears(ACK, [number(8194), own.wrapping_add(1)], &[]);
        net.poll();
        net.wire.peer.borrow_mut().clear();
    }
    net.datagram(b"of the others");
}

/// A peer that neither takes what was sent nor ends keeps nothing for ever, and nothing that is
/// wanted.
#[test]
fn a_peer_that_never_ends_is_left() {
    let mut net = Net::new(2);
    net.comes(arp(1, [10, 0, 2, 2], PEER, [10, 0, 2, 15]));
    let listener = net.get(0, &[LISTEN, 0, 0, 80]);
    let from = |port: u16, flags, numbers, window| {
        ip(PEER_V4, OWN_V4, TCP, segment([port, 80], numbers, flags, window, &[], &[]))
    };
    let connect = |net: &mut Net, port: u16, window| {
        net.comes(from(port, SYN, [1000, 0], window));
        let own = net.next_number();
        net.comes(from(port, ACK, [1001, own], window));
        (net.get(0, &[ACCEPT, listener]), own)
    };
    // What it has taken, and has said so: others may have its place.
    for port in 4000..4000 + 5 * MOST as u16 {
        let (socket, own) = connect(&mut net, port, 8192);
        net.get(0, &[CLOSE, socket]);
        net.poll();
        net.comes(from(port, ACK, [1001, own.wrapping_add(1)], 8192));
        net.wire.peer.borrow_mut().clear();
    }
    // What it does not take lasts a minute, however often it says that it lives.
    let mut left: Vec<u32> = (1..MOST as u16)
        .map(|port| {
            let (socket, own) = connect(&mut net, 5000 + port, 0);
            net.get(0, &[WRITE, socket, 100]);
            net.get(0, &[CLOSE, socket]);
            own
        })
        .collect();
    while net.ask(0, &[BIND])[0] == 0 {}
    let begun = net.now;
    while net.now - begun < 50_000 {
        net.now += 5000;
        (1..).zip(&left).for_each(|(port, own)| net.comes(from(5000 + port, ACK, [1001, *own], 0)));
    }
    assert_eq!(net.ask(0, &[BIND])[0], QUOTA);
    net.now += 20_000;
    (0..3).for_each(|_| net.poll());
    left.drain(..).for_each(|_| assert_eq!(net.ask(0, &[BIND])[0], 0));
}

/// A segment of a peer: flags, and how far its numbers are from those that are due.
type Step = (u8, i32, i32, u16, Vec<u8>, usize, u8);

fn step() -> impl Strategy<Value = Step> {
    let off = || prop_oneof![6 => Just(0_i32), 3 => -3..3_i32, 1 => Just(8191), 1 => Just(8192), 1 => Just(i32::MAX), 1 => Just(i32::MIN), 1 => any::<i32>()];
    let window = prop_oneof![Just(0_u16), Just(1), Just(8192), Just(u16::MAX), any::<u16>()];
    (
        flags(),
        off(),
        off(),
        window,
        tcp_options(),
        prop_oneof![Just(0_usize), 0_usize..20, Just(1400)],
        any::<u8>(),
    )
}

/// Lets a peer send these segments on a connection that it makes or that the server's client does.
fn converse(net: &mut Net, of_client: bool, steps: &[Step]) {
    net.comes(arp(1, [10, 0, 2, 2], PEER, [10, 0, 2, 15]));
    let listener = net.get(0, &[LISTEN, 0, 0, 80]);
    let (mut socket, mut ports, mut numbers) = (None, [4000, 80], [1000_u32, 0]);
    if of_client {
        let made = net.ask(0, &[CONNECT, 0, 0, 80, u32::from_be_bytes([10, 0, 2, 2])]);
        (socket, ports) = (Some(made[1]), [80, made[3] as u16]);
    }
    for (flags, sequence, acknowledged, window, options, bytes, act) in steps {
        // What the server says of both numbers.
        for sent in net
            .wire
            .peer
            .borrow_mut()
            .drain(..)
            .filter(|frame| frame.len() >= 54 && frame[23] == TCP)
        {
            let number = |at: usize| {
                u32::from_be_bytes([sent[at], sent[at + 1], sent[at + 2], sent[at + 3]])
            };
            let counted = u32::from(sent[47] & 3 != 0)
                + (sent.len() - 34 - usize::from(sent[46] >> 4) * 4) as u32;
            numbers[1] = number(38).wrapping_add(counted);
            if sent[47] & 0x10 != 0 {
                numbers[0] = number(42);
            }
        }
        let due = [
            numbers[0].wrapping_add_signed(*sequence),
            numbers[1].wrapping_add_signed(*acknowledged),
        ];
        net.wire.frames.borrow_mut().push_back(ip(
            PEER_V4,
            OWN_V4,
            TCP,
            segment(ports, due, *flags, *window, options, &vec![1; *bytes]),
        ));
        // Some come together.
        if act & 1 == 0 {
            continue;
        }
        net.poll();
        if socket.is_none()
            && let Some([0, accepted, ..]) = net.begin(0, &[ACCEPT, listener])
        {
            socket = Some(accepted);
        }
        if let Some(socket) = socket {
            match act >> 1 & 7 {
                0 => drop(net.begin(0, &[WRITE, socket, 3000])),
                1 => drop(net.begin(0, &[READ, socket, 3000])),
                2 => drop(net.begin(0, &[CONNECTED, socket])),
                3 => drop(net.begin(0, &[SHUT_DOWN, socket])),
                4 if act >> 4 == 0 => drop(net.begin(0, &[CLOSE, socket])),
                _ => net.now += 1 << (act >> 4),
            }
        }
    }
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn a_peer_of_a_connection_harms_only_that(of_client in any::<bool>(), steps in vec(step(), 1..60)) {
        let mut net = Net::new(2);
        converse(&mut net, of_client, &steps);
        net.goes_on();
        net.datagram(b"of the others");
    }
}
