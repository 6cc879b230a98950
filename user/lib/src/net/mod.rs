// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network, as the standard library has it, over the IP server (docs/ip.md): for components
//! with `sockets` in the description. What the switch gives a component with `net` is in [`port`].
//!
//! If the IP server dies, its sockets fail with [`Error::ConnectionReset`], and new ones work as
//! soon as it lives again.

mod error;
mod poll;
pub mod port;
mod server;
mod socket;
mod tcp;
mod udp;

pub use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
pub use error::{Error, Result};
pub use poll::{PollFd, poll};
pub(crate) use server::settle;
pub use socket::{AsSocket, ToSocketAddr, look_up};
pub use tcp::{TcpListener, TcpStream};
pub use udp::UdpSocket;

/// A socket can be read without waiting, or has a connection to accept.
pub const READABLE: u32 = image::protocol::ip::READABLE;
/// A socket can be written without waiting.
pub const WRITABLE: u32 = image::protocol::ip::WRITABLE;
