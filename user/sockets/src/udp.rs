// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datagrams.

use crate::sockets::{Kind, Memory, Sockets};
use crate::words::{Words, reply, reply_with};
use alloc::vec;
use image::protocol::ip::{BAD_REQUEST, NO_SOCKET, UNREACHABLE, WOULD_BLOCK};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, SendError, Socket as Udp};
use smoltcp::wire::{IpEndpoint, IpListenEndpoint};

/// Bytes of each of the two buffers of a UDP socket, and datagrams in each.
const BUFFER: usize = 8192;
const DATAGRAMS: usize = 16;
/// Most bytes of a datagram: what one frame holds, as smoltcp is built without fragments.
const MOST: usize = 1472;

impl<M: Memory> Sockets<M> {
    pub(crate) fn bind(&mut self, client: usize, at: IpEndpoint) -> Result<Words, u32> {
        let is_used = |this: &Self, port| {
            this.kinds().any(|kind| matches!(kind, Kind::Udp(handle) if this.set.get::<Udp>(*handle).endpoint().port == port))
        };
        let port = self.port(at.port, is_used)?;
        self.take_quota(client)?;
        let buffer = || PacketBuffer::new(vec![PacketMetadata::EMPTY; DATAGRAMS], vec![0; BUFFER]);
        let mut socket = Udp::new(buffer(), buffer());
        // The port is not 0 and the socket is new: nothing else can be wrong.
        let _ = socket
            .bind(IpListenEndpoint { addr: (!at.addr.is_unspecified()).then_some(at.addr), port });
        let handle = self.set.add(socket);
        Ok(self.made(client, Kind::Udp(handle), IpEndpoint::new(at.addr, port)))
    }

    fn udp(&self, client: usize, number: u32) -> Result<SocketHandle, u32> {
        match *self.kind(client, number)? {
            Kind::Udp(handle) => Ok(handle),
            _ => Err(NO_SOCKET),
        }
    }

    pub(crate) fn send_to(
        &mut self,
        client: usize,
        number: u32,
        (offset, bytes): (u32, usize),
        to: IpEndpoint,
    ) -> Result<Words, u32> {
        let handle = self.udp(client, number)?;
        if bytes > MOST {
            return Err(BAD_REQUEST);
        }
        // smoltcp takes these for granted.
        let bound = self.set.get::<Udp>(handle).endpoint().addr;
        if to.addr.is_unspecified()
            || to.port == 0
            || bound.is_some_and(|address| address.version() != to.addr.version())
        {
            return Err(UNREACHABLE);
        }
        let iface = &self.link.iface;
        iface
            .get_source_address(&to.addr)
            .filter(|from| iface.has_ip_addr(*from))
            .ok_or(UNREACHABLE)?;
        let (socket, memory) = (self.set.get_mut::<Udp>(handle), &self.clients[client].memory);
        match socket.send(bytes, to) {
            Ok(buffer) => {
                memory.read(offset, buffer);
                Ok(reply(bytes as u32))
            }
            Err(SendError::BufferFull) => Err(WOULD_BLOCK),
            Err(SendError::Unaddressable) => Err(UNREACHABLE),
        }
    }

    pub(crate) fn receive_from(
        &mut self,
        client: usize,
        number: u32,
        (offset, bytes): (u32, usize),
    ) -> Result<Words, u32> {
        let handle = self.udp(client, number)?;
        let (socket, memory) = (self.set.get_mut::<Udp>(handle), &self.clients[client].memory);
        let (data, from) = socket.recv().map_err(|_| WOULD_BLOCK)?;
        let count = data.len().min(bytes);
        memory.write(offset, &data[..count]);
        Ok(reply_with(count as u32, from.endpoint))
    }
}
