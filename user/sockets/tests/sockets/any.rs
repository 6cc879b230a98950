// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames whose checksums are right and whose words may be any, and options of leases.

use crate::frames::*;
use crate::net::{OWN, PEER};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Each of these cases takes long.
pub fn few() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases / 8, ..usual }
}

pub fn v4() -> impl Strategy<Value = IpAddr> {
    let known = [
        [10, 0, 2, 2],
        [10, 0, 2, 15],
        [0; 4],
        [255; 4],
        [10, 0, 2, 255],
        [10, 0, 2, 0],
        [127, 0, 0, 1],
        [224, 0, 0, 1],
        [8, 8, 8, 8],
    ];
    prop_oneof![4 => Just(PEER_V4), 4 => Just(OWN_V4), 8 => prop::sample::select(known.to_vec()).prop_map(IpAddr::from), 1 => any::<[u8; 4]>().prop_map(IpAddr::from)]
}

pub fn v6() -> impl Strategy<Value = Ipv6Addr> {
    let known = [
        [0; 8],
        [0, 0, 0, 0, 0, 0, 0, 1],
        [0xff02, 0, 0, 0, 0, 0, 0, 2],
        [0xff02, 0, 0, 0, 0, 1, 0xff00, 1],
        [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0],
        [0x2001, 0xdb8, 0, 0, 0, 0xff, 0xfe00, 1],
        [0xff0e, 0, 0, 0, 0, 0, 0, 0],
        [0xfe80, 0, 0, 0, 0, 0, 0, 0],
        [0xfe80, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0xffff, 0x0a00, 0x20f],
    ];
    let own = [OWN_V6, PEER_V6, ALL_V6].map(|address| {
        if let IpAddr::V6(address) = address { address } else { Ipv6Addr::UNSPECIFIED }
    });
    prop_oneof![8 => prop::sample::select(own.to_vec()).boxed(), 4 => prop::sample::select(known.to_vec()).prop_map(Ipv6Addr::from).boxed(), 1 => any::<[u16; 8]>().prop_map(Ipv6Addr::from).boxed()]
}

pub fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..most)
}

pub fn ports() -> impl Strategy<Value = [u16; 2]> {
    let port =
        || prop_oneof![prop::sample::select(&[7_u16, 53, 67, 68, 80, 5353][..]), any::<u16>()];
    [port(), port()]
}

/// Options of TCP, with lengths that may be right.
pub fn tcp_options() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![
        Just((2_u8, 4_u8)),
        Just((3, 3)),
        Just((4, 2)),
        Just((5, 10)),
        Just((8, 10)),
        Just((1, 0)),
        any::<(u8, u8)>()
    ];
    let option = (kind, any::<[u8; 8]>()).prop_map(|((kind, length), bytes)| match kind {
        0 | 1 => vec![kind],
        _ => [&[kind, length], &bytes[..usize::from(length.saturating_sub(2)).min(8)]].concat(),
    });
    vec(option, 0..4).prop_map(|options| {
        let mut all = options.concat();
        all.truncate(40);
        all.resize(all.len().next_multiple_of(4), 0);
        all
    })
}

pub fn flags() -> impl Strategy<Value = u8> {
    prop_oneof![
        Just(0x02_u8),
        Just(0x10),
        Just(0x12),
        Just(0x11),
        Just(0x18),
        Just(0x04),
        Just(0x14),
        any::<u8>()
    ]
}

/// What packets of either version carry: a protocol, and a body.
pub fn carried() -> impl Strategy<Value = (u8, Vec<u8>)> {
    prop_oneof![
        (ports(), bytes(40)).prop_map(|(ports, body)| (UDP, udp(ports, &body))),
        (ports(), any::<[u32; 2]>(), flags(), any::<u16>(), tcp_options(), bytes(40)).prop_map(
            |(ports, numbers, flags, window, options, body)| (
                TCP,
                segment(ports, numbers, flags, window, &options, &body)
            )
        ),
        (any::<u8>(), bytes(80)),
    ]
}

/// ICMP, with another packet in it or any bytes.
pub fn icmp() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let inner = (v4(), v4(), carried())
        .prop_map(|(from, to, (protocol, body))| ip(from, to, protocol, body)[14..].to_vec());
    (
        prop::sample::select(&[0_u8, 3, 4, 5, 8, 11, 12, 13][..]),
        0_u8..16,
        any::<[u8; 4]>(),
        prop_oneof![inner.boxed(), bytes(60).boxed()],
    )
        .prop_map(|(kind, code, word, body)| {
            (ICMP, [&[kind, code, 0, 0], &word[..], &body].concat())
        })
}

/// Options of neighbours and routers; prefixes among them, of all lengths.
pub fn neighbours_option() -> impl Strategy<Value = Vec<u8>> {
    let bits = prop_oneof![
        Just(64_u8),
        Just(0),
        Just(63),
        Just(65),
        Just(128),
        Just(129),
        Just(255),
        any::<u8>()
    ];
    let lifetime = || prop_oneof![Just(0_u32), Just(1), Just(3600), Just(u32::MAX), any::<u32>()];
    let prefix = (bits, any::<u8>(), lifetime(), lifetime(), v6()).prop_map(
        |(bits, flags, valid, preferred, prefix)| {
            [
                &[3, 4, bits, flags | 0x40],
                &valid.to_be_bytes()[..],
                &preferred.to_be_bytes(),
                &[0; 4],
                &prefix.octets(),
            ]
            .concat()
        },
    );
    let address = (1_u8..3, prop_oneof![Just(PEER), Just(OWN), Just([0xff; 6]), any::<[u8; 6]>()])
        .prop_map(|(kind, address)| [&[kind, 1], &address[..]].concat());
    let other = (0_u8..32, 0_u8..8, bytes(64)).prop_map(|(kind, length, mut body)| {
        body.resize(usize::from(length.max(1)) * 8 - 2, 0);
        [&[kind, length], &body[..]].concat()
    });
    prop_oneof![4 => prefix.boxed(), 2 => address.boxed(), 2 => other.boxed()]
}

