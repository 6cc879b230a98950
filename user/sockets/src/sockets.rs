// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clients and their sockets.

use crate::guard::Guard;
use crate::link::{Link, Setup};
use crate::waiting::Waiting;
use crate::words::{Words, endpoint, failed, place, reply, reply_with};
use alloc::vec::Vec;
use image::protocol::ip::{
    ACCEPT, ADDRESS_IN_USE, BAD_REQUEST, BIND, CLOSE, CONNECT, CONNECTED, HELLO, LISTEN, LOOK_UP,
    NO_HELLO, NO_SOCKET, POLL, QUOTA, READ, RECEIVE_FROM, SEND_TO, SHUT_DOWN, UNREACHABLE, WAIT,
    WRITE,
};
use smoltcp::iface::{PollIngressSingleResult, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::AnySocket;
use smoltcp::socket::tcp::{Socket as Tcp, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{IpCidr, IpEndpoint, IpListenEndpoint};

/// Memory that a client shares with the server.
pub trait Memory {
    /// How many bytes it has.
    fn bytes(&self) -> u32;
    /// Copies from an offset on, which may be any; it fits.
    fn read(&self, offset: u32, to: &mut [u8]);
    /// Copies to an offset, which may be any; it fits.
    fn write(&self, offset: u32, from: &[u8]);
}

/// The first port that the server chooses itself.
const FIRST_FREE: u16 = 49152;
/// Most frames that are taken in one turn.
const FRAMES: usize = 32;
/// How long a connection lasts that its client has closed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bits of a socket's number that are its index.
const INDEX: u32 = 16;

/// A client's socket.
pub enum Kind {
    /// One that listens; those that are connecting or connected and were not accepted.
    Listener {
        endpoint: IpListenEndpoint,
        next: SocketHandle,
        /// Whether somebody has begun to connect to `next`, for which there is no successor yet.
        is_used: bool,
        come: Vec<SocketHandle>,
    },
    Connecting(SocketHandle),
    Tcp(SocketHandle),
    Udp(SocketHandle),
}

pub struct Client<M> {
    pub memory: M,
    /// Which of its lives has said hello.
    life: Option<u32>,
    /// Whether that was answered.
    greeted: bool,
    pub sockets: Vec<Option<Kind>>,
    /// How many smoltcp sockets are its own.
    pub used: usize,
}

/// A connection that its client has closed: it ends as TCP wants, if its peer does not take too
/// long.
struct Ending {
    client: usize,
    handle: SocketHandle,
    /// When it has ended in any case; known from the next turn on.
    until: Option<Instant>,
}

/// The sockets of all clients.
pub struct Sockets<M> {
    pub(crate) link: Link,
    pub(crate) guard: Guard,
    pub(crate) set: SocketSet<'static>,
    pub(crate) clients: Vec<Client<M>>,
    pub(crate) waiting: Vec<Waiting>,
    /// Connections whose client does not use them any more. The oldest is first.
    ending: Vec<Ending>,
    /// Most sockets of a client.
    pub(crate) most: usize,
    /// Upper half of all sockets' numbers: those of another life of the server are not its own.
    life: u32,
    next_port: u16,
}

impl<M: Memory> Sockets<M> {
    /// For clients with this memory.
    pub fn new(
        device: &mut impl Device,
        setup: &Setup,
        clients: impl IntoIterator<Item = M>,
        now: Instant,
    ) -> Self {
        let client =
            |memory| Client { memory, life: None, greeted: false, sockets: Vec::new(), used: 0 };
        let mut set = SocketSet::new(Vec::new());
        Self {
            link: Link::new(device, setup, now, &mut set),
            guard: Guard::default(),
            set,
            clients: clients.into_iter().map(client).collect(),
            waiting: Vec::new(),
            ending: Vec::new(),
            most: setup.most,
            life: u32::from(setup.life) << INDEX,
            // Those of a life before may still be in the peers' minds.
            next_port: FIRST_FREE + (setup.seed as u16 & 0x1fff),
        }
    }

    /// The server's addresses, without the one that only neighbours know.
    pub fn addresses(&self) -> impl Iterator<Item = IpCidr> {
        self.link.addresses()
    }

    /// The clients that use the server: their numbers, and which of their lives that is.
    pub fn users(&self) -> Vec<(usize, u32)> {
        self.clients
            .iter()
            .enumerate()
            .filter_map(|(number, client)| Some((number, client.life?)))
            .collect()
    }

    /// Answers a client's request; `None` if its answer comes from [`Sockets::poll`]. `handle` is
    /// how the client is replied to then.
    pub fn request(
        &mut self,
        client: usize,
        handle: u32,
        request: &Words,
        now: Instant,
    ) -> Option<Words> {
        let result = if client >= self.clients.len() {
            Err(BAD_REQUEST)
        } else if request[0] != HELLO && !self.clients[client].greeted {
            Err(NO_HELLO)
        } else {
            match request[0] {
                HELLO | WAIT | POLL | LOOK_UP => {
                    self.wait(client, handle, request, now).transpose()?
                }
                _ => self.attempt(client, request),
            }
        };
        Some(result.unwrap_or_else(failed))
    }

    fn attempt(&mut self, client: usize, request: &Words) -> Result<Words, u32> {
        let [what, number, ..] = *request;
        match what {
            LISTEN => self.listen(client, self.own(request)?),
            ACCEPT => self.accept(client, number),
            CONNECT => self.connect(client, endpoint(request)?),
            CONNECTED => self.connected(client, number),
            READ => self.read(client, number, self.place(client, request)?),
            WRITE => self.write(client, number, self.place(client, request)?),
            SHUT_DOWN => self.shut_down(client, number),
            CLOSE => {
                let index = self.index(number)?;
                let kind = self.clients[client]
                    .sockets
                    .get_mut(index)
                    .and_then(Option::take)
                    .ok_or(NO_SOCKET)?;
                self.close(client, kind);
                Ok(reply(0))
            }
            BIND => self.bind(client, self.own(request)?),
            SEND_TO => {
                self.send_to(client, number, self.place(client, request)?, endpoint(request)?)
            }
            RECEIVE_FROM => self.receive_from(client, number, self.place(client, request)?),
            _ => Err(BAD_REQUEST),
        }
    }

    /// An endpoint of this machine: nobody sends from an address that is not its own.
    fn own(&self, request: &Words) -> Result<IpEndpoint, u32> {
        let at = endpoint(request)?;
        if at.addr.is_unspecified() || self.link.iface.has_ip_addr(at.addr) {
            Ok(at)
        } else {
            Err(UNREACHABLE)
        }
    }

    /// The place that a request names in the client's memory.
    pub(crate) fn place(&self, client: usize, request: &Words) -> Result<(u32, usize), u32> {
        place(request[2], self.clients[client].memory.bytes())
    }

    fn index(&self, number: u32) -> Result<usize, u32> {
        let index = number ^ self.life;
        if index >> INDEX == 0 { Ok(index as usize) } else { Err(NO_SOCKET) }
    }

    /// A client's socket.
    pub(crate) fn kind(&self, client: usize, number: u32) -> Result<&Kind, u32> {
        let index = self.index(number)?;
        self.clients[client].sockets.get(index).and_then(Option::as_ref).ok_or(NO_SOCKET)
    }

    /// The same to change it.
    pub(crate) fn kind_mut(&mut self, client: usize, number: u32) -> Result<&mut Kind, u32> {
        let index = self.index(number)?;
        self.clients[client].sockets.get_mut(index).and_then(Option::as_mut).ok_or(NO_SOCKET)
    }

    /// Gives a new socket its number.
    pub(crate) fn name(&mut self, client: usize, kind: Kind) -> u32 {
        let sockets = &mut self.clients[client].sockets;
        let index = sockets.iter().position(Option::is_none).unwrap_or(sockets.len());
        if index == sockets.len() {
            sockets.push(None);
        }
        sockets[index] = Some(kind);
        index as u32 | self.life
    }

    /// A client says hello; if it has in another life, what it had then goes.
    pub(crate) fn begin(&mut self, client: usize, life: u32) {
        if self.clients[client].life != Some(life) {
            self.reset(client);
            self.clients[client].life = Some(life);
        }
    }

    /// A client has gone: nothing of it stays.
    pub fn reset(&mut self, client: usize) {
        self.forget_waiting(client);
        let kinds = core::mem::take(&mut self.clients[client].sockets);
        kinds.into_iter().flatten().for_each(|kind| self.close(client, kind));
        (self.clients[client].life, self.clients[client].greeted) = (None, false);
    }

    /// It may use sockets from now on.
    pub(crate) fn greet(&mut self, client: usize) -> Words {
        self.clients[client].greeted = true;
        reply(self.most as u32)
    }

    fn close(&mut self, client: usize, kind: Kind) {
        match kind {
            Kind::Listener { next, come, .. } => {
                come.into_iter().chain([next]).for_each(|handle| self.abort(client, handle))
            }
            Kind::Connecting(handle) => self.abort(client, handle),
            Kind::Tcp(handle) => {
                self.set.get_mut::<Tcp>(handle).close();
                self.ending.push(Ending { client, handle, until: None });
            }
            Kind::Udp(handle) => self.free(client, handle),
        }
    }

    /// The peer is told when the socket is polled; it goes then.
    pub(crate) fn abort(&mut self, client: usize, handle: SocketHandle) {
        self.set.get_mut::<Tcp>(handle).abort();
        self.ending.push(Ending { client, handle, until: None });
    }

    /// The last of a socket.
    pub(crate) fn free(&mut self, client: usize, handle: SocketHandle) {
        self.guard.retain(|other, _| other != handle);
        self.set.remove(handle);
        self.clients[client].used -= 1;
    }

    /// A client takes one more socket of smoltcp. One that only waits for late segments is freed,
    /// or else one that waits for the peer's end and has nothing more to say.
    pub(crate) fn take_quota(&mut self, client: usize) -> Result<(), u32> {
        if self.clients[client].used >= self.most {
            let state = |ending: &Ending| self.set.get::<Tcp>(ending.handle).state();
            let first = |wanted| {
                self.ending
                    .iter()
                    .position(|ending| ending.client == client && state(ending) == wanted)
            };
            let over = first(State::TimeWait).or_else(|| first(State::FinWait2));
            let Ending { handle, .. } = self.ending.remove(over.ok_or(QUOTA)?);
            self.free(client, handle);
        }
        self.clients[client].used += 1;
        Ok(())
    }

    /// The port that was asked for, or a free one.
    pub(crate) fn port(
        &mut self,
        wanted: u16,
        is_used: impl Fn(&Self, u16) -> bool,
    ) -> Result<u16, u32> {
        if wanted != 0 {
            return if is_used(self, wanted) { Err(ADDRESS_IN_USE) } else { Ok(wanted) };
        }
        for _ in FIRST_FREE..=u16::MAX {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(FIRST_FREE);
            if !is_used(self, port) {
                return Ok(port);
            }
        }
        Err(ADDRESS_IN_USE)
    }

    /// All sockets of all clients.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.clients.iter().flat_map(|client| client.sockets.iter().flatten())
    }

    /// Receives and sends, and answers those that waited: reply handles and words. There may be
    /// more to receive when it has taken as many frames as it does in one turn: who sends without
    /// end keeps no client's requests waiting.
    pub fn poll(&mut self, device: &mut impl Device, now: Instant) -> Vec<(u32, Words)> {
        self.link.iface.poll_maintenance(now);
        self.guard.retain(|handle, connection| connection.is_of(self.set.get(handle)));
        for _ in 0..FRAMES {
            let device = &mut self.guard.of(device);
            if self.link.iface.poll_ingress_single(now, device, &mut self.set)
                == PollIngressSingleResult::None
            {
                break;
            }
            self.note_end();
            // After each frame, as the next one may be for a listener that this one has used up.
            self.refill();
        }
        self.link.poll(&mut self.set);
        let replies = self.answer_waiting(now);
        self.link.iface.poll_egress(now, device, &mut self.set);
        for mut ending in core::mem::take(&mut self.ending) {
            let socket = self.set.get_mut::<Tcp>(ending.handle);
            // It has told its peer, unless that has no address at the link: then it never could.
            if socket.state() == State::Closed {
                self.free(ending.client, ending.handle);
                continue;
            }
            // A peer may take nothing and never end, for ever: that is its right only as long as
            // somebody cares.
            if now >= *ending.until.get_or_insert(now + PATIENCE) {
                socket.abort();
            }
            self.ending.push(ending);
        }
        self.refill();
        replies
    }

    /// Notes of the frame that was taken last if a peer has ended a connection by it.
    fn note_end(&mut self) {
        let Some(connection) = self.guard.ended() else { return };
        let mut sockets =
            self.set.iter().filter_map(|(handle, socket)| Some((handle, Tcp::downcast(socket)?)));
        if let Some((handle, _)) = sockets.find(|(_, socket)| connection.is_of(socket)) {
            self.guard.note(handle, connection);
        }
    }

    /// When [`Sockets::poll`] is due again, if nothing comes.
    pub fn poll_at(&mut self, now: Instant) -> Instant {
        let has_connections = self.clients.iter().any(|client| client.used > 0);
        let at = self.link.poll_at(now, &self.set, has_connections);
        self.waiting.iter().filter_map(|waiting| waiting.until).fold(at, Instant::min)
    }

    /// Reply of LISTEN, CONNECT, BIND.
    pub(crate) fn made(&mut self, client: usize, kind: Kind, at: IpEndpoint) -> Words {
        reply_with(self.name(client, kind), at)
    }
}
