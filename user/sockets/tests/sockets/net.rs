// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients, and the card, which is a loop.

use image::protocol::ip::*;
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::{Ipv4Address, Ipv4Cidr};
use sockets::{Configuration, Memory, Setup, Sockets, Words};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

pub const BYTES: u32 = 32768;
pub const MOST: usize = 12;
pub const LIFE: u16 = 3;
pub const HERE: u32 = u32::from_be_bytes([10, 0, 2, 15]);
/// The server's address, and that of who sends to it.
pub const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];

#[derive(Clone)]
pub struct Shared(pub Rc<RefCell<Vec<u8>>>);

impl Memory for Shared {
    fn bytes(&self) -> u32 {
        BYTES
    }
    fn read(&self, offset: u32, to: &mut [u8]) {
        to.copy_from_slice(&self.0.borrow()[offset as usize..][..to.len()]);
    }
    fn write(&self, offset: u32, from: &[u8]) {
        self.0.borrow_mut()[offset as usize..][..from.len()].copy_from_slice(from);
    }
}

/// What is sent arrives, unless it is lost. The peer gets what is for its address.
#[derive(Default)]
pub struct Wire {
    pub frames: Queue,
    /// What the peer has got.
    pub peer: Queue,
    /// Every so manieth frame is lost.
    pub loss: Option<u32>,
    /// There is always another frame, this one.
    pub flood: Option<Vec<u8>>,
    /// Frames that have come.
    pub count: u32,
}

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

pub struct Receive(Vec<u8>);
pub struct Send {
    frames: Queue,
    peer: Queue,
}

impl Wire {
    fn sender(&self) -> Send {
        Send { frames: self.frames.clone(), peer: self.peer.clone() }
    }
}

impl RxToken for Receive {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Send {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, f: F) -> R {
        let mut frame = vec![0; bytes];
        let result = f(&mut frame);
        let queue = if frame[..6] == PEER { self.peer } else { self.frames };
        queue.borrow_mut().push_back(frame);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Receive;
    type TxToken<'a> = Send;
    fn receive(&mut self, _: Instant) -> Option<(Receive, Send)> {
        loop {
            let next = self.frames.borrow_mut().pop_front();
            let frame = next.or_else(|| self.flood.clone())?;
            self.count += 1;
            if self.loss.is_none_or(|loss| !self.count.is_multiple_of(loss)) {
                return Some((Receive(frame), self.sender()));
            }
        }
    }
    fn transmit(&mut self, _: Instant) -> Option<Send> {
        Some(self.sender())
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ethernet, 1514);
        capabilities
    }
}

pub struct Net {
    pub wire: Wire,
    pub sockets: Sockets<Shared>,
    pub memories: Vec<Shared>,
    pub now: i64,
    /// Answers that came later: whose, and what.
    pub late: Vec<(usize, Words)>,
}

impl Net {
    pub fn with(clients: usize, from: Configuration) -> Self {
        let mut wire = Wire::default();
        let memories: Vec<_> =
            (0..clients).map(|_| Shared(Rc::new(RefCell::new(vec![0; BYTES as usize])))).collect();
        let setup = Setup { address: OWN, from, most: MOST, life: LIFE, seed: 1 };
        let sockets = Sockets::new(&mut wire, &setup, memories.clone(), Instant::ZERO);
        Self { wire, sockets, memories, now: 0, late: Vec::new() }
    }

    /// With an address, and clients that have said hello.
    pub fn new(clients: usize) -> Self {
        let address = Ipv4Cidr::new(Ipv4Address::from_bits(HERE), 24);
        let mut net = Self::with(
            clients,
            Configuration::Static { address, gateway: None, name_server: None },
        );
        for client in 0..clients {
            assert_eq!(net.ask(client, &[HELLO]), [0, MOST as u32, 0, 0, 0, 0, 0, 0]);
        }
        net
    }

    pub fn begin(&mut self, client: usize, words: &[u32]) -> Option<Words> {
        let mut request = [0; WORDS];
        request[..words.len()].copy_from_slice(words);
        self.sockets.request(client, client as u32, &request, Instant::from_millis(self.now))
    }

    pub fn poll(&mut self) {
        self.now += 10;
        let late = self.sockets.poll(&mut self.wire, Instant::from_millis(self.now));
        self.late.extend(late.into_iter().map(|(handle, words)| (handle as usize, words)));
    }

    /// A request whose answer is waited for.
    pub fn ask(&mut self, client: usize, words: &[u32]) -> Words {
        if let Some(reply) = self.begin(client, words) {
            return reply;
        }
        self.answer(client)
    }

    pub fn answer(&mut self, client: usize) -> Words {
        for _ in 0..10_000 {
            if let Some(at) = self.late.iter().position(|(whose, _)| *whose == client) {
                return self.late.remove(at).1;
            }
            self.poll();
        }
        panic!("client {client} waits for ever");
    }

    /// The same, which succeeds: what word 1 says.
    pub fn get(&mut self, client: usize, words: &[u32]) -> u32 {
        let reply = self.ask(client, words);
        assert_eq!(reply[0], 0, "{words:?}");
        reply[1]
    }

    pub fn wait(&mut self, client: usize, socket: u32, what: u32) {
        assert_eq!(self.get(client, &[WAIT, socket, what, FOREVER]), what);
    }

