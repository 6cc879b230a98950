// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends back what it receives, to as many as there are.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::iter::once;
use macadamia::alloc::vec::Vec;
use macadamia::net::{PollFd, READABLE, Result, TcpListener, TcpStream, poll};
use macadamia::{Env, println};

macadamia::main!(run);

fn run(_: Env) {
    loop {
        let listener = TcpListener::bind("0.0.0.0:7").unwrap_or_else(|error| panic!("{error}"));
        println!("listening at {}", listener.local_addr());
        if let Err(error) = serve(&listener) {
            println!("{error}: begins again");
        }
    }
}

fn serve(listener: &TcpListener) -> Result<()> {
    let mut streams: Vec<TcpStream> = Vec::new();
    loop {
        let readable = streams.iter().map(|stream| PollFd::new(stream, READABLE));
        let mut list: Vec<PollFd> = once(PollFd::new(listener, READABLE)).chain(readable).collect();
        poll(&mut list, None)?;
        let ready: Vec<bool> = list.iter().map(|entry| entry.ready() != 0).collect();
        let mut may_be_read = ready[1..].iter();
        streams.retain(|stream| {
            may_be_read.next() != Some(&true) || echo(stream).is_ok_and(|count| count > 0)
        });
        if ready[0] {
            streams.push(listener.accept()?.0);
        }
    }
}

fn echo(stream: &TcpStream) -> Result<usize> {
    let mut buffer = [0; 4096];
    let count = stream.read(&mut buffer)?;
    stream.write_all(&buffer[..count])?;
    Ok(count)
}
