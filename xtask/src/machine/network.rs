// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the network card of an emulated machine is connected to: QEMU's user network, in which the
//! host is 10.0.2.2; the ports of the host that lead into it (`--forward`); or a program of this
//! tool.

use super::board::Card;
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeSet;
use std::fmt;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// Where the host is reached: nobody but its own users gets in.
const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A protocol with ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Protocol {
    const fn text(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// A port of the host's loopback interface that leads to one of the guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forward {
    /// Of both.
    pub protocol: Protocol,
    /// The host's port.
    pub host: u16,
    /// Who of the guests; the first to ask for an address if absent.
    pub address: Option<Ipv4Addr>,
    /// Its port.
    pub guest: u16,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (protocol, ports) = match text.split_once('/') {
            None | Some(("tcp", _)) => (Protocol::Tcp, text.strip_prefix("tcp/").unwrap_or(text)),
            Some(("udp", ports)) => (Protocol::Udp, ports),
            Some((other, _)) => {
                return Err(format!(
                    "`{other}` is no protocol: write `tcp/` or `udp/`, or nothing for tcp"
                ));
            }
        };
        let port = |text: &str| {
            let number = text.parse::<u16>().ok().filter(|port| *port > 0);
            number.ok_or_else(|| format!("`{text}` is no port: write a number from 1 to 65535"))
        };
        let (host, guest) = ports
            .split_once(':')
            .ok_or("HOST:GUEST or HOST:ADDRESS:GUEST is wanted, as `2222:22`")?;
        let (address, guest) =
            guest.split_once(':').map_or((None, guest), |(address, guest)| (Some(address), guest));
        let address = address.map(|text| {
            text.parse().map_err(|_| format!("`{text}` is no address: write one as `10.0.2.16`"))
        });
        Ok(Self { protocol, host: port(host)?, address: address.transpose()?, guest: port(guest)? })
    }
}

impl fmt::Display for Forward {
    /// As QEMU has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.map_or_else(String::new, |address| address.to_string());
        write!(f, "hostfwd={}:{HOST}:{}-{address}:{}", self.protocol.text(), self.host, self.guest)
    }
}

impl Forward {
    /// Whether the host's port can be had.
    ///
    /// # Errors
    /// If not; it says what to do.
    fn check(&self) -> Result<()> {
        let place = (HOST, self.host);
        let taken = match self.protocol {
            Protocol::Tcp => TcpListener::bind(place).map(|_| ()),
            Protocol::Udp => UdpSocket::bind(place).map(|_| ()),
        };
        taken.map_err(|error| {
            let cure = match error.kind() {
                ErrorKind::AddrInUse => "another program has it: end that, or choose another port",
                ErrorKind::PermissionDenied => "ports below 1024 are root's: choose a higher one",
                _ => "choose another port",
            };
            anyhow!(
                "--forward cannot have the {} port {} of {HOST} ({error}); {cure}",
                self.protocol.text(),
                self.host
            )
        })
    }
}

/// A free port of the loopback interface. In one process nobody gets it again.
pub fn free_port() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind((HOST, 0))?.local_addr()?.port();
        if GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return Ok(port);
        }
    }
}

/// A wire between a machine's card and a peer: frames are datagrams between two ports of the
/// loopback interface. The peer's socket; QEMU's port, which is free now, and the socket's.
pub fn cable() -> Result<(UdpSocket, [u16; 2])> {
    let socket = UdpSocket::bind((HOST, 0))?;
    let ports = [UdpSocket::bind((HOST, 0))?.local_addr()?.port(), socket.local_addr()?.port()];
    Ok((socket, ports))
}

/// What card a machine has in QEMU. In Bochs it is always an 82540EM.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Nic {
    /// A virtio network card.
    #[default]
    Virtio,
    /// An 82540EM.
    E1000,
}

/// The network of a machine that has a card.
#[derive(Clone)]
pub struct Network {
    /// The card, as its board says.
    pub card: &'static Card,
    /// Which it is.
    pub nic: Nic,
    /// What is connected to it.
    pub peer: Peer,
}

