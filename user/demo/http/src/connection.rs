// SPDX-License-Identifier: MIT OR Apache-2.0
//! A peer's connection: what it has asked, and what it has not taken yet.

use crate::response::{self, Body, Site};
use macadamia::alloc::vec::Vec;
use macadamia::net::{Error, PollFd, READABLE, TcpStream, WRITABLE};

/// Most bytes of a request.
const MOST: usize = 8192;

pub struct Connection {
    stream: TcpStream,
    /// What was asked and not answered yet.
    input: Vec<u8>,
    /// The answers that were not taken yet, and how much of the first of them was.
    output: Vec<Body>,
    taken: usize,
    /// Whether nothing more is read: the connection ends when everything was taken.
    ends: bool,
    /// When bytes came or went.
    pub moved: u64,
}

impl Connection {
    pub fn new(stream: TcpStream, now: u64) -> Self {
        stream.set_nonblocking(true);
        Self { stream, input: Vec::new(), output: Vec::new(), taken: 0, ends: false, moved: now }
    }

    /// What it has to be ready for. Nothing more is read before the answers were taken.
    pub fn waits_for(&self) -> PollFd<'_> {
        PollFd::new(&self.stream, if self.output.is_empty() { READABLE } else { WRITABLE })
    }

    /// Reads, answers and writes as far as that goes without waiting. Whether the connection goes on.
    pub fn go_on(&mut self, site: &Site, now: u64) -> bool {
        self.moved = now;
        let result = if self.output.is_empty() { self.read(site) } else { Ok(()) }.and_then(|()| self.write());
        match result {
            Ok(()) => !(self.ends && self.output.is_empty()),
            Err(Error::WouldBlock) => true,
            Err(_) => false,
        }
    }

    fn read(&mut self, site: &Site) -> Result<(), Error> {
        let mut buffer = [0; 2048];
        let count = self.stream.read(&mut buffer)?;
        self.input.extend_from_slice(&buffer[..count]);
        self.ends |= count == 0;
        while let Some((bytes, answer)) = response::answer(&self.input, site) {
            self.input.drain(..bytes);
            self.ends |= answer.ends;
            self.output.extend(answer.parts);
            if self.ends {
                break;
            }
        }
        if self.input.len() > MOST {
            self.ends = true;
            self.output.extend(response::too_long().parts);
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Error> {
        while let Some(first) = self.output.first() {
            let rest = &first.bytes()[self.taken..];
            if rest.is_empty() {
                self.output.remove(0);
                self.taken = 0;
            } else {
                self.taken += self.stream.write(rest)?;
            }
        }
        Ok(())
    }
}
