// SPDX-License-Identifier: MIT OR Apache-2.0
//! The IP server: sockets for components. It uses smoltcp on a port of the network's switch
//! (docs/ip.md). The crate `sockets` handles the requests.
//!
//! For client N, from 1 on, it has the memory `client-N`, and its name from the argument
//! `client-N=NAME`. The argument `address` is `dhcp`, or an address with its prefix; then
//! there are `gateway` and `name-server`. `sockets=N` is the most that a client may have.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod card;

use card::Card;
use image::protocol::ip::{BAD_REQUEST, USAGE, WORDS};
use image::protocol::net::WATCHER;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::heartbeat::Heart;
use macadamia::ipc::{Message, poll, receive, reply};
use macadamia::net::Ipv4Addr;
use macadamia::net::port::{AGAIN, FRAMES, Port};
use macadamia::region::Region;
use macadamia::start::Usage;
use macadamia::{Env, MessageKind, Received, Word, println, start, time, utcb};
use smoltcp::time::Instant;
use smoltcp::wire::{IpCidr, Ipv4Cidr};
use sockets::{BYTES, Configuration, Memory, Setup, Sockets, Words};

macadamia::main!(run);

/// Notification bit of the alarm.
const ALARM: u32 = 1;
/// How often it is looked whether clients live, in nanoseconds.
const LOOK: u64 = 500_000_000;
/// The shortest time, in nanoseconds, that it waits when it has moved nothing.
const PAUSE: u64 = 1_000_000;
/// Most sockets of a client, unless an argument says another number.
const SOCKETS: usize = 64;
/// Bytes of heap for everything but clients' sockets.
const RESERVE: usize = 256 << 10;
/// The words of a message that are in registers.
const REGISTERS: usize = 3;

struct Client(Region);

impl Memory for Client {
    fn bytes(&self) -> u32 {
        frames::Shared::bytes(&self.0)
    }
    fn read(&self, offset: u32, to: &mut [u8]) {
        self.0.read_bytes(offset, to);
    }
    fn write(&self, offset: u32, from: &[u8]) {
        self.0.write_bytes(offset, from);
    }
}

/// Microseconds since boot, as smoltcp has them.
fn now() -> Instant {
    Instant::from_micros((time::now() / 1000) as i64)
}

fn run(env: Env) {
    let Some(port) = Port::find(&env) else {
        panic!(
            "it needs a network: write `net = {{ address = \"dhcp\" }}` for `{}`",
            env.start.name
        )
    };
    let clients: Vec<_> = (1..)
        .map_while(|client| Region::find(&env, &format!("client-{client}")))
        .map(Client)
        .collect();
    let most = env.argument("sockets").map_or(SOCKETS, |_| env.number("sockets") as usize);
    let (needed, free) = (clients.len() * most * BYTES + RESERVE, start::free_heap());
    // Memory that is missing is missed now, and not when one client takes it from others.
    assert!(
        needed <= free,
        "{} clients with {most} sockets each want a heap of {} KiB: `{}` has {} KiB",
        clients.len(),
        needed.div_ceil(1024),
        env.start.name,
        free / 1024
    );
    let Ok((rings, mut link)) = port.attach() else { panic!("the switch refuses its port") };
    let mut card = Card::new(&port, rings);
    let setup = Setup {
        address: link.address.0,
        from: configuration(&env),
        most,
        life: env.start.restarts as u16,
        seed: chance(&env),
    };
    let sockets = Sockets::new(&mut card, &setup, clients, now());
    let names = (1..)
        .map_while(|client| env.argument(&format!("client-{client}")).map(String::from))
        .collect();
    let mut server =
        Server { sockets, names, look: 0, said: Vec::new(), slots: env.start.slots as Word };
    let mut heart = Heart::new(&env, ALARM as Word);
    utcb::accept(FRAMES | AGAIN | ALARM);
    loop {
        server.turn(&mut card);
        let broken = match card.rest() {
            Ok(has_frames) => {
                // smoltcp may be due at once and do nothing, as when the ring is full: that is not
                // asked without end.
                let pause = if has_frames || card.has_moved() { 0 } else { PAUSE };
                let until = server.until().max(time::now() + pause);
                // Without the alarm it goes on when something comes.
                let _ = heart.alarm(Some(until));
                let received =
                    if has_frames || until <= time::now() { poll() } else { receive(None) };
                received.is_ok_and(|received| server.take(&received))
            }
            Err(frames::Broken) => true,
        };
        if broken && let Ok((rings, new)) = port.attach() {
            if new.address != link.address {
                // Its addresses follow from the card's: it begins again, as does everybody who has
                // a connection.
                println!("another card: {}", new.address);
                start::exit(1);
            }
            if link.is_up != new.is_up {
                println!("link {}", if new.is_up { "up" } else { "down" });
            }
            link = new;
            card.attach(rings);
        }
    }
}

