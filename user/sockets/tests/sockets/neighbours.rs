// SPDX-License-Identifier: MIT OR Apache-2.0
//! What neighbours, routers and servers of addresses send.

use crate::any::{few, lease_options, sound, v6};
use crate::frames::*;
use crate::net::{HERE, Net, PEER};
use image::protocol::ip::*;
use proptest::collection::vec;
use proptest::prelude::*;
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use sockets::Configuration;
use std::net::Ipv6Addr;

impl Net {
    /// Answers what the server asks DHCP for: from this address, of this kind, with the server's
    /// address and more options.
    fn lease(&mut self, from: [u8; 4], kind: u8, yours: [u8; 4], options: &[u8]) -> bool {
        let Some((68, question)) = self.sent_to(67) else { return false };
        let mut answer = [
            &[2, 1, 6, 0],
            &question[4..8],
            &[0; 8],
            &yours,
            &[10, 0, 2, 2, 0, 0, 0, 0],
            &question[28..44],
        ]
        .concat();
        answer.resize(236, 0);
        answer.extend([0x63, 0x82, 0x53, 0x63, 53, 1, kind, 54, 4, 10, 0, 2, 2]);
        answer.extend(options);
        self.wire.frames.borrow_mut().clear();
        self.wire.peer.borrow_mut().clear();
        self.comes(ip(from.into(), [255; 4].into(), UDP, udp([67, 68], &answer)));
        true
    }

    fn of_dhcp() -> Self {
        Self::with(2, Configuration::Dhcp)
    }
}

/// Options of a lease: its network, a router, how long it holds.
fn options(mask: [u8; 4], router: [u8; 4], seconds: u32) -> Vec<u8> {
    [&[1, 4], &mask[..], &[3, 4], &router, &[51, 4], &seconds.to_be_bytes(), &[255]].concat()
}

#[test]
fn a_prefix_that_cannot_be_is_no_prefix() {
    let mut net = Net::new(2);
    let [honest, groups] =
        [[0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], [0xff0e, 0, 0, 0, 0, 0, 0, 0]].map(Ipv6Addr::from);
    for (prefix, bits) in [(honest, 129), (honest, 255), (groups, 64)] {
        let body = advertisement(prefix, bits);
        net.comes(ip(PEER_V6, ALL_V6, ICMP_V6, body.clone()));
        // The same after a header of options.
        let mut sealed = body;
        seal(PEER_V6, ALL_V6, ICMP_V6, &mut sealed);
        net.comes(packet(PEER_V6, ALL_V6, HOP_BY_HOP, 0, &hop_by_hop(ICMP_V6, &sealed)));
        net.poll();
    }
    assert_eq!(net.sockets.addresses().count(), 1);
    net.comes(ip(PEER_V6, ALL_V6, ICMP_V6, advertisement(honest, 64)));
    net.poll();
    assert_eq!(net.sockets.addresses().count(), 2, "one that can be");
    net.datagram(b"of the others");
}

#[test]
fn a_router_that_cannot_be_is_none() {
    for router in [[10, 0, 2, 2], [0; 4], [255; 4], [224, 0, 0, 1]] {
        let mut net = Net::of_dhcp();
        assert!([2, 5].iter().all(|kind| net.lease(
            [10, 0, 2, 2],
            *kind,
            [10, 0, 2, 15],
            &options(NETWORK, router, 0x1000)
        )));
        assert_eq!(net.sockets.addresses().count(), 1, "the lease holds without a router");
        net.goes_on();
    }
}

#[test]
fn routers_that_are_advertised_leave_room_for_the_leases() {
    let mut net = Net::of_dhcp();
    for last in 2..12 {
        let router = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xff, last);
        net.comes(ip(
            router.into(),
            ALL_V6,
            ICMP_V6,
            advertisement(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 64),
        ));
        net.poll();
    }
    assert!([2, 5].iter().all(|kind| net.lease(
        [10, 0, 2, 2],
        *kind,
        [10, 0, 2, 15],
        &options(NETWORK, [10, 0, 2, 2], 0x1000)
    )));
    net.comes(arp(2, [10, 0, 2, 2], PEER, [10, 0, 2, 15]));
    net.get(0, &[HELLO]);
    net.get(0, &[CONNECT, 0, 0, 80, u32::from_be_bytes([93, 184, 216, 34])]);
    net.poll();
    let to_peer = net.wire.peer.borrow();
    assert!(
        to_peer.iter().any(|frame| frame[23] == TCP && frame[30..34] == [93, 184, 216, 34]),
        "nothing goes by the router"
    );
}

/// The lease is renewed where it came from.
#[test]
fn a_lease_of_nobody_is_none() {
    let mut net = Net::of_dhcp();
    for kind in [2, 5, 2, 5] {
        assert!(net.lease([0; 4], kind, [10, 0, 2, 15], &options(NETWORK, [10, 0, 2, 2], 100)));
    }
    assert_eq!(net.sockets.addresses().count(), 0);
    net.goes_on();
}

#[test]
fn who_sends_without_end_does_not_keep_others_waiting() {
    let mut net = Net::new(2);
    net.comes(arp(1, [10, 0, 2, 2], PEER, [10, 0, 2, 15]));
    net.wire.flood = Some(ip(PEER_V4, OWN_V4, UDP, udp([7, 7], b"text")));
    net.datagram(b"of the others");
    let before = net.wire.count;
    net.poll();
    assert!(
        (1..=64).contains(&(net.wire.count - before)),
        "{} frames in one turn",
        net.wire.count - before
    );
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn frames_whose_sums_are_right_harm_nobody(frames in vec(sound(), 0..60), together in any::<bool>()) {
        let own = Ipv4Cidr::new(Ipv4Address::from_bits(HERE), 24);
        for from in [Configuration::Dhcp, Configuration::Static { address: own, gateway: Some(Ipv4Address::new(10, 0, 2, 2)), name_server: Some(Ipv4Address::new(10, 0, 2, 3)) }] {
            let mut net = Net::with(2, from);
            (0..2).for_each(|client| assert_eq!(net.ask(client, &[HELLO])[0], 0));
            net.ask(0, &[LISTEN, 0, 0, 80]);
            net.ask(1, &[BIND, 0, 0, 7]);
            net.ask(1, &[BIND, 0, 0, 53]);
            for frame in &frames {
                net.wire.frames.borrow_mut().push_back(frame.clone());
                if !together {
                    net.poll();
                }
            }
            net.goes_on();
            if from != Configuration::Dhcp {
                net.datagram(b"of the others");
            }
        }
    }

    #[test]
    fn behind_any_lease_clients_go_on(
        answers in vec((prop_oneof![6 => Just([10, 0, 2, 2]), 1 => Just([0; 4])], prop_oneof![3 => Just(2_u8), 3 => Just(5), 1 => Just(6), 1 => any::<u8>()], prop_oneof![4 => Just([10, 0, 2, 15]), 1 => Just([224, 0, 0, 1]), 1 => Just([255; 4]), 1 => Just([10, 0, 2, 255]), 1 => any::<[u8; 4]>()], lease_options()), 1..12),
        advertised in vec((v6(), any::<u8>()), 0..6),
    ) {
        let mut net = Net::of_dhcp();
        for (router, last) in advertised {
            let from = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xff, last.into());
            net.comes(ip(from.into(), ALL_V6, ICMP_V6, advertisement(router, 64)));
        }
        for (from, kind, yours, options) in answers {
            // It asks again and again, and more rarely when it has an address.
            if !net.lease(from, kind, yours, &options) {
                net.goes_on();
            }
        }
        net.goes_on();
    }
}
