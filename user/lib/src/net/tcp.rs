// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections.

use super::error::{Error, Result};
use super::server::{Part, ask};
use super::socket::{AsSocket, Socket, ToSocketAddr, address};
use super::{READABLE, SocketAddr, WRITABLE};
use core::time::Duration;
use image::protocol::ip::{ACCEPT, CONNECT, CONNECTED, LISTEN, READ, SHUT_DOWN, WRITE};

/// A socket that listens.
#[derive(Debug)]
pub struct TcpListener(Socket);

/// A connection. It is closed when it is dropped; what was written before is sent.
#[derive(Debug)]
pub struct TcpStream {
    socket: Socket,
    peer: SocketAddr,
}

impl TcpListener {
    /// Listens at an address. `0.0.0.0` is all of the server's addresses, of both versions, and
    /// port 0 one that is free.
    ///
    /// # Errors
    /// `AddrInUse`, `Unreachable` if the address is not this machine's, `QuotaExceeded`.
    pub fn bind(at: impl ToSocketAddr) -> Result<Self> {
        Socket::of(LISTEN, at.to_socket_addr()?).map(Self)
    }

    /// The next connection, and its peer.
    ///
    /// # Errors
    /// `ConnectionReset` if the IP server has died: bind again.
    pub fn accept(&self) -> Result<(TcpStream, SocketAddr)> {
        let reply = self.0.retry(READABLE, || ask([ACCEPT, self.0.number, 0, 0, 0, 0, 0, 0]))?;
        let peer = address(&reply);
        Ok((TcpStream { socket: Socket::numbered(reply[1], self.0.local), peer }, peer))
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.0.local
    }

    /// Whether [`accept`](Self::accept) fails with `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.0.set_nonblocking(nonblocking);
    }
}

impl TcpStream {
    /// Connects to an address.
    ///
    /// # Errors
    /// `ConnectionRefused` if the peer refuses, or does not answer for a minute; `Unreachable`,
    /// `NoName`, `QuotaExceeded`.
    pub fn connect(to: impl ToSocketAddr) -> Result<Self> {
        let peer = to.to_socket_addr()?;
        let socket = Socket::of(CONNECT, peer)?;
        socket.retry(WRITABLE, || ask([CONNECTED, socket.number, 0, 0, 0, 0, 0, 0]))?;
        Ok(Self { socket, peer })
    }

    /// Receives bytes: at least one, or none at the end.
    ///
    /// # Errors
    /// `ConnectionReset`; `WouldBlock` or `TimedOut` if it may not wait (any longer).
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        let most = buffer.len().min(Part::most());
        self.socket
            .retry(READABLE, || {
                let part = Part::take()?;
                let reply = ask([READ, self.socket.number, part.place(most), 0, 0, 0, 0, 0])?;
                part.read(&mut buffer[..(reply[1] as usize).min(most)]);
                Ok(reply)
            })
            .map(|reply| (reply[1] as usize).min(most))
    }

    /// Sends some of the bytes: at least one.
    ///
    /// # Errors
    /// As [`read`](Self::read); `NotConnected` after [`shutdown`](Self::shutdown).
    pub fn write(&self, bytes: &[u8]) -> Result<usize> {
        let most = bytes.len().min(Part::most());
        self.socket
            .retry(WRITABLE, || {
                let part = Part::take()?;
                part.write(&bytes[..most]);
                ask([WRITE, self.socket.number, part.place(most), 0, 0, 0, 0, 0])
            })
            .map(|reply| (reply[1] as usize).min(most))
    }

    /// Sends all of them.
    ///
    /// # Errors
    /// As [`write`](Self::write); how many were sent before is unknown.
    pub fn write_all(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes)? {
                0 => return Err(Error::NotConnected),
                count => bytes = &bytes[count..],
            }
        }
        Ok(())
    }

    /// Says that nothing more will be sent. The peer's bytes can be read.
    ///
    /// # Errors
    /// `ConnectionReset`.
    pub fn shutdown(&self) -> Result<()> {
        ask([SHUT_DOWN, self.socket.number, 0, 0, 0, 0, 0, 0]).map(|_| ())
    }

    /// The other end's address.
    #[must_use]
    pub const fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// The own end's address.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.socket.local
    }

    /// Whether a request fails with `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.socket.set_nonblocking(nonblocking);
    }

    /// How long a request waits until it fails with `TimedOut`.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.socket.set_timeout(timeout);
    }
}

impl AsSocket for TcpListener {
    fn socket(&self) -> u32 {
        self.0.number
    }
}

impl AsSocket for TcpStream {
    fn socket(&self) -> u32 {
        self.socket.number
    }
}
