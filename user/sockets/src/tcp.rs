// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections.

use crate::guard::Connection;
use crate::sockets::{Kind, Memory, Sockets};
use crate::words::{Words, reply, reply_with};
use alloc::vec;
use alloc::vec::Vec;
use image::protocol::ip::{NO_SOCKET, NOT_CONNECTED, REFUSED, RESET, UNREACHABLE, WOULD_BLOCK};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::{RecvError, Socket as Tcp, SocketBuffer, State};
use smoltcp::time::Duration;
use smoltcp::wire::{IpEndpoint, IpListenEndpoint};

/// Bytes of each of the two buffers of a connection.
const BUFFER: usize = 8192;
/// What a connection takes of the heap: its buffers, and what smoltcp knows of it, twice for a
/// moment when the set of sockets grows. A UDP socket takes less.
pub const BYTES: usize = 2 * BUFFER + 3072;
/// A peer that is silent for so long has gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a peer that says nothing is asked whether it lives.
const ASK: Duration = Duration::from_secs(20);

fn new() -> Tcp<'static> {
    let mut socket =
        Tcp::new(SocketBuffer::new(vec![0; BUFFER]), SocketBuffer::new(vec![0; BUFFER]));
    socket.set_timeout(Some(PATIENCE));
    socket.set_keep_alive(Some(ASK));
    socket.set_nagle_enabled(false);
    socket
}

impl<M: Memory> Sockets<M> {
    pub(crate) fn listen(&mut self, client: usize, at: IpEndpoint) -> Result<Words, u32> {
        let is_used = |this: &Self, port| {
            this.kinds().any(
                |kind| matches!(kind, Kind::Listener { endpoint, .. } if endpoint.port == port),
            )
        };
        let port = self.port(at.port, is_used)?;
        self.take_quota(client)?;
        let endpoint =
            IpListenEndpoint { addr: (!at.addr.is_unspecified()).then_some(at.addr), port };
        let next = self.listening(endpoint);
        Ok(self.made(
            client,
            Kind::Listener { endpoint, next, is_used: false, come: Vec::new() },
            IpEndpoint::new(at.addr, port),
        ))
    }

    fn listening(&mut self, endpoint: IpListenEndpoint) -> SocketHandle {
        let mut socket = new();
        // The port is not 0 and the socket is new: nothing else can be wrong.
        let _ = socket.listen(endpoint);
        self.set.add(socket)
    }

    pub(crate) fn accept(&mut self, client: usize, number: u32) -> Result<Words, u32> {
        let ready = self.acceptable(client, number)?.ok_or(WOULD_BLOCK)?;
        let Kind::Listener { come, .. } = self.kind_mut(client, number)? else {
            return Err(NO_SOCKET);
        };
        let handle = come.remove(ready);
        let peer = self.set.get::<Tcp>(handle).remote_endpoint();
        let number = self.name(client, Kind::Tcp(handle));
        Ok(peer.map_or(reply(number), |peer| reply_with(number, peer)))
    }

    /// Which of those that have come is connected; `NO_SOCKET` if this is no listener.
    pub(crate) fn acceptable(&self, client: usize, number: u32) -> Result<Option<usize>, u32> {
        let Kind::Listener { come, .. } = self.kind(client, number)? else { return Err(NO_SOCKET) };
        let is_connected = |handle: &SocketHandle| {
            !matches!(
                self.set.get::<Tcp>(*handle).state(),
                State::Listen | State::SynReceived | State::Closed
            )
        };
        Ok(come.iter().position(is_connected))
    }

    pub(crate) fn connect(&mut self, client: usize, to: IpEndpoint) -> Result<Words, u32> {
        if to.addr.is_unspecified() || !to.addr.is_unicast() || to.port == 0 {
            return Err(UNREACHABLE);
        }
        let iface = &self.link.iface;
        let from = iface
            .get_source_address(&to.addr)
            .filter(|from| iface.has_ip_addr(*from))
            .ok_or(UNREACHABLE)?;
        let is_used = |this: &Self, port| {
            let ends_here = |handle: &SocketHandle| {
                this.set
                    .get::<Tcp>(*handle)
                    .local_endpoint()
                    .is_some_and(|local| local.port == port)
            };
            this.kinds().any(|kind| matches!(kind, Kind::Tcp(handle) | Kind::Connecting(handle) if ends_here(handle)))
        };
        let port = self.port(0, is_used)?;
        self.take_quota(client)?;
        let handle = self.set.add(new());
        let own = IpEndpoint::new(from, port);
        if self.set.get_mut::<Tcp>(handle).connect(self.link.iface.context(), to, own).is_err() {
            self.free(client, handle);
            return Err(UNREACHABLE);
        }
        self.guard.note(handle, Connection::asked(to, own));
        Ok(self.made(client, Kind::Connecting(handle), own))
    }

