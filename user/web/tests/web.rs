// SPDX-License-Identifier: MIT OR Apache-2.0
//! What peers may send, in whatever parts, and how little of the answers they may read.

use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use web::{
    ANSWER, Body, Entry, Exchange, Guest, IDLE, Limits, MOST, PAGE, PART, REQUEST, Site, TIME,
};

struct Pages;

impl Site for Pages {
    fn find(&self, path: &str) -> Option<(Body, &'static str)> {
        match path {
            "" => Some((Body::File(b"index\n"), "text/html")),
            "made" => Some((Body::Made(vec![b'm'; PAGE]), "text/plain")),
            "large" => Some((Body::Made(vec![b'm'; PAGE + 1]), "text/plain")),
            _ => None,
        }
    }
}

/// All that is sent in answer to bytes that come in parts of a length, to a peer that reads in
/// parts of another one.
fn answers(sent: &[u8], part: usize, read: usize) -> (Vec<u8>, Exchange) {
    let (mut exchange, mut got) = (Exchange::new(0), Vec::new());
    let mut parts = sent.chunks(part.clamp(1, PART));
    loop {
        assert!(exchange.bytes() <= MOST, "{} bytes are kept", exchange.bytes());
        let pending = exchange.pending();
        if !pending.is_empty() {
            let count = pending.len().min(read.max(1));
            got.extend_from_slice(&pending[..count]);
            exchange.sent(count, &Pages, 0);
        } else if exchange.takes()
            && let Some(part) = parts.next()
        {
            exchange.take(part, &Pages, 0);
        } else {
            return (got, exchange);
        }
    }
}

/// The first lines of the answers.
fn lines(sent: &[u8]) -> Vec<String> {
    let (got, _) = answers(sent, PART, usize::MAX);
    String::from_utf8_lossy(&got)
        .lines()
        .filter_map(|line| Some(line.split_once("HTTP/1.1 ")?.1.to_owned()))
        .collect()
}

