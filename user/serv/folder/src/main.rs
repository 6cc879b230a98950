// SPDX-License-Identifier: MIT OR Apache-2.0
//! The folder server: folders of the host, for one client (docs/folders.md). A client sends its
//! messages of 9P2000.L through memory that it shares with the server. The crate `folders` has the
//! decisions; this program has the devices.
//!
//! Each folder is a virtio device (grants `virtio-1`, `virtio-2`, ...); all of them have one
//! interrupt line. `queue` is memory that only the server and its devices have, `client-1` that of
//! the client, whom the server notifies by `bell-1` (there are answers) and `again-1` (attach
//! again).
//!
//! It knows no files, and no paths: what a message may reach, the device decides.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use folders::{Attach, LENGTH, Places, Server};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::folder::{AGAIN, ATTACH, BAD_REQUEST, BIT_REQUESTS, MOST_FOLDERS};
use macadamia::heartbeat::Heart;
use macadamia::ipc::{Message, poll, receive, reply};
use macadamia::region::Region;
use macadamia::virtio::Folder;
use macadamia::{Env, Irq, MessageKind, Received, Thread, Word, println, utcb};

macadamia::main!(run);

/// Notification bits of the interrupt (the description's `interrupt`), of the alarm, and of the
/// client.
const INTERRUPT: u32 = 1;
const ALARM: u32 = 2;
const REQUESTS: u32 = 1 << BIT_REQUESTS;
/// The number by which the client calls.
const CLIENT: u32 = 1;

/// The devices, and the interrupt line of all of them.
struct Devices {
    all: Vec<Option<Folder>>,
    irq: Option<Irq>,
}

impl Devices {
    fn find(env: &Env) -> Self {
        let names: Vec<String> =
            (1..=MOST_FOLDERS).map(|number| format!("virtio-{number}")).collect();
        let find = |name: &String| {
            Folder::find(env, name).unwrap_or_else(|reason| {
                println!("no use of `{name}`: {reason}");
                None
            })
        };
        let all: Vec<_> = names.iter().map(find).collect();
        // The first of them has the line, for the others, too.
        let has_line = |name: &&String| env.given(name).is_some_and(|given| given.slot != 0);
        let open = |name: &String| {
            env.open_irq(name, "interrupt").unwrap_or_else(|reason| panic!("{reason}"))
        };
        Self { all, irq: names.iter().find(has_line).map(open) }
    }

    /// Those that there are, a bit each.
    fn there(&self) -> u32 {
        let bits = self.all.iter().zip(0..).map(|(device, number)| (device.is_some(), number));
        bits.fold(0, |there, (is_there, number)| there | u32::from(is_there) << number)
    }

    /// Those that there are, with their numbers.
    fn each(&mut self) -> impl Iterator<Item = (u32, &mut Folder)> {
        (0..).zip(&mut self.all).filter_map(|(number, device)| Some((number, device.as_mut()?)))
    }
}

struct Serving {
    devices: Devices,
    server: Server<Region>,
    bell: Thread,
    again: Thread,
    /// The reply handle of a new client, which waits until nothing is under way for the one before.
    waiting: Option<Word>,
    heart: Heart,
}

/// The two pieces of memory, and where the devices find them.
fn memories(env: &Env) -> Option<([Region; 2], Places)> {
    let physical = |name| env.given(name).map(|given| given.physical).filter(|at| *at != 0);
    let places = Places { own: physical("queue")?, shared: physical("client-1")? };
    Some(([Region::find(env, "client-1")?, Region::find(env, "queue")?], places))
}

/// The server of the life before, if its devices still run and what it left is sound: sessions go
/// on then. Otherwise a new one.
fn serve(env: &Env, devices: &mut Devices) -> Option<Server<Region>> {
    let there = devices.there();
    if env.start.restarts > 0 && devices.each().all(|(_, device)| device.is_running()) {
        let ([shared, own], places) = memories(env)?;
        if let Some(server) = Server::resume(shared, own, places, there) {
            return Some(server);
        }
        println!("what the last life left is not sound: its sessions are over");
    }
    let ([shared, own], places) = memories(env)?;
    let server = Server::begin(shared, own, places, there)?;
    for (number, device) in devices.each() {
        begin(device, server.queue(number));
    }
    Some(server)
}

