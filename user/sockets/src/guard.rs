// SPDX-License-Identifier: MIT OR Apache-2.0
//! What smoltcp 0.14 is not given. It takes things for granted that neighbours, peers and servers
//! of addresses can break, and panics then: here are the frames that a [`Guard`] keeps from it, and
//! the addresses that [`is_host`] refuses. `user/sockets/upstream` has repairs of smoltcp itself.

use alloc::vec::Vec;
use smoltcp::iface::SocketHandle;
use smoltcp::phy::{Device, DeviceCapabilities, PacketMeta, RxToken};
use smoltcp::socket::tcp::{Socket as Tcp, State};
use smoltcp::time::Instant;
use smoltcp::wire::{
    EthernetFrame, EthernetProtocol, Icmpv6Message, Icmpv6Packet, IpAddress, IpEndpoint,
    IpProtocol, Ipv4Address, Ipv4Packet, Ipv6ExtHeader, Ipv6Packet, NdiscRepr, TcpPacket,
};

/// Most bits of a prefix.
const BITS: u8 = 128;
/// A segment's number is no further from those that are due. smoltcp's arithmetic fails at twice
/// that.
const FAR: u32 = 1 << 30;

/// Whether a host may have an address. smoltcp panics when its own, a router's or a server's is
/// another.
pub fn is_host(address: &Ipv4Address) -> bool {
    IpAddress::Ipv4(*address).is_unicast()
}

/// What a peer may not say on a connection.
#[derive(Clone, Copy)]
enum Stage {
    /// It is asked, or will be. smoltcp would believe one that asks, too, before it has asked
    /// itself, and its window lacks a number then.
    Asked,
    /// It has ended the connection by the segment with this number. smoltcp's window may lack a
    /// number, too.
    Ended(u32),
}

/// A connection.
#[derive(Clone, Copy)]
pub struct Connection {
    peer: IpEndpoint,
    own: IpEndpoint,
    stage: Stage,
}

impl Connection {
    /// One that a client asks for.
    pub const fn asked(peer: IpEndpoint, own: IpEndpoint) -> Self {
        Self { peer, own, stage: Stage::Asked }
    }

    /// Whether it is a socket's, which is at that stage.
    pub fn is_of(&self, socket: &Tcp) -> bool {
        let is_there = match self.stage {
            Stage::Asked => socket.state() == State::SynSent,
            Stage::Ended(_) => matches!(
                socket.state(),
                State::CloseWait | State::LastAck | State::Closing | State::TimeWait
            ),
        };
        is_there
            && (socket.remote_endpoint(), socket.local_endpoint())
                == (Some(self.peer), Some(self.own))
    }
}

/// Which frames smoltcp may have.
#[derive(Default)]
pub struct Guard {
    /// Connections of which smoltcp may not have everything.
    connections: Vec<(SocketHandle, Connection)>,
    /// What the frame that was taken last ends, if it does.
    ended: Option<Connection>,
}

impl Guard {
    /// The card, as smoltcp may have it.
    pub fn of<'a, D>(&'a mut self, device: &'a mut D) -> Guarded<'a, D> {
        Guarded { guard: self, device }
    }

    /// The connection that the frame that was taken last ends, if it does and smoltcp believes it.
    pub fn ended(&mut self) -> Option<Connection> {
        self.ended.take()
    }

    /// A socket's connection is at this stage from now on. It was asked for, and ends once: the
    /// first segment that says so was right, and others may have any number.
    pub fn note(&mut self, handle: SocketHandle, connection: Connection) {
        if !self
            .connections
            .iter()
            .any(|(other, known)| *other == handle && matches!(known.stage, Stage::Ended(_)))
        {
            self.connections.push((handle, connection));
        }
    }

    /// Forgets all but these.
    pub fn retain(&mut self, is_known: impl Fn(SocketHandle, &Connection) -> bool) {
        self.connections.retain(|(handle, connection)| is_known(*handle, connection));
    }

    /// Whether smoltcp may have a frame. What it cannot read it drops itself.
    fn passes(&mut self, frame: &[u8]) -> bool {
        self.ended = None;
        let Ok(frame) = EthernetFrame::new_checked(frame) else { return true };
        match frame.ethertype() {
            EthernetProtocol::Ipv4 => {
                Ipv4Packet::new_checked(frame.payload()).is_ok_and(|packet| self.passes_v4(&packet))
            }
            EthernetProtocol::Ipv6 => {
                Ipv6Packet::new_checked(frame.payload()).is_ok_and(|packet| self.passes_v6(&packet))
            }
            _ => true,
        }
    }

