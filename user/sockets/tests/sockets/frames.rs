// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames with right checksums, and what is in them.

use crate::net::{HERE, OWN, PEER};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMP_V6: u8 = 58;
pub const HOP_BY_HOP: u8 = 0;
pub const ROUTER_ADVERTISEMENT: u8 = 134;

pub const OWN_V4: IpAddr = IpAddr::V4(Ipv4Addr::from_bits(HERE));
pub const PEER_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 2, 2));
pub const OWN_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 1));
pub const PEER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xff, 2));
pub const ALL_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));

/// IP's checksum over all of it.
pub fn sum(bytes: &[u8]) -> [u8; 2] {
    let pair = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let sum: u32 = bytes.chunks(2).map(pair).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

pub fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Writes the checksum of what a packet carries, if its protocol has one.
pub fn seal(from: IpAddr, to: IpAddr, protocol: u8, body: &mut [u8]) {
    let (at, has_addresses) = match protocol {
        ICMP => (2, false),
        TCP => (16, true),
        UDP => (6, true),
        ICMP_V6 => (2, true),
        _ => return,
    };
    if body.len() < at + 2 {
        return;
    }
    body[at..at + 2].fill(0);
    let pseudo = [
        octets(from),
        octets(to),
        (body.len() as u32).to_be_bytes().to_vec(),
        vec![0, 0, 0, protocol],
    ]
    .concat();
    let sum = sum(&[if has_addresses { &pseudo[..] } else { &[] }, body].concat());
    body[at..at + 2].copy_from_slice(&sum);
}

/// A frame for the server.
pub fn frame(kind: [u8; 2], body: &[u8]) -> Vec<u8> {
    [&OWN[..], &PEER, &kind, body].concat()
}

/// One with a packet, whose addresses are of one version.
pub fn ip(from: IpAddr, to: IpAddr, protocol: u8, mut body: Vec<u8>) -> Vec<u8> {
    seal(from, to, protocol, &mut body);
    packet(from, to, protocol, 0, &body)
}

/// The same with the flags and the offset of a fragment (IP version 4), and what it carries as it
/// is.
pub fn packet(from: IpAddr, to: IpAddr, protocol: u8, fragment: u16, body: &[u8]) -> Vec<u8> {
    let addresses = [octets(from), octets(to)].concat();
    if from.is_ipv6() {
        let bytes = (body.len() as u16).to_be_bytes();
        return frame(
            [0x86, 0xdd],
            &[&[0x60, 0, 0, 0, bytes[0], bytes[1], protocol, 255], &addresses[..], body].concat(),
        );
    }
    let [bytes, fragment] = [20 + body.len() as u16, fragment].map(u16::to_be_bytes);
    let mut head = [
        vec![0x45, 0, bytes[0], bytes[1], 0, 0, fragment[0], fragment[1], 64, protocol, 0, 0],
        addresses,
    ]
    .concat();
    let sum = sum(&head);
    head[10..12].copy_from_slice(&sum);
    frame([8, 0], &[&head, body].concat())
}

/// A datagram, without its checksum.
pub fn udp([from, to]: [u16; 2], body: &[u8]) -> Vec<u8> {
    let [from, to, bytes] = [from, to, 8 + body.len() as u16].map(u16::to_be_bytes);
    [&from[..], &to, &bytes, &[0, 0], body].concat()
}

/// A router's advertisement of a prefix.
pub fn advertisement(prefix: Ipv6Addr, bits: u8) -> Vec<u8> {
    let head = [ROUTER_ADVERTISEMENT, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    let option = [3, 4, bits, 0xc0, 0, 1, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0];
    [&head[..], &option, &prefix.octets()].concat()
}

/// An options header that says what follows.
pub fn hop_by_hop(next: u8, body: &[u8]) -> Vec<u8> {
    [&[next, 0, 1, 4, 0, 0, 0, 0], body].concat()
}

/// ARP: the server's question or somebody's.
pub fn arp(operation: u8, from: [u8; 4], address: [u8; 6], to: [u8; 4]) -> Vec<u8> {
    frame([8, 6], &[&[0, 1, 8, 0, 6, 4, 0, operation], &address[..], &from, &OWN, &to].concat())
}

/// The mask of a usual network.
pub const NETWORK: [u8; 4] = [255, 255, 255, 0];

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;

pub fn segment(
    [from, to]: [u16; 2],
    [sequence, acknowledged]: [u32; 2],
    flags: u8,
    window: u16,
    options: &[u8],
    body: &[u8],
) -> Vec<u8> {
    let length = (5 + options.len() as u8 / 4) << 4;
    let [from, to, window] = [from, to, window].map(u16::to_be_bytes);
    let [sequence, acknowledged] = [sequence, acknowledged].map(u32::to_be_bytes);
    [&from[..], &to, &sequence, &acknowledged, &[length, flags], &window, &[0; 4], options, body]
        .concat()
}
