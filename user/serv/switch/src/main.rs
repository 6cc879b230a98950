// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network switch: it copies frames between the memory of its ports (docs/net.md). The crate
//! `frames` has the decisions.
//!
//! Port 0 belongs to the card's driver, each other port to a client. For port N the switch has the
//! memory `port-N`, and two capabilities to notify the port's client: `bell-N` (there are frames,
//! or free slots) and `again-N` (attach again). The argument `port-N=NAME` is the client's name;
//! `bridge-N=true` says that the client may send from the addresses of others.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use frames::{Address, CARD, Switch};
use image::protocol::net::{
    ATTACH, ATTACH_CARD, BAD_REQUEST, HAS_CARD, LINK, LINK_UP, NAME, STATISTICS, TAKES_LARGE,
    WATCHER,
};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::heartbeat::Heart;
use macadamia::ipc::{Message, poll, receive, reply};
use macadamia::region::Region;
use macadamia::{Env, MessageKind, Received, Thread, Word, println, time, utcb};

macadamia::main!(run);

/// Where clients' addresses begin if there is no card.
const NO_CARD: Address = Address([0x02, 0x4d, 0x63, 0x61, 0x64, 0]);

/// The answer to what is no request, or not of this client.
const BAD: [u32; 3] = [BAD_REQUEST, 0, 0];

/// Notification bit of the alarm: that of no port.
const ALARM: u32 = 1 << 31;

/// The client to notify of a port.
struct Client {
    /// As the description has it; empty if that does not say.
    name: String,
    bell: Thread,
    again: Thread,
}

/// What the driver of the card has said.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Card {
    address: Address,
    link_is_up: bool,
}

/// A client that attaches.
struct Waiting {
    port: usize,
    /// Word 1 of its request.
    flags: u32,
    /// Its reply handle.
    handle: Word,
}

/// The words of a request, each of 32 bits.
fn words(received: &Received) -> [u32; 3] {
    received.words.map(|word| word as u32)
}

/// An answer of such words.
fn message(words: [u32; 3]) -> Message {
    Message::new(words.map(|word| word as Word))
}

struct Server {
    switch: Switch<Region>,
    clients: Vec<Client>,
    /// Nothing until the driver has attached in this life of the switch.
    card: Option<Card>,
    /// Clients that attach and wait for the card's address.
    waiting: Vec<Waiting>,
    heart: Heart,
}

fn run(env: Env) {
    let ports = || (0_u32..).map_while(|port| Region::find(&env, &format!("port-{port}")));
    let thread = |name, port| env.thread(&format!("{name}-{port}"));
    let name = |port| env.argument(&format!("port-{port}")).unwrap_or_default().into();
    let clients: Vec<_> = ports()
        .zip(0_u32..)
        .map(|(_, port)| Client {
            name: name(port),
            bell: thread("bell", port),
            again: thread("again", port),
        })
        .collect();
    let count = clients.len() as u32;
    let Some(mut switch) = Switch::new(ports()) else {
        panic!("{count} ports: that is too many, or the memory of one has no room for a frame")
    };
    let bridges = |port: &usize| env.argument(&format!("bridge-{port}")) == Some("true");
    (0..clients.len()).filter(bridges).for_each(|port| switch.let_bridge(port));
    let mut server = Server {
        switch,
        clients,
        card: None,
        waiting: Vec::new(),
        heart: Heart::new(&env, ALARM as Word),
    };
    if env.start.restarts > 0 {
        // What they had with the life before this one is gone.
        server.all_again(u32::MAX);
    }
    let mut more = false;
    utcb::accept(ALARM | ((1 << count) - 1));
    loop {
        // Requests have their turn between two rounds: no client keeps others from attaching.
        let received = if more { poll() } else { receive(None) };
        if let Ok(received) = received
            && received.kind != MessageKind::Notification
            && let Some(answer) = server.answer(&received)
        {
            // If the client is gone it does not care.
            let _ = reply(received.handle, answer);
        }
        more = server.round();
    }
}

impl Server {
    /// Passes frames on. Whether there is more to do already.
    fn round(&mut self) -> bool {
        let outcome = self.switch.round(time::now());
        for (client, port) in self.clients.iter().zip(0..) {
            if outcome.notify >> port & 1 != 0 {
                // A client that is dead attaches when it lives again.
                let _ = client.bell.notify();
            }
        }
        self.all_again(outcome.broken);
        if !outcome.again {
            // Without the alarm a frame that waits does so until the next one comes.
            let _ = self.heart.alarm(outcome.look);
        }
        outcome.again
    }