/// ICMP of IP version 6: questions and advertisements of neighbours and routers, reports of groups,
/// errors, echoes.
pub fn icmp_v6() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let options = || vec(neighbours_option(), 0..4).prop_map(|options| options.concat());
    let router = (any::<[u8; 12]>(), options()).prop_map(|(head, options)| {
        [&[ROUTER_ADVERTISEMENT, 0, 0, 0], &head[..], &options].concat()
    });
    let neighbour =
        (prop::sample::select(&[135_u8, 136, 137][..]), any::<[u8; 4]>(), v6(), v6(), options())
            .prop_map(|(kind, word, target, destination, options)| {
                let destination = destination.octets();
                [
                    &[kind, 0, 0, 0],
                    &word[..],
                    &target.octets(),
                    &destination[..if kind == 137 { 16 } else { 0 }],
                    &options,
                ]
                .concat()
            });
    let inner = (v6(), v6(), carried()).prop_map(|(from, to, (protocol, body))| {
        ip(from.into(), to.into(), protocol, body)[14..].to_vec()
    });
    let other = (
        prop::sample::select(&[1_u8, 2, 3, 4, 128, 129, 130, 131, 132, 133, 143, 155][..]),
        0_u8..4,
        any::<[u8; 4]>(),
        prop_oneof![inner.boxed(), bytes(60).boxed()],
    )
        .prop_map(|(kind, code, word, body)| [&[kind, code, 0, 0], &word[..], &body].concat());
    prop_oneof![4 => router.boxed(), 3 => neighbour.boxed(), 2 => other.boxed()]
        .prop_map(|body| (ICMP_V6, body))
}

/// A frame whose checksums are right, for the server or for all.
pub fn sound() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![8 => Just(0_u16), 1 => Just(0x4000), 1 => any::<u16>()];
    let of_v4 = (v4(), v4(), fragment, prop_oneof![icmp().boxed(), carried().boxed()]).prop_map(
        |(from, to, fragment, (protocol, mut body))| {
            seal(from, to, protocol, &mut body);
            packet(from, to, protocol, fragment, &body)
        },
    );
    let extension = prop_oneof![6 => Just(None), 1 => Just(Some(vec![1, 4, 0, 0, 0, 0])), 1 => bytes(22).prop_map(Some)];
    let of_v6 =
        (v6(), v6(), extension, prop_oneof![3 => icmp_v6().boxed(), 1 => carried().boxed()])
            .prop_map(|(from, to, extension, (protocol, mut body))| {
                seal(from.into(), to.into(), protocol, &mut body);
                let Some(mut options) = extension else {
                    return packet(from.into(), to.into(), protocol, 0, &body);
                };
                options.resize((options.len() + 2).next_multiple_of(8) - 2, 0);
                let length = ((options.len() + 2) / 8 - 1) as u8;
                packet(
                    from.into(),
                    to.into(),
                    HOP_BY_HOP,
                    0,
                    &[&[protocol, length], &options[..], &body].concat(),
                )
            });
    let address = || {
        prop_oneof![
            Just([10, 0, 2, 2]),
            Just([10, 0, 2, 15]),
            Just([0; 4]),
            Just([255; 4]),
            Just([224, 0, 0, 1]),
            any::<[u8; 4]>()
        ]
    };
    let of_arp = (
        0_u8..4,
        address(),
        prop_oneof![Just(PEER), Just(OWN), Just([0xff; 6]), Just([0; 6])],
        address(),
    )
        .prop_map(|(operation, from, hardware, to)| arp(operation, from, hardware, to));
    (any::<bool>(), prop_oneof![3 => of_v4.boxed(), 4 => of_v6.boxed(), 1 => of_arp.boxed()])
        .prop_map(|(all, mut frame)| {
            if all {
                frame[..6].fill(0xff);
            }
            frame
        })
}

/// Options of a lease as servers give them, with addresses that may be any.
pub fn lease_options() -> impl Strategy<Value = Vec<u8>> {
    let address = || prop_oneof![v4(), Just(Ipv4Addr::new(10, 0, 2, 3).into())].prop_map(octets);
    let mask = prop_oneof![3 => Just(NETWORK.to_vec()), 2 => (0_u32..33).prop_map(|bits| (!(u32::MAX.checked_shr(bits).unwrap_or(0))).to_be_bytes().to_vec()), 1 => bytes(5)];
    let time = || {
        prop_oneof![Just(0_u32), Just(1), Just(120), Just(7200), Just(u32::MAX), any::<u32>()]
            .prop_map(|time| time.to_be_bytes().to_vec())
    };
    let option = prop_oneof![
        4 => address().prop_map(|address| (3_u8, address)).boxed(),
        2 => vec(address(), 0..4).prop_map(|servers| (6, servers.concat())).boxed(),
        2 => time().prop_map(|time| (51, time)).boxed(),
        1 => time().prop_map(|time| (58, time)).boxed(),
        1 => time().prop_map(|time| (59, time)).boxed(),
        1 => (any::<u8>(), bytes(9)).boxed(),
    ];
    (mask, vec(option, 0..6), prop::option::of(bytes(4))).prop_map(|(mask, options, rest)| {
        let all: Vec<u8> = core::iter::once((1, mask))
            .chain(options)
            .flat_map(|(kind, body)| [&[kind, body.len() as u8], &body[..]].concat())
            .collect();
        [&all[..], &rest.unwrap_or(vec![255])].concat()
    })
}