/// What the description says of the address.
fn configuration(env: &Env) -> Configuration {
    let parse = |name: &str| -> Option<Ipv4Addr> {
        env.argument(name)
            .map(|text| text.parse().unwrap_or_else(|_| panic!("`{text}` is no {name}")))
    };
    match env.argument("address") {
        None => panic!("write `net = {{ address = \"dhcp\" }}` for `{}`", env.start.name),
        Some("dhcp") => Configuration::Dhcp,
        Some(text) => {
            let parts = text
                .split_once('/')
                .and_then(|(address, bits)| Some((address.parse().ok()?, bits.parse().ok()?)));
            let (address, bits): (Ipv4Addr, u8) = parts
                .filter(|(_, bits)| *bits <= 32)
                .unwrap_or_else(|| panic!("`{text}` is no address"));
            Configuration::Static {
                address: Ipv4Cidr::new(address, bits),
                gateway: parse("gateway"),
                name_server: parse("name-server"),
            }
        }
    }
}

/// What peers cannot guess easily: the start block's seed, if there is one, and the time.
fn chance(env: &Env) -> u64 {
    let seed = env.start.seed.as_ref().map_or(0, |seed| {
        seed.chunks(8).fold(0, |hash: u64, part| {
            part.iter().fold(hash.rotate_left(7), |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        })
    });
    seed ^ time::counter()
}

struct Server {
    sockets: Sockets<Client>,
    /// The clients' names.
    names: Vec<String>,
    /// When clients are looked at again, in nanoseconds.
    look: u64,
    /// The addresses that were printed.
    said: Vec<IpCidr>,
    /// How many capability slots there are.
    slots: Word,
}

impl Server {
    /// Sends, receives and answers.
    fn turn(&mut self, card: &mut Card<'_>) {
        for (handle, words) in self.sockets.poll(card, now()) {
            answer(handle, words);
        }
        self.say();
        if time::now() >= self.look {
            self.look = time::now() + LOOK;
            self.look_at_clients();
        }
    }

    /// When there is something to do, in nanoseconds, if nothing comes.
    fn until(&mut self) -> u64 {
        let at = self.sockets.poll_at(now()).total_micros().max(0) as u64 * 1000;
        if !self.sockets.users().is_empty() { at.min(self.look) } else { at }
    }

    /// Takes a message. Whether the port is to be attached again.
    fn take(&mut self, received: &Received) -> bool {
        match received.kind {
            MessageKind::Notification => return received.words[0] as u32 & AGAIN != 0,
            MessageKind::Call if received.badge == WATCHER => {
                let known = received.words[0] as u32 == USAGE;
                let message = if known {
                    Usage::own(self.slots).message()
                } else {
                    Message::new([BAD_REQUEST as Word, 0, 0])
                };
                // A watcher that is gone needs no answer.
                let _ = reply(received.handle, message);
            }
            MessageKind::Call => {
                let words: Words = core::array::from_fn(|index| match index {
                    0..REGISTERS => received.words[index] as u32,
                    _ if index < received.count as usize => utcb::word(index) as u32,
                    _ => 0,
                });
                // Badges are clients, from 1 on; another one is refused as a client that there is
                // not.
                let client = (received.badge as usize).wrapping_sub(1);
                if let Some(words) =
                    self.sockets.request(client, received.handle as u32, &words, now())
                {
                    answer(received.handle as u32, words);
                }
            }
            _ => {}
        }
        false
    }

    /// What has ended, and did not close its sockets, has none any more.
    fn look_at_clients(&mut self) {
        for (client, life) in self.sockets.users() {
            let status = self.names.get(client).map(|name| start::status(name));
            if let Some(Ok(status)) = status
                && (!status.lives || status.restarts != life)
            {
                self.sockets.reset(client);
            }
        }
    }

    /// Prints the addresses when they are others.
    fn say(&mut self) {
        if self.sockets.addresses().eq(self.said.iter().copied()) {
            return;
        }
        self.said = self.sockets.addresses().collect();
        let all: Vec<String> = self.said.iter().map(|address| format!("{address}")).collect();
        println!("{}", if all.is_empty() { "no address".into() } else { all.join(", ") });
    }
}

/// Replies, if the client is still there to take it.
fn answer(handle: u32, words: Words) {
    (REGISTERS..WORDS).for_each(|index| utcb::set_word(index, words[index] as Word));
    let [a, b, c, ..] = words.map(|word| word as Word);
    let _ = reply(handle as Word, Message { words: [a, b, c], count: WORDS as u32, caps: 0 });
}
