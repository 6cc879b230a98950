// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datagrams.

use super::error::{Error, Result};
use super::server::{Part, ask};
use super::socket::{AsSocket, Socket, ToSocketAddr, address, with_address};
use super::{READABLE, SocketAddr, WRITABLE};
use core::time::Duration;
use image::protocol::ip::{BIND, RECEIVE_FROM, SEND_TO};

/// A socket for datagrams.
#[derive(Debug)]
pub struct UdpSocket(Socket);

impl UdpSocket {
    /// One at an address. `0.0.0.0` is all of the server's addresses, of both versions, and port 0
    /// one that is free.
    ///
    /// # Errors
    /// `AddrInUse`, `Unreachable` if the address is not this machine's, `QuotaExceeded`.
    pub fn bind(at: impl ToSocketAddr) -> Result<Self> {
        Socket::of(BIND, at.to_socket_addr()?).map(Self)
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// `Unreachable`; `InvalidInput` if it is longer than 1,472 bytes, which is what a frame holds.
    pub fn send_to(&self, bytes: &[u8], to: impl ToSocketAddr) -> Result<usize> {
        let to = to.to_socket_addr()?;
        if bytes.len() > Part::most() {
            return Err(Error::InvalidInput);
        }
        let reply = self.0.retry(WRITABLE, || {
            let part = Part::take()?;
            part.write(bytes);
            ask(with_address([SEND_TO, self.0.number, part.place(bytes.len())], to))
        })?;
        Ok(reply[1] as usize)
    }

    /// Receives a datagram and who sent it. What does not fit into the buffer is lost.
    ///
    /// # Errors
    /// `WouldBlock` or `TimedOut` if it may not wait (any longer), `ConnectionReset` if the IP
    /// server has died: bind again.
    pub fn recv_from(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr)> {
        let most = buffer.len().min(Part::most());
        let reply = self.0.retry(READABLE, || {
            let part = Part::take()?;
            let reply = ask([RECEIVE_FROM, self.0.number, part.place(most), 0, 0, 0, 0, 0])?;
            part.read(&mut buffer[..(reply[1] as usize).min(most)]);
            Ok(reply)
        })?;
        Ok(((reply[1] as usize).min(most), address(&reply)))
    }

    /// Its own address.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.0.local
    }

    /// Whether a request fails with `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.0.set_nonblocking(nonblocking);
    }

    /// How long a request waits until it fails with `TimedOut`.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.0.set_timeout(timeout);
    }
}

impl AsSocket for UdpSocket {
    fn socket(&self) -> u32 {
        self.0.number
    }
}