    /// Tells clients, a bit each, to attach again.
    fn all_again(&self, ports: u32) {
        for (client, port) in self.clients.iter().zip(0..) {
            if ports >> port & 1 != 0 {
                let _ = client.again.notify();
            }
        }
    }

    /// Answers a request; `None` if that has to wait.
    fn answer(&mut self, received: &Received) -> Option<Message> {
        match (received.kind, received.badge) {
            (MessageKind::Call, WATCHER) => Some(self.tell(words(received))),
            (MessageKind::Call, badge) => {
                let port =
                    (badge as usize).checked_sub(1).filter(|port| *port < self.clients.len());
                port.map_or(Some(BAD), |port| self.serve(port, received)).map(message)
            }
            _ => Some(message(BAD)),
        }
    }

    /// Answers a watcher.
    fn tell(&self, words: [u32; 3]) -> Message {
        match words {
            [STATISTICS, number, port] => message(self.counter(port as usize, number)),
            [NAME, _, port] => match self.clients.get(port as usize) {
                Some(client) => Message::text(0, client.name.as_bytes()),
                None => message(BAD),
            },
            _ => message(BAD),
        }
    }

    /// Answers the client of a port; `None` if that has to wait.
    fn serve(&mut self, port: usize, received: &Received) -> Option<[u32; 3]> {
        match (words(received), port) {
            ([ATTACH, flags, _], 1..) => match self.card {
                None => {
                    self.waiting.retain(|waiting| waiting.port != port);
                    self.waiting.push(Waiting { port, flags, handle: received.handle });
                    None
                }
                Some(card) => Some(self.attach(port, flags, card)),
            },
            ([ATTACH_CARD, low, high], CARD) => {
                self.attach_card(low, high);
                Some([0; 3])
            }
            ([LINK, is_up, _], CARD) => {
                let card = self.card.map(|card| Card { link_is_up: is_up != 0, ..card });
                self.set_card(card);
                Some([0; 3])
            }
            ([STATISTICS, number, _], _) => Some(self.counter(port, number)),
            _ => Some(BAD),
        }
    }

    /// What STATISTICS is answered with.
    fn counter(&self, port: usize, number: u32) -> [u32; 3] {
        let value = self.switch.counters(port).and_then(|counters| counters.get(number));
        value.map_or(BAD, |value| [0, value as u32, (value >> 32) as u32])
    }

    fn attach(&mut self, port: usize, flags: u32, card: Card) -> [u32; 3] {
        let address = card.address.of_client(port as u32);
        self.switch.attach(port, Some(address), flags & TAKES_LARGE != 0);
        let [low, high] = address.words();
        let link = if card.link_is_up { LINK_UP } else { 0 };
        [0, low, high | link]
    }

    /// The driver of the card lives, with a card or without.
    fn attach_card(&mut self, low: u32, high: u32) {
        let ([a, b, c, d], [e, f, ..]) = (low.to_le_bytes(), high.to_le_bytes());
        let has_card = high & HAS_CARD != 0;
        let card = if has_card {
            self.switch.attach(CARD, None, false);
            Card { address: Address([a, b, c, d, e, f]), link_is_up: high & LINK_UP != 0 }
        } else {
            // Clients reach each other all the same, if there are several.
            Card { address: NO_CARD, link_is_up: self.clients.len() > 2 }
        };
        if self.card.is_none() {
            let up = if card.link_is_up { "up" } else { "down" };
            let state = if has_card {
                format!("card {}, link {up}", card.address)
            } else {
                "no card".into()
            };
            println!("{} ports, {state}", self.clients.len());
        }
        self.set_card(Some(card));
        for Waiting { port, flags, handle } in core::mem::take(&mut self.waiting) {
            let words = self.attach(port, flags, card);
            let _ = reply(handle, message(words));
        }
    }

    /// Clients learn of another state of the link, or another address, by attaching again.
    fn set_card(&mut self, card: Option<Card>) {
        let old = core::mem::replace(&mut self.card, card);
        if old.is_some() && old != card {
            self.all_again(!(1 << CARD));
        }
    }
}
