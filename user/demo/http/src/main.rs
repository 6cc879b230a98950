// SPDX-License-Identifier: MIT OR Apache-2.0
//! A web server: the files that the description gives it (`files = [{ as = "index.html", from = ...
//! }]`), and at `/status` a page about the system's components and the frames of its network, if it
//! has the switch to watch (docs/ip.md).
//!
//! One thread serves all connections. None of them is waited for, and none takes more than its
//! share: how many there are, in all (the argument `connections=N`) and of one address
//! (`per-address=N`), what is kept of each, and how long each may take, has bounds. What goes over
//! a connection is in the crate `web`.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod connection;
mod site;
mod status;

use connection::Connection;
use core::iter::once;
use core::time::Duration;
use macadamia::alloc::vec::Vec;
use macadamia::net::{Error, Ipv4Addr, PollFd, READABLE, Result, TcpListener, TcpStream, poll};
use macadamia::{Env, println, start, time};
use site::Site;
use web::{BUSY, Entry, Guest, Limits, MOST, PAGE};

macadamia::main!(run);

/// Unless arguments say others. The IP server's own limit is 64 sockets, some of which end yet.
const LIMITS: Limits = Limits { all: 24, one: 12 };
/// Bytes of heap for everything but what connections keep: a page that is made, and the lists.
const RESERVE: usize = 4 * PAGE;

fn run(env: Env) {
    let number = |name, usual| env.argument(name).map_or(usual, |_| env.number(name) as usize);
    let port = number("port", 80) as u16;
    let limits =
        Limits { all: number("connections", LIMITS.all), one: number("per-address", LIMITS.one) };
    // Memory that is missing is missed now, and not when many come.
    let (needed, free) = (limits.all * MOST + RESERVE, start::free_heap());
    assert!(
        needed <= free,
        "{} connections want a heap of {} KiB, and {} KiB are free: give `{}` more, or write `connections=N`",
        limits.all,
        needed.div_ceil(1024),
        free / 1024,
        env.start.name
    );
    let mut site = Site::new(&env);
    loop {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
            .unwrap_or_else(|error| panic!("{error}"));
        println!("listening at port {port}");
        if let Err(error) = serve(&listener, &mut site, limits) {
            println!("{error}: begins again");
        }
    }
}

/// Serves until the IP server dies.
fn serve(listener: &TcpListener, site: &mut Site, limits: Limits) -> Result<()> {
    listener.set_nonblocking(true);
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let waits = connections.iter().map(Connection::waits_for);
        let mut list: Vec<PollFd<'_>> =
            once(PollFd::new(listener, READABLE)).chain(waits).collect();
        let until = connections.iter().map(Connection::until).fold(site.due(), u64::min);
        poll(&mut list, Some(Duration::from_nanos(until.saturating_sub(time::now()))))?;
        let ready: Vec<bool> = list.iter().map(|entry| entry.ready() != 0).collect();
        let now = time::now();
        site.note(now);
        let mut is_ready = ready[1..].iter();
        connections.retain_mut(|connection| {
            let goes_on = is_ready.next() != Some(&true) || connection.go_on(site, now);
            goes_on && now < connection.until()
        });
        if ready[0] {
            accept(listener, &mut connections, limits, now)?;
        }
    }
}

/// Takes connections that have come, as many as there may be: those that are there have their turn
/// before others.
fn accept(
    listener: &TcpListener,
    connections: &mut Vec<Connection>,
    limits: Limits,
    now: u64,
) -> Result<()> {
    for _ in 0..limits.all {
        let (stream, peer) = match listener.accept() {
            Ok(come) => come,
            Err(Error::WouldBlock) => break,
            Err(error) => return Err(error),
        };
        let guests: Vec<Guest> = connections.iter().map(Connection::guest).collect();
        match limits.admit(&guests, peer.ip()) {
            Entry::Free => {}
            Entry::InPlaceOf(idle) => drop(connections.swap_remove(idle)),
            Entry::Full => {
                refuse(&stream);
                continue;
            }
        }
        connections.push(Connection::new(stream, now));
    }
    Ok(())
}

/// Says that there is no connection for a peer, if it can be told without waiting.
fn refuse(stream: &TcpStream) {
    stream.set_nonblocking(true);
    // Whether it hears that or not, it has to come again.
    let _ = stream.write(BUSY);
}