fn begin(device: &mut Folder, queue: [u64; 3]) {
    device.begin(LENGTH, queue).unwrap_or_else(|reason| panic!("a folder's device: {reason}"));
}

fn run(env: Env) {
    utcb::accept(INTERRUPT | ALARM | REQUESTS);
    let mut devices = Devices::find(&env);
    let Some(server) = serve(&env, &mut devices) else {
        panic!(
            "it needs `queue` and `client-1`, both with `dma = true` and large enough, in the system description"
        )
    };
    println!("{} folders", devices.there().count_ones());
    let (bell, again) = (env.thread("bell-1"), env.thread("again-1"));
    if env.start.restarts > 0 {
        // One that is dead attaches when it lives again.
        let _ = again.notify();
    }
    // The last life may have died before it told them.
    devices.each().for_each(|(_, device)| device.kick());
    let heart = Heart::new(&env, ALARM as Word);
    Serving { devices, server, bell, again, waiting: None, heart }.run()
}

impl Serving {
    fn run(mut self) -> ! {
        let mut more = true;
        loop {
            // Without a heartbeat it is started again.
            let _ = self.heart.alarm(None);
            // Calls have their turn between two rounds: a client that asks for much can attach.
            let received = if more { poll() } else { receive(None) };
            if let Ok(received) = received {
                self.take(&received);
            }
            more = self.round();
        }
    }

    /// What has come.
    fn take(&mut self, received: &Received) {
        match received.kind {
            MessageKind::Notification => {
                if received.words[0] as u32 & INTERRUPT != 0 {
                    self.interrupt();
                }
            }
            MessageKind::Call => match received.words {
                [request, again, _] if request as u32 == ATTACH && received.badge == CLIENT => {
                    if again as u32 == AGAIN {
                        self.waiting = None;
                        self.server.attach(true);
                        self.answer(received.handle, 0);
                    } else {
                        self.waiting = Some(received.handle);
                    }
                }
                _ => self.answer(received.handle, BAD_REQUEST),
            },
            _ => {}
        }
    }

    /// A device that needs a reset gets one: its session is over.
    fn interrupt(&mut self) {
        let Self { devices, server, .. } = self;
        for (number, device) in devices.each() {
            if device.acknowledge() {
                println!("folder {} needs a reset: its session is over", number + 1);
                server.lose(number);
                begin(device, server.queue(number));
            }
        }
        if let Some(irq) = &self.devices.irq {
            // The line is open.
            let _ = irq.acknowledge();
        }
    }

    /// Gives the devices what the client asks for, and the client what they are done with. Whether
    /// there is more to do already.
    fn round(&mut self) -> bool {
        let mut told = 0;
        while let Some(folder) = self.server.take() {
            told |= 1 << folder;
        }
        let Self { devices, server, .. } = self;
        for (number, device) in devices.each() {
            if told >> number & 1 != 0 {
                device.kick();
            }
            if server.finish(number).is_err() {
                println!("folder {} answers what was not asked: it is reset", number + 1);
                server.lose(number);
                begin(device, server.queue(number));
            }
        }
        if let Some(handle) = self.waiting
            && self.server.attach(false) == Attach::Now
        {
            self.waiting = None;
            self.answer(handle, 0);
        }
        let outcome = self.server.rest();
        if outcome.notify {
            // A client that is gone does not care.
            let _ = self.bell.notify();
        }
        if outcome.broken {
            let _ = self.again.notify();
        }
        outcome.again
    }

    /// If the client is gone it does not care.
    fn answer(&self, handle: Word, error: u32) {
        let words = [error, self.devices.there(), 0].map(|word| word as Word);
        let _ = reply(handle, Message::new(words));
    }
}
