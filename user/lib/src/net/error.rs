// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why something of the network did not work.

use core::fmt;
use image::protocol::ip;

/// What the functions of the network return.
pub type Result<T> = core::result::Result<T, Error>;

/// Why not, as the standard library's `ErrorKind` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The description gives the component no `sockets`.
    NoServer,
    /// It would have to wait, and may not.
    WouldBlock,
    /// It has waited as long as it may.
    TimedOut,
    /// Somebody has this port.
    AddrInUse,
    /// The component has as many sockets, or requests that wait, as it may.
    QuotaExceeded,
    /// More threads use sockets at the same time than the memory shared with the server has parts.
    OutOfMemory,
    /// The peer refused the connection, or did not answer.
    ConnectionRefused,
    /// The connection was reset, or the IP server has died.
    ConnectionReset,
    /// Nothing may be sent any more.
    NotConnected,
    /// There is no way to this address, or it is not this machine's.
    Unreachable,
    /// Nobody knows this name.
    NoName,
    /// The address is none, or a datagram is too long for a frame.
    InvalidInput,
    /// What the kernel says.
    Kernel(crate::Error),
}

impl Error {
    /// That of the server's code.
    pub(super) fn of(code: u32) -> Self {
        match code {
            ip::WOULD_BLOCK => Self::WouldBlock,
            ip::ADDRESS_IN_USE => Self::AddrInUse,
            ip::QUOTA => Self::QuotaExceeded,
            ip::REFUSED => Self::ConnectionRefused,
            // The number is of a life of the server before this one: no socket is used after its
            // end.
            ip::RESET | ip::NO_SOCKET => Self::ConnectionReset,
            ip::NOT_CONNECTED => Self::NotConnected,
            ip::UNREACHABLE => Self::Unreachable,
            ip::NO_NAME => Self::NoName,
            _ => Self::InvalidInput,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoServer => "the system description gives this component no `sockets`",
            Self::WouldBlock => "it would have to wait",
            Self::TimedOut => "timed out",
            Self::AddrInUse => "somebody has this port",
            Self::QuotaExceeded => "as many sockets, or requests that wait, as this component may have",
            Self::OutOfMemory => "more threads use sockets at once than the memory shared with the IP server has parts of 8 KiB",
            Self::ConnectionRefused => "connection refused",
            Self::ConnectionReset => "connection reset",
            Self::NotConnected => "not connected",
            Self::Unreachable => "no way to this address",
            Self::NoName => "nobody knows this name",
            Self::InvalidInput => "no such address, or a datagram longer than a frame",
            Self::Kernel(error) => error.text(),
        })
    }
}
