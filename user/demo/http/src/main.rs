// SPDX-License-Identifier: MIT OR Apache-2.0
//! A web server: the files that the description gives it (`files = [{ as = "index.html", from = ... }]`), and at `/status` a page
//! about the system's components and the frames of its network, if it has the switch to watch (docs/ip.md).
//!
//! One thread serves all connections. None of them is waited for.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod connection;
mod response;
mod status;

use connection::Connection;
use core::iter::once;
use core::time::Duration;
use macadamia::alloc::vec::Vec;
use macadamia::net::{Error, Ipv4Addr, PollFd, READABLE, Result, TcpListener, poll};
use macadamia::{Env, println, time};
use response::Site;

macadamia::main!(run);

/// How often the state is noted for the plot.
const SECOND: u64 = 1_000_000_000;
/// How long a peer may neither send nor take anything.
const PATIENCE: u64 = 30 * SECOND;

fn run(env: Env) {
    let port = env.argument("port").map_or(80, |_| env.number("port") as u16);
    let mut site = Site::new(&env);
    loop {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap_or_else(|error| panic!("{error}"));
        println!("listening at port {port}");
        if let Err(error) = serve(&listener, &mut site) {
            println!("{error}: begins anew");
        }
    }
}

/// Serves until the IP server dies.
fn serve(listener: &TcpListener, site: &mut Site) -> Result<()> {
    listener.set_nonblocking(true);
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let waits = connections.iter().map(Connection::waits_for);
        let mut list: Vec<PollFd<'_>> = once(PollFd::new(listener, READABLE)).chain(waits).collect();
        let now = time::now();
        poll(&mut list, Some(Duration::from_nanos(site.due().saturating_sub(now))))?;
        let ready: Vec<bool> = list.iter().map(|entry| entry.ready() != 0).collect();
        let now = time::now();
        site.note(now);
        let mut is_ready = ready[1..].iter();
        connections.retain_mut(|connection| match is_ready.next() {
            Some(true) => connection.go_on(site, now),
            _ => now < connection.moved + PATIENCE,
        });
        if ready[0] {
            accept(listener, &mut connections, now)?;
        }
    }
}

/// Takes all connections that have come.
fn accept(listener: &TcpListener, connections: &mut Vec<Connection>, now: u64) -> Result<()> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => connections.push(Connection::new(stream, now)),
            Err(Error::WouldBlock) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