    /// Connects client 0 with client 1: their sockets.
    pub fn connect(&mut self, port: u32) -> (u32, u32) {
        let listener = self.get(1, &[LISTEN, 0, 0, port]);
        let from = self.get(0, &[CONNECT, 0, 0, port, HERE]);
        self.wait(1, listener, READABLE);
        self.wait(0, from, WRITABLE);
        assert_eq!(self.ask(0, &[CONNECTED, from])[0], 0);
        let to = self.get(1, &[ACCEPT, listener]);
        assert_eq!(self.ask(1, &[ACCEPT, listener])[0], WOULD_BLOCK);
        self.get(1, &[CLOSE, listener]);
        (from, to)
    }

    /// Sends bytes of one client's socket to the other's, and compares.
    pub fn send(&mut self, (from, to): (u32, u32), bytes: usize) {
        let data: Vec<u8> =
            (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let (mut sent, mut come) = (0, Vec::new());
        while come.len() < bytes {
            if sent < bytes {
                let part = (bytes - sent).min(3000);
                self.memories[0].write(16, &data[sent..][..part]);
                match self.ask(0, &[WRITE, from, 1 << 16 | part as u32]) {
                    [0, count, ..] => sent += count as usize,
                    [error, ..] => assert_eq!(error, WOULD_BLOCK),
                }
            }
            match self.ask(1, &[READ, to, 64 << 16 | 5000]) {
                [0, count, ..] => {
                    come.extend_from_slice(&self.memories[1].0.borrow()[1024..][..count as usize])
                }
                [error, ..] => assert_eq!(error, WOULD_BLOCK),
            }
            self.poll();
        }
        assert!(come == data, "what has come is not what was sent");
    }

    /// A datagram from client 0 to client 1.
    pub fn datagram(&mut self, text: &[u8]) {
        let from = self.ask(0, &[BIND]);
        let to = self.ask(1, &[BIND]);
        assert_eq!((from[0], to[0]), (0, 0));
        self.memories[0].write(16, text);
        assert_eq!(self.begin(1, &[WAIT, to[1], READABLE, FOREVER]), None, "it waits");
        assert_eq!(
            self.get(0, &[SEND_TO, from[1], 1 << 16 | text.len() as u32, to[3], HERE]),
            text.len() as u32
        );
        assert_eq!(self.answer(1)[..2], [0, READABLE]);
        let words = self.ask(1, &[RECEIVE_FROM, to[1], 100]);
        assert_eq!(
            (words[0], words[1] as usize, words[3], words[4]),
            (0, text.len(), from[3], HERE)
        );
        assert_eq!(&self.memories[1].0.borrow()[..text.len()], text);
        self.get(0, &[CLOSE, from[1]]);
        self.get(1, &[CLOSE, to[1]]);
    }

    /// A frame comes.
    pub fn comes(&mut self, frame: Vec<u8>) {
        self.wire.frames.borrow_mut().push_back(frame);
        self.poll();
    }

    /// What it sends to a port by UDP within three seconds of its own: from which port, and the
    /// bytes.
    pub fn sent_to(&mut self, port: u16) -> Option<(u16, Vec<u8>)> {
        for _ in 0..300 {
            let is_udp = |frame: &&Vec<u8>| {
                frame.get(12..14) == Some(&[8, 0])
                    && frame[23] == 17
                    && frame[36..38] == port.to_be_bytes()
            };
            let (all, peer) = (self.wire.frames.borrow(), self.wire.peer.borrow());
            let sent =
                all.iter().chain(&*peer).find(is_udp).map(|frame| {
                    (u16::from_be_bytes([frame[34], frame[35]]), frame[42..].to_vec())
                });
            drop((all, peer));
            if sent.is_some() {
                return sent;
            }
            self.poll();
        }
        None
    }

    /// Time passes, and clients use the network: outside, too, whether that is reached or not.
    pub fn goes_on(&mut self) {
        for client in 0..2 {
            assert_eq!(self.ask(client, &[HELLO])[0], 0);
        }
        self.memories[0].write(0, b"name.example");
        let mut sockets = Vec::new();
        for pause in [10, 1_000, 60_000, 3_600_000] {
            sockets
                .push(self.begin(0, &[CONNECT, 0, 0, 80, u32::from_be_bytes([93, 184, 216, 34])]));
            sockets.push(self.begin(0, &[CONNECT, 0, 0, IS_V6 | 80, 0x2001_0db8, 1, 0, 1]));
            let udp = self.begin(0, &[BIND]);
            if let Some([0, udp, ..]) = udp {
                self.begin(0, &[SEND_TO, udp, 4, 53, u32::from_be_bytes([8, 8, 8, 8])]);
                self.begin(0, &[SEND_TO, udp, 4, IS_V6 | 53, 0xff02_0000, 0, 0, 1]);
            }
            sockets.push(udp);
            self.begin(0, &[LOOK_UP, 4, 12]);
            (0..5).for_each(|_| self.poll());
            self.now += pause;
            (0..5).for_each(|_| self.poll());
            for made in sockets.drain(..).flatten() {
                self.begin(0, &[CLOSE, made[1]]);
            }
        }
        // Nothing of it stays: others have the time of neighbours' answers that its questions would
        // take.
        [1, 0].iter().for_each(|life| assert_eq!(self.ask(0, &[HELLO, *life])[0], 0));
        self.late.clear();
    }
}