#[test]
fn requests_are_answered() {
    assert_eq!(lines(b"GET / HTTP/1.1\r\n\r\n"), ["200 OK"]);
    assert_eq!(
        lines(b"GET /made?x#y HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n"),
        ["200 OK"],
        "it ends with the first"
    );
    assert_eq!(
        lines(b"GET /nothing HTTP/1.1\r\n\r\nHEAD / HTTP/1.1\r\n\r\n"),
        ["404 Not Found", "200 OK"]
    );
    assert_eq!(lines(b"POST / HTTP/1.1\r\n\r\n"), ["405 Method Not Allowed"]);
    assert_eq!(lines(b"GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), ["400 Bad Request"]);
    assert_eq!(lines(b"\x01\r\n\r\n"), ["400 Bad Request"]);
    assert_eq!(lines(b"GET /large HTTP/1.1\r\n\r\n"), ["500 Internal Server Error"]);
    let long =
        |bytes: usize| [b"GET / HTTP/1.1\r\nA: ", &vec![b'a'; bytes][..], b"\r\n\r\n"].concat();
    assert_eq!(lines(&long(REQUEST - 100)), ["200 OK"]);
    assert_eq!(lines(&long(2 * REQUEST)), ["431 Request Header Fields Too Large"]);
    let (head, _) = answers(b"HEAD / HTTP/1.1\r\n\r\n", PART, 1);
    assert!(head.ends_with(
        b"Content-Length: 6\r\nCache-Control: no-cache\r\nConnection: keep-alive\r\n\r\n"
    ));
}

/// What filled the heap once: each is answered, and none before the peer has the answer to the one
/// before.
#[test]
fn many_requests_at_once_are_answered_one_by_one() {
    let sent = b"GET /made HTTP/1.1\r\n\r\n".repeat(62);
    assert_eq!(lines(&sent), vec!["200 OK"; 62]);
    let mut exchange = Exchange::new(0);
    exchange.take(&sent, &Pages, 0);
    assert!(!exchange.takes() && exchange.bytes() <= MOST);
}

#[test]
fn a_peer_that_has_ended_is_answered_first() {
    let (got, mut exchange) = answers(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nGET", PART, 1);
    assert!(got.ends_with(b"index\n") && exchange.takes() && !exchange.is_over());
    exchange.take(&[], &Pages, 0);
    assert!(exchange.is_over(), "the rest of a request does not come");
    let mut exchange = Exchange::new(0);
    exchange.take(b"GET / HTTP/1.1\r\n", &Pages, 0);
    exchange.take(b"\r\n", &Pages, 0);
    assert!(!exchange.takes());
    exchange.sent(exchange.pending().len(), &Pages, 0);
    exchange.sent(exchange.pending().len(), &Pages, 0);
    exchange.take(&[], &Pages, 0);
    assert!(exchange.is_over());
}

#[test]
fn time_is_bounded_at_each_stage() {
    let mut exchange = Exchange::new(5);
    assert_eq!((exchange.until(), exchange.idle_since()), (5 + IDLE, Some(5)));
    // A byte now and then does not make it longer.
    for (now, byte) in (10..).zip(b"GET / HTTP/1.1\r\n") {
        exchange.take(&[*byte], &Pages, now);
        assert_eq!((exchange.until(), exchange.idle_since()), (10 + TIME, None));
    }
    exchange.take(b"\r\n", &Pages, 40);
    assert_eq!((exchange.until(), exchange.idle_since()), (40 + ANSWER, None));
    exchange.sent(1, &Pages, 50);
    assert_eq!(exchange.until(), 40 + ANSWER, "nor does reading one");
    while !exchange.takes() {
        exchange.sent(exchange.pending().len(), &Pages, 60);
    }
    assert_eq!((exchange.until(), exchange.idle_since()), (60 + IDLE, Some(60)));
}

#[test]
fn one_address_has_not_all_connections() {
    let limits = Limits { all: 6, one: 4 };
    let v4 = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 2, last));
    let guest = |peer, idle_since| Guest { peer, idle_since };
    let mut guests = vec![guest(v4(2), None); 4];
    assert_eq!(limits.admit(&guests, v4(2)), Entry::Full);
    assert_eq!(limits.admit(&guests, v4(3)), Entry::Free);
    guests.extend([guest(v4(3), Some(9)), guest(v4(4), Some(7))]);
    assert_eq!(limits.admit(&guests, v4(5)), Entry::InPlaceOf(5), "who does nothing for longest");
    guests[4].idle_since = None;
    guests[5].idle_since = None;
    assert_eq!(limits.admit(&guests, v4(5)), Entry::Full);
    // A host of IP version 6 has as many addresses as it likes.
    let v6 = |network, last| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, last));
    let guests: Vec<Guest> = (0..4).map(|last| guest(v6(1, last), None)).collect();
    assert_eq!(
        [limits.admit(&guests, v6(1, 9)), limits.admit(&guests, v6(2, 9))],
        [Entry::Full, Entry::Free]
    );
}

/// Pieces of requests.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /made HTTP/1.1\r\nHost: a\r\n\r\n",
        b"HEAD /made HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"GET ",
        b" HTTP/1.1\r\n",
        b"Connection: close\r\n",
        b"Content-Length: 7\r\n",
        b"\r\n",
        b"\n",
    ];
    let piece = prop_oneof![
        6 => prop::sample::select(known).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (1_usize..12_000).prop_map(|bytes| vec![b'a'; bytes]),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Answers depend on the bytes, and not on how they come or are read.
    #[test]
    fn bytes_of_any_kind_in_any_parts_are_answered_alike(sent in pieces(), part in 1_usize..3000, read in 1_usize..3000) {
        // How much of a request that is too long comes before that is seen depends on the parts,
        // but not what is said of it.
        let (once, _) = answers(&sent, PART, usize::MAX);
        let (got, exchange) = answers(&sent, part, read);
        prop_assert!(exchange.pending().is_empty());
        let is_long = |answer: &[u8]| answer.windows(4).any(|four| four == b" 431");
        prop_assert!(got == once || is_long(&got) || is_long(&once));
    }
}