    /// What comes from nobody does not: smoltcp would ask there when a lease is to be renewed.
    fn passes_v4(&mut self, packet: &Ipv4Packet<&[u8]>) -> bool {
        let (peer, own) = (packet.src_addr(), packet.dst_addr());
        let is_tcp = packet.next_header() == IpProtocol::Tcp;
        is_host(&peer)
            && (!is_tcp || self.passes_segment([peer.into(), own.into()], packet.payload()))
    }

    fn passes_v6(&mut self, packet: &Ipv6Packet<&[u8]>) -> bool {
        let (mut protocol, mut body) = (packet.next_header(), packet.payload());
        if protocol == IpProtocol::HopByHop {
            let Ok(header) = Ipv6ExtHeader::new_checked(body) else { return false };
            protocol = header.next_header();
            // Its length is in units of 8 bytes, of which the first is not counted.
            body = body.get(8 * (usize::from(header.header_len()) + 1)..).unwrap_or_default();
        }
        match protocol {
            IpProtocol::Tcp => {
                self.passes_segment([packet.src_addr().into(), packet.dst_addr().into()], body)
            }
            IpProtocol::Icmpv6 => {
                Icmpv6Packet::new_checked(body).is_ok_and(|message| has_sound_prefix(&message))
            }
            _ => true,
        }
    }

    /// Where smoltcp's window lacks a number, what is half of all numbers away is not seen to be
    /// outside, and its arithmetic fails.
    fn passes_segment(&mut self, [peer, own]: [IpAddress; 2], body: &[u8]) -> bool {
        let Ok(segment) = TcpPacket::new_checked(body) else { return false };
        if self.connections.is_empty() && !segment.fin() {
            return true;
        }
        let (peer, own) =
            (IpEndpoint::new(peer, segment.src_port()), IpEndpoint::new(own, segment.dst_port()));
        let number = segment.seq_number().0 as u32;
        let mut of_it = self
            .connections
            .iter()
            .map(|(_, connection)| connection)
            .filter(|it| (it.peer, it.own) == (peer, own));
        let passes = of_it.all(|connection| match connection.stage {
            Stage::Asked => segment.ack(),
            Stage::Ended(end) => number.wrapping_sub(end).cast_signed().unsigned_abs() <= FAR,
        });
        self.ended = (passes && segment.fin()).then_some(Connection {
            peer,
            own,
            stage: Stage::Ended(number),
        });
        passes
    }
}

/// A prefix that a router advertises has as many bits as can be, and is of hosts.
fn has_sound_prefix(message: &Icmpv6Packet<&[u8]>) -> bool {
    if message.msg_type() != Icmpv6Message::RouterAdvert {
        return true;
    }
    match NdiscRepr::parse(message) {
        Ok(NdiscRepr::RouterAdvert { prefix_info: Some(prefix), .. }) => {
            prefix.prefix_len <= BITS && !prefix.prefix.is_multicast()
        }
        parsed => parsed.is_ok(),
    }
}

/// A card whose frames smoltcp may have.
pub struct Guarded<'a, D> {
    guard: &'a mut Guard,
    device: &'a mut D,
}

/// A frame that has come, which smoltcp may have or not.
pub struct Receive<'a, R> {
    guard: &'a mut Guard,
    frame: R,
}

impl<D: Device> Device for Guarded<'_, D> {
    type RxToken<'b>
        = Receive<'b, D::RxToken<'b>>
    where
        Self: 'b;
    type TxToken<'b>
        = D::TxToken<'b>
    where
        Self: 'b;

    fn receive(&mut self, now: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let (frame, answer) = self.device.receive(now)?;
        Some((Receive { guard: self.guard, frame }, answer))
    }

    fn transmit(&mut self, now: Instant) -> Option<Self::TxToken<'_>> {
        self.device.transmit(now)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.device.capabilities()
    }
}

impl<R: RxToken> RxToken for Receive<'_, R> {
    fn consume<T, F: FnOnce(&[u8]) -> T>(self, f: F) -> T {
        // An empty frame is none to smoltcp.
        self.frame.consume(|frame| f(if self.guard.passes(frame) { frame } else { &[] }))
    }

    fn meta(&self) -> PacketMeta {
        self.frame.meta()
    }
}
