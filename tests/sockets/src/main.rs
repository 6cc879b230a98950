// SPDX-License-Identifier: MIT OR Apache-2.0
//! What native components may expect of their sockets, while the IP server lives and when it dies.
//! This component has both ends of each connection; the argument `address` is the server's address.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::frame::INSTRUCTION;
use core::fmt;
use core::time::Duration;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::net::{
    Error, Ipv4Addr, PollFd, READABLE, TcpListener, TcpStream, UdpSocket, WRITABLE, look_up, poll,
};
use macadamia::start::components;
use macadamia::{Env, Thread, result, time};

macadamia::main!(run);

/// How often the server is killed.
const DEATHS: u32 = 20;
/// The longest, in nanoseconds, until its clients know, and until new sockets work. The server's
/// next life comes 10 ms later.
const SECOND: u64 = 1_000_000_000;
/// Most sockets of a client.
const SOCKETS: usize = 64;

/// Why a test failed.
struct Failure(String);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(format!("{error}"))
    }
}

type Verdict = Result<(), Failure>;
type Test = (&'static str, fn(&Place) -> Verdict);

fn ensure(good: bool, what: impl fmt::Display) -> Verdict {
    if good { Ok(()) } else { Err(Failure(format!("{what}"))) }
}

/// The error that was wanted.
fn fails<T>(result: Result<T, Error>, wanted: Error) -> Verdict {
    let found = result.err();
    ensure(found == Some(wanted), format_args!("{found:?} instead of {wanted:?}"))
}

struct Place {
    address: Ipv4Addr,
    server: Thread,
}

fn run(env: Env) {
    let address = env
        .argument("address")
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("write `address=...`"));
    let place = Place { address, server: env.thread("control-ip") };
    let tests: [Test; 8] = [
        ("datagrams", datagrams),
        ("connections", connections),
        ("times", times),
        ("refusals", refusals),
        ("quota", quota),
        ("many", many),
        ("deaths", deaths),
        ("afterwards", connections),
    ];
    for (name, test) in tests {
        match test(&place) {
            Ok(()) => result!("ok sockets.{name}"),
            Err(Failure(why)) => result!("not ok sockets.{name}: {why}"),
        }
    }
    result!("done");
}

fn datagrams(place: &Place) -> Verdict {
    let (one, two) = (UdpSocket::bind("0.0.0.0:0")?, UdpSocket::bind((place.address, 5000))?);
    let mut buffer = [0; 2000];
    for bytes in [0, 1, 3, 100, 1472] {
        let data: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
        ensure(one.send_to(&data, (place.address, 5000))? == bytes, "sent in part")?;
        let (count, from) = two.recv_from(&mut buffer)?;
        ensure(
            buffer[..count] == data[..] && from.port() == one.local_addr().port(),
            format_args!("{count} bytes from {from} for {bytes}"),
        )?;
    }
    fails(one.send_to(&[0; 1473], (place.address, 5000)), Error::InvalidInput)?;
    // The rest of a datagram that does not fit is lost, and the next one is whole.
    one.send_to(b"longer", (place.address, 5000))?;
    one.send_to(b"next", (place.address, 5000))?;
    ensure(two.recv_from(&mut buffer[..3])?.0 == 3 && &buffer[..3] == b"lon", "another part")?;
    ensure(two.recv_from(&mut buffer)?.0 == 4 && &buffer[..4] == b"next", "another datagram")
}

/// Both ends of a connection.
fn pair(place: &Place, port: u16) -> Result<(TcpStream, TcpStream), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    let from = TcpStream::connect((place.address, port))?;
    let (to, peer) = listener.accept()?;
    ensure(peer == from.local_addr(), format_args!("{peer} instead of {}", from.local_addr()))?;
    Ok((from, to))
}

fn connections(place: &Place) -> Verdict {
    const BYTES: usize = 300_000;
    let (from, to) = pair(place, 80)?;
    [&from, &to].iter().for_each(|stream| stream.set_nonblocking(true));
    let byte = |index: usize| (index.wrapping_mul(2_654_435_761) >> 13) as u8;
    let (mut sent, mut come, mut buffer) = (0, 0, [0; 5000]);
    while come < BYTES {
        let wanted = if sent < BYTES { WRITABLE } else { 0 };
        let mut list = [PollFd::new(&from, wanted), PollFd::new(&to, READABLE)];
        poll(&mut list, None)?;
        let ready = list.map(|entry| entry.ready());
        if ready[0] != 0 {
            // An odd number of bytes, so that they have any alignment.
            let part: Vec<u8> = (sent..BYTES.min(sent + 2999)).map(byte).collect();
            sent += from.write(&part)?;
        }
        if ready[1] != 0 {
            let count = to.read(&mut buffer)?;
            let is_right =
                buffer[..count].iter().zip(come..).all(|(found, index)| *found == byte(index));
            ensure(count > 0 && is_right, format_args!("wrong within {count} bytes after {come}"))?;
            come += count;
        }
    }
    fails(to.read(&mut buffer), Error::WouldBlock)?;
    from.shutdown()?;
    fails(from.write(b"more"), Error::NotConnected)?;
    to.set_nonblocking(false);
    ensure(to.read(&mut buffer)? == 0, "no end")?;
    // The other direction is open.
    to.write_all(b"back")?;
    from.set_nonblocking(false);
    ensure(from.read(&mut buffer)? == 4 && &buffer[..4] == b"back", "another answer")
}

