// SPDX-License-Identifier: MIT OR Apache-2.0
//! A peer's connection, and what goes over it.

use crate::site::Site;
use macadamia::net::{Error, PollFd, READABLE, TcpStream, WRITABLE};
use web::{Exchange, Guest, PART};

pub struct Connection {
    stream: TcpStream,
    exchange: Exchange,
}

impl Connection {
    pub fn new(stream: TcpStream, now: u64) -> Self {
        stream.set_nonblocking(true);
        Self { stream, exchange: Exchange::new(now) }
    }

    /// What it has to be ready for. Nothing more is read before the answer was taken.
    pub fn waits_for(&self) -> PollFd<'_> {
        PollFd::new(&self.stream, if self.exchange.takes() { READABLE } else { WRITABLE })
    }

    /// When it ends in any case, in nanoseconds.
    pub fn until(&self) -> u64 {
        self.exchange.until()
    }

    /// Who has it.
    pub fn guest(&self) -> Guest {
        Guest { peer: self.stream.peer_addr().ip(), idle_since: self.exchange.idle_since() }
    }

    /// Reads, answers and writes as far as that goes without waiting. Whether the connection goes
    /// on.
    pub fn go_on(&mut self, site: &Site, now: u64) -> bool {
        match self.read(site, now).and_then(|()| self.write(site, now)) {
            Ok(()) => !self.exchange.is_over(),
            Err(error) => error == Error::WouldBlock,
        }
    }

    /// Takes one part: others have their turn before the next one.
    fn read(&mut self, site: &Site, now: u64) -> Result<(), Error> {
        if self.exchange.takes() {
            let mut part = [0; PART];
            let count = self.stream.read(&mut part)?;
            self.exchange.take(&part[..count], site, now);
        }
        Ok(())
    }

    /// Writes one answer as far as there is room for it.
    fn write(&mut self, site: &Site, now: u64) -> Result<(), Error> {
        while !self.exchange.takes() && !self.exchange.is_over() {
            let count = self.stream.write(self.exchange.pending())?;
            self.exchange.sent(count, site, now);
        }
        Ok(())
    }
}