    pub(crate) fn connected(&mut self, client: usize, number: u32) -> Result<Words, u32> {
        match *self.kind(client, number)? {
            Kind::Tcp(_) => Ok(reply(0)),
            Kind::Connecting(handle) => match self.set.get::<Tcp>(handle).state() {
                State::SynSent | State::SynReceived => Err(WOULD_BLOCK),
                State::Closed => Err(REFUSED),
                _ => {
                    *self.kind_mut(client, number)? = Kind::Tcp(handle);
                    Ok(reply(0))
                }
            },
            _ => Err(NO_SOCKET),
        }
    }

    fn tcp(&self, client: usize, number: u32) -> Result<SocketHandle, u32> {
        match *self.kind(client, number)? {
            Kind::Tcp(handle) => Ok(handle),
            Kind::Connecting(_) => Err(NOT_CONNECTED),
            _ => Err(NO_SOCKET),
        }
    }

    pub(crate) fn read(
        &mut self,
        client: usize,
        number: u32,
        (offset, bytes): (u32, usize),
    ) -> Result<Words, u32> {
        let handle = self.tcp(client, number)?;
        let (socket, memory) = (self.set.get_mut::<Tcp>(handle), &self.clients[client].memory);
        let mut done = 0;
        // A second time, as what has come may lie at the end of the buffer and go on at its start.
        for _ in 0..2 {
            let part = socket.recv(|data| {
                let count = data.len().min(bytes - done);
                memory.write(offset + done as u32, &data[..count]);
                (count, count)
            });
            match part {
                Ok(count) => done += count,
                Err(RecvError::InvalidState) if done == 0 => return Err(RESET),
                Err(RecvError::Finished) if done == 0 => return Ok(reply(0)),
                Err(_) => break,
            }
        }
        if done == 0 && bytes > 0 { Err(WOULD_BLOCK) } else { Ok(reply(done as u32)) }
    }

    pub(crate) fn write(
        &mut self,
        client: usize,
        number: u32,
        (offset, bytes): (u32, usize),
    ) -> Result<Words, u32> {
        let handle = self.tcp(client, number)?;
        let (socket, memory) = (self.set.get_mut::<Tcp>(handle), &self.clients[client].memory);
        if socket.state() == State::Closed {
            return Err(RESET);
        }
        let mut done = 0;
        for _ in 0..2 {
            let part = socket.send(|buffer| {
                let count = buffer.len().min(bytes - done);
                memory.read(offset + done as u32, &mut buffer[..count]);
                (count, count)
            });
            done += part.map_err(|_| NOT_CONNECTED)?;
        }
        if done == 0 && bytes > 0 { Err(WOULD_BLOCK) } else { Ok(reply(done as u32)) }
    }

    pub(crate) fn shut_down(&mut self, client: usize, number: u32) -> Result<Words, u32> {
        let handle = self.tcp(client, number)?;
        self.set.get_mut::<Tcp>(handle).close();
        Ok(reply(0))
    }

    /// Each listener has one socket that listens, as long as its client may have another. Those
    /// that the peer has reset go: what smoltcp lets listen again still counts by the numbers of
    /// that peer.
    pub(crate) fn refill(&mut self) {
        for client in 0..self.clients.len() {
            for index in 0..self.clients[client].sockets.len() {
                self.refill_one(client, index);
            }
        }
    }

    fn refill_one(&mut self, client: usize, index: usize) {
        let Some(Kind::Listener { endpoint, next, is_used, come }) =
            &mut self.clients[client].sockets[index]
        else {
            return;
        };
        let listens = self.set.get::<Tcp>(*next).state() == State::Listen;
        let (endpoint, is_reset) = (*endpoint, listens && *is_used);
        *is_used = !listens;
        let has_gone = |handle: &mut SocketHandle| {
            matches!(self.set.get::<Tcp>(*handle).state(), State::Closed | State::Listen)
        };
        let gone: Vec<_> = come.extract_if(.., has_gone).collect();
        gone.into_iter().for_each(|handle| self.abort(client, handle));
        if is_reset {
            let new = self.listening(endpoint);
            if let Some(Kind::Listener { next, .. }) = &mut self.clients[client].sockets[index] {
                let old = core::mem::replace(next, new);
                self.set.remove(old);
            }
        } else if !listens && self.take_quota(client).is_ok() {
            let new = self.listening(endpoint);
            if let Some(Kind::Listener { next, is_used, come, .. }) =
                &mut self.clients[client].sockets[index]
            {
                come.push(core::mem::replace(next, new));
                *is_used = false;
            }
        }
    }
}