fn times(place: &Place) -> Verdict {
    let (from, _to) = pair(place, 80)?;
    from.set_timeout(Some(Duration::from_millis(50)));
    let begun = time::now();
    fails(from.read(&mut [0]), Error::TimedOut)?;
    let took = (time::now() - begun) / 1_000_000;
    ensure((50..100).contains(&took), format_args!("{took} ms instead of 50"))?;
    let begun = time::now();
    ensure(
        poll(&mut [PollFd::new(&from, READABLE)], Some(Duration::from_millis(20)))? == 0,
        "something to read",
    )?;
    let took = (time::now() - begun) / 1_000_000;
    ensure((20..70).contains(&took), format_args!("{took} ms instead of 20"))
}

fn refusals(place: &Place) -> Verdict {
    fails(TcpStream::connect((place.address, 9)), Error::ConnectionRefused)?;
    fails(TcpStream::connect("240.0.0.1:0"), Error::Unreachable)?;
    fails(TcpListener::bind("192.0.2.1:80"), Error::Unreachable)?;
    fails(TcpStream::connect("nonsense"), Error::InvalidInput)?;
    fails(TcpStream::connect("name.example:65536"), Error::InvalidInput)?;
    fails(look_up("name.example"), Error::NoName)?;
    fails(look_up(&"a".repeat(9000)), Error::NoName)?;
    let _first = UdpSocket::bind("0.0.0.0:53")?;
    fails(UdpSocket::bind("0.0.0.0:53"), Error::AddrInUse)?;
    let _listener = TcpListener::bind("0.0.0.0:53")?;
    fails(TcpListener::bind("0.0.0.0:53"), Error::AddrInUse)
}

fn quota(_: &Place) -> Verdict {
    let mut all = Vec::new();
    let error = loop {
        match UdpSocket::bind("0.0.0.0:0") {
            Ok(socket) => all.push(socket),
            Err(error) => break error,
        }
    };
    // Sockets of earlier tests that have not ended yet count.
    ensure(
        error == Error::QuotaExceeded && all.len() <= SOCKETS,
        format_args!("{} sockets, {error}", all.len()),
    )?;
    drop(all);
    UdpSocket::bind("0.0.0.0:0")?;
    Ok(())
}

/// Closed sockets leave all resources to later ones: together these need more than the server's
/// heap, and each involved component uses as much kernel memory as before.
fn many(place: &Place) -> Verdict {
    let memory = || -> Vec<_> {
        components().map(|component| (component.name, component.status.used)).collect()
    };
    let before = memory();
    for port in 1000..3000 {
        let (from, to) = pair(place, port)?;
        from.write_all(b"a")?;
        ensure(to.read(&mut [0])? == 1, "no byte")?;
    }
    let after = memory();
    ensure(before == after, format_args!("kernel memory was {before:?} and is {after:?}"))
}

/// Ends the server like a jump to an unmapped address.
fn kill(server: Thread) -> Verdict {
    let killed = server.stop().and_then(|()| server.registers()).and_then(|mut registers| {
        registers.words_mut()[INSTRUCTION] = 0;
        server.set_registers(&registers, true)
    });
    killed.map_err(|error| Failure(error.text().into()))
}

fn deaths(place: &Place) -> Verdict {
    for death in 0..DEATHS {
        let (from, to) = pair(place, 80)?;
        let datagrams = UdpSocket::bind("0.0.0.0:7")?;
        let begun = time::now();
        kill(place.server)?;
        fails(to.read(&mut [0]), Error::ConnectionReset)?;
        fails(from.write(b"a"), Error::ConnectionReset)?;
        fails(datagrams.recv_from(&mut [0]), Error::ConnectionReset)?;
        let listener = TcpListener::bind("0.0.0.0:81")?;
        let again = TcpStream::connect((place.address, 81))?;
        let (other, _) = listener.accept()?;
        again.write_all(b"again")?;
        ensure(other.read(&mut [0; 5])? == 5, "another answer")?;
        let took = time::now() - begun;
        // A server that dies again soon is started later.
        result!("# death {death}: sockets work again after {} ms", took / 1_000_000);
        ensure(
            took < 2 * SECOND,
            format_args!("new sockets work only after {} ms", took / 1_000_000),
        )?;
    }
    Ok(())
}
