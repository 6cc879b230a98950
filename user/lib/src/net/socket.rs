// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all sockets have in common.

use super::error::{Error, Result};
use super::server::{Part, Words, ask};
use super::{IpAddr, Ipv4Addr, SocketAddr};
use core::net::Ipv6Addr;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use image::protocol::ip::{CLOSE, FOREVER, IS_V6, LOOK_UP, WAIT};

/// Something with a number that the IP server knows.
pub trait AsSocket {
    /// The number.
    fn socket(&self) -> u32;
}

/// A socket, which is closed when it is dropped.
#[derive(Debug)]
pub struct Socket {
    pub number: u32,
    /// The own address.
    pub local: SocketAddr,
    /// How many milliseconds a request may wait.
    patience: AtomicU32,
}

impl Socket {
    /// The one that a request makes.
    pub fn of(request: u32, at: SocketAddr) -> Result<Self> {
        let reply = ask(with_address([request, 0, 0], at))?;
        Ok(Self::numbered(reply[1], address(&reply)))
    }

    /// The one that the server has numbered.
    pub const fn numbered(number: u32, local: SocketAddr) -> Self {
        Self { number, local, patience: AtomicU32::new(FOREVER) }
    }

    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.patience.store(if nonblocking { 0 } else { FOREVER }, Ordering::Relaxed);
    }

    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.patience.store(
            timeout.map_or(FOREVER, |timeout| milliseconds(timeout).max(1)),
            Ordering::Relaxed,
        );
    }

    /// Tries until it need not wait any more.
    pub fn retry(&self, wanted: u32, mut attempt: impl FnMut() -> Result<Words>) -> Result<Words> {
        loop {
            match attempt() {
                Err(Error::WouldBlock) => self.wait(wanted)?,
                result => return result,
            }
        }
    }

    fn wait(&self, wanted: u32) -> Result<()> {
        let patience = self.patience.load(Ordering::Relaxed);
        if patience == 0 {
            return Err(Error::WouldBlock);
        }
        match ask([WAIT, self.number, wanted, patience, 0, 0, 0, 0])? {
            [_, 0, ..] => Err(Error::TimedOut),
            _ => Ok(()),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // If the server has died the socket is closed.
        let _ = ask([CLOSE, self.number, 0, 0, 0, 0, 0, 0]);
    }
}

/// Milliseconds, rounded up, and never those without end.
pub fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(FOREVER).min(FOREVER - 1)
}

/// A request with an address.
pub fn with_address([what, socket, place]: [u32; 3], at: SocketAddr) -> Words {
    let port = u32::from(at.port());
    match at.ip() {
        IpAddr::V4(address) => [what, socket, place, port, address.to_bits(), 0, 0, 0],
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let [a, b, c, d] = [96, 64, 32, 0].map(|shift| (bits >> shift) as u32);
            [what, socket, place, port | IS_V6, a, b, c, d]
        }
    }
}

/// The address in a reply.
pub fn address(words: &Words) -> SocketAddr {
    let [_, _, _, port, a, b, c, d] = *words;
    let address = if port & IS_V6 == 0 {
        IpAddr::V4(a.into())
    } else {
        IpAddr::V6(Ipv6Addr::from_bits(
            [a, b, c, d].iter().fold(0, |bits, word| bits << 32 | u128::from(*word)),
        ))
    };
    SocketAddr::new(address, port as u16)
}

/// What says an address.
pub trait ToSocketAddr {
    /// The address; names are looked up.
    ///
    /// # Errors
    /// `InvalidInput` if it is none, `NoName` if nobody knows the name.
    fn to_socket_addr(&self) -> Result<SocketAddr>;
}

impl ToSocketAddr for SocketAddr {
    fn to_socket_addr(&self) -> Result<SocketAddr> {
        Ok(*self)
    }
}

impl ToSocketAddr for (IpAddr, u16) {
    fn to_socket_addr(&self) -> Result<SocketAddr> {
        Ok((*self).into())
    }
}

impl ToSocketAddr for (Ipv4Addr, u16) {
    fn to_socket_addr(&self) -> Result<SocketAddr> {
        Ok((*self).into())
    }
}

/// An address or a name, and the port.
impl ToSocketAddr for (&str, u16) {
    fn to_socket_addr(&self) -> Result<SocketAddr> {
        let (name, port) = *self;
        let address = name.parse().map_or_else(|_| look_up(name), Ok)?;
        Ok(SocketAddr::new(address, port))
    }
}

/// `ADDRESS:PORT` or `NAME:PORT`.
impl ToSocketAddr for &str {
    fn to_socket_addr(&self) -> Result<SocketAddr> {
        if let Ok(address) = self.parse() {
            return Ok(address);
        }
        let (name, port) = self.rsplit_once(':').ok_or(Error::InvalidInput)?;
        let port = port.parse().map_err(|_| Error::InvalidInput)?;
        (name, port).to_socket_addr()
    }
}

/// The address of a name, of IP version 4 if it has one.
///
/// # Errors
/// `NoName`, or that the server does not answer.
pub fn look_up(name: &str) -> Result<IpAddr> {
    let part = Part::take()?;
    if name.len() > Part::most() {
        return Err(Error::NoName);
    }
    part.write(name.as_bytes());
    let ask = |version| ask([LOOK_UP, version, part.place(name.len()), 0, 0, 0, 0, 0]);
    let reply = match ask(4) {
        Err(Error::NoName) => ask(6)?,
        reply => reply?,
    };
    Ok(address(&reply).ip())
}