/// What is connected to a card.
#[derive(Clone)]
pub enum Peer {
    /// QEMU's user network.
    User {
        /// Ports of the host.
        forwards: Vec<Forward>,
        /// Other options, as `restrict=on`.
        options: Vec<String>,
    },
    /// A program of the host: each frame is a datagram between two ports of the loopback interface.
    Frames {
        /// QEMU's port.
        own: u16,
        /// The program's.
        other: u16,
    },
}

impl Network {
    /// QEMU's arguments for the card.
    pub fn card_arguments(&self) -> &'static [String] {
        match self.nic {
            Nic::Virtio => self.card.virtio.as_ref().unwrap_or(&self.card.e1000),
            Nic::E1000 => &self.card.e1000,
        }
    }

    /// QEMU's arguments for what is connected to it, and what to fill in.
    pub fn arguments(&self) -> (&'static [String], Vec<(&'static str, String)>) {
        match &self.peer {
            Peer::User { forwards, options } => {
                let forwards = forwards.iter().map(ToString::to_string);
                let options = forwards
                    .chain(options.iter().cloned())
                    .map(|option| format!(",{option}"))
                    .collect();
                (&self.card.user, vec![("options", options)])
            }
            Peer::Frames { own, other } => {
                (&self.card.frames, vec![("own", own.to_string()), ("other", other.to_string())])
            }
        }
    }

    /// Bochs's settings for the card.
    ///
    /// # Errors
    /// If what is connected to it asks for more than Bochs's user network.
    pub fn bochs(&self) -> Result<&'static str> {
        match &self.peer {
            Peer::User { forwards, options } if forwards.is_empty() && options.is_empty() => {
                Ok(self.card.bochs.as_deref().unwrap_or_default())
            }
            Peer::User { .. } | Peer::Frames { .. } => {
                bail!(
                    "no port of this machine leads into Bochs's network: leave out --forward, or `--on bochs`"
                )
            }
        }
    }

    /// Whether the host's ports can be had.
    ///
    /// # Errors
    /// If one cannot; it says what to do.
    pub fn check(&self) -> Result<()> {
        match &self.peer {
            Peer::User { forwards, .. } => forwards.iter().try_for_each(Forward::check),
            Peer::Frames { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards() {
        for (text, option) in [
            ("2222:22", "hostfwd=tcp:127.0.0.1:2222-:22"),
            ("tcp/8080:80", "hostfwd=tcp:127.0.0.1:8080-:80"),
            ("udp/5353:53", "hostfwd=udp:127.0.0.1:5353-:53"),
            ("2222:10.0.2.16:22", "hostfwd=tcp:127.0.0.1:2222-10.0.2.16:22"),
        ] {
            assert_eq!(
                text.parse::<Forward>().map(|forward| forward.to_string()),
                Ok(option.into())
            );
        }
        for (text, reason) in [
            ("2222", "HOST:GUEST or HOST:ADDRESS:GUEST is wanted, as `2222:22`"),
            ("0:22", "`0` is no port: write a number from 1 to 65535"),
            ("1:65536", "`65536` is no port: write a number from 1 to 65535"),
            ("sctp/1:2", "`sctp` is no protocol: write `tcp/` or `udp/`, or nothing for tcp"),
            ("1:guest:2", "`guest` is no address: write one as `10.0.2.16`"),
            ("1:10.0.2.16:", "`` is no port: write a number from 1 to 65535"),
        ] {
            assert_eq!(text.parse::<Forward>(), Err(reason.into()), "{text}");
        }
    }

    #[test]
    fn a_port_that_another_has() {
        let listener = TcpListener::bind((HOST, 0)).expect("a port");
        let host = listener.local_addr().expect("an address").port();
        let forward = |host| Forward { protocol: Protocol::Tcp, host, address: None, guest: 22 };
        let said = forward(host).check().map_err(|error| error.to_string()).expect_err("taken");
        assert!(
            said.starts_with(&format!("--forward cannot have the tcp port {host} of 127.0.0.1 (")),
            "{said}"
        );
        assert!(
            said.ends_with("); another program has it: end that, or choose another port"),
            "{said}"
        );
        assert!(free_port().and_then(|host| forward(host).check()).is_ok());
    }
}
