// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk server: it gives each client a range of a disk. A client sends its requests through
//! memory that it shares with the server (docs/disk.md). The crate `sectors` has the decisions;
//! this program has the devices.
//!
//! The disk is a virtio block device (grants `virtio`, `queue`), or, if the machine has none, an
//! ATA disk (ports and interrupt line of a channel). For client N, from 1 on, the server has the
//! memory `client-N`, and two capabilities to notify it: `bell-N` (there are answers) and `again-N`
//! (attach again). The argument `range-N=partition=P` or `range-N=sectors=FIRST+COUNT` is the
//! client's range; without it the client has the whole disk.
//!
//! It does not know what the sectors hold, apart from a GPT.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64"
))]
mod ata;
mod driver;
mod line;
#[cfg(target_endian = "little")]
mod virtio;

use driver::{Disk, memories};
use line::{ALARM, INTERRUPT};
use macadamia::alloc::boxed::Box;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::disk::{ATTACH, BAD_REQUEST, NO_DISK};
use macadamia::heartbeat::Heart;
use macadamia::ipc::{Message, poll, receive, reply};
use macadamia::region::Region;
use macadamia::{Env, MessageKind, Received, Thread, Word, println, time};
use sectors::{Attach, Claim, Range, Refused, Server, partition, ranges};

macadamia::main!(run);

/// The disk that there is.
fn find(env: &Env) -> Option<Box<dyn Disk>> {
    find_virtio(env).or_else(|| find_ata(env))
}

#[cfg(target_endian = "little")]
fn find_virtio(env: &Env) -> Option<Box<dyn Disk>> {
    match virtio::Virtio::find(env) {
        Ok(disk) => disk.map(|disk| Box::new(disk) as Box<dyn Disk>),
        Err(reason) => {
            println!("no virtio disk: {reason}");
            None
        }
    }
}

/// There is no driver (`macadamia::virtio`).
#[cfg(target_endian = "big")]
fn find_virtio(_: &Env) -> Option<Box<dyn Disk>> {
    None
}

#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64"
))]
fn find_ata(env: &Env) -> Option<Box<dyn Disk>> {
    ata::Ata::find(env).map_or_else(
        |reason| {
            println!("no ATA disk: {reason}");
            None
        },
        |disk| Some(Box::new(disk) as Box<dyn Disk>),
    )
}

/// A machine without I/O ports has no ATA disk.
#[cfg(not(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64"
)))]
fn find_ata(_: &Env) -> Option<Box<dyn Disk>> {
    println!("no disk: the machine has no virtio disk");
    None
}

/// The range of each client.
fn settle(env: &Env, disk: &mut dyn Disk) -> Vec<Option<Range>> {
    let claim = |(number, _)| {
        let text = env.argument(&format!("range-{number}"));
        text.map_or(Claim::Whole, |text| {
            Claim::read(text).unwrap_or_else(|| panic!("`{text}` is no range"))
        })
    };
    let claims: Vec<_> = (1_u32..).zip(memories(env)).map(claim).collect();
    let sectors = disk.sectors();
    let found = ranges(claims, sectors, |number| {
        partition(number, sectors, |sector| disk.read_sector(sector))
    });
    let said = |(number, range): (u32, Result<Range, _>)| {
        range.map_err(|refused| match refused {
            Refused::Partition(reason) => println!("client {number} has no range: {reason}"),
            Refused::Beyond => {
                println!("client {number} has no range: its range is empty, or ends after the disk")
            }
            Refused::Overlaps(other) => {
                println!("client {number} has no range: it overlaps that of client {}", other + 1)
            }
        })
    };
    (1..).zip(found).map(|numbered| said(numbered).ok()).collect()
}

/// For a test, the argument `end-after=N,M,...`: in its first life the server ends after N steps,
/// in its second after M, and so on. A step is whatever a client or the device could tell from the
/// next one.
struct Steps(Option<u32>);

impl Steps {
    fn of(env: &Env) -> Self {
        let lives = env.argument("end-after");
        Self(
            lives.and_then(|lives| lives.split(',').nth(env.start.restarts as usize)?.parse().ok()),
        )
    }

    fn step(&mut self) {
        if let Some(left) = &mut self.0 {
            *left = left.checked_sub(1).unwrap_or_else(|| macadamia::start::exit(1));
        }
    }
}

/// The client to notify.
struct Client {
    bell: Thread,
    again: Thread,
}

struct Serving {
    disk: Box<dyn Disk>,
    server: Server<Region>,
    clients: Vec<Client>,
    /// Clients that attach while the disk still does something for a life of theirs that is over:
    /// their numbers and reply handles.
    waiting: Vec<(usize, Word)>,
    steps: Steps,
}

fn run(env: Env) {
    line::accept_all();
    let thread = |name, number| env.thread(&format!("{name}-{number}"));
    let count = memories(&env).count();
    let clients: Vec<_> = (1..=count)
        .map(|number| Client { bell: thread("bell", number), again: thread("again", number) })
        .collect();
    let Some(mut disk) = find(&env) else { refuse_all(&env, &clients) };
    println!("{} sectors, {}", disk.sectors(), disk.name());
    let ranges = settle(&env, &mut *disk);
    let memories = memories(&env).filter_map(|name| Region::find(&env, &name));
    let Some(server) = Server::new(memories.zip(ranges), disk.most()) else {
        panic!("{count} clients: that is too many, or the memory of one has no room for a slot")
    };
    if env.start.restarts > 0 {
        all_again(&clients, u32::MAX);
    }
    let steps = Steps::of(&env);
    Serving { disk, server, clients, waiting: Vec::new(), steps }.run()
}

/// Tells clients, a bit each, to attach again.
fn all_again(clients: &[Client], which: u32) {
    for (client, number) in clients.iter().zip(0..) {
        if which >> number & 1 != 0 {
            // One that is dead attaches when it lives again.
            let _ = client.again.notify();
        }
    }
}

/// Without a disk.
fn refuse_all(env: &Env, clients: &[Client]) -> ! {
    let mut heart = Heart::new(env, ALARM as Word);
    all_again(clients, u32::MAX);
    loop {
        // Without a heartbeat it is started again, and says the same.
        let _ = heart.alarm(None);
        if let Ok(received) = receive(None)
            && received.kind == MessageKind::Call
        {
            answer(received.handle, [NO_DISK, 0, 0]);
        }
    }
}

impl Serving {
    fn run(mut self) -> ! {
        let mut more = false;
        loop {
            // Calls have their turn between two rounds: no client keeps others from attaching.
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
                let bits = received.words[0] as u32;
                if bits & INTERRUPT != 0 {
                    self.disk.interrupt();
                }
            }
            MessageKind::Call => {
                let client = (received.badge as usize)
                    .checked_sub(1)
                    .filter(|client| *client < self.clients.len());
                match (client, received.words) {
                    (Some(client), [request, ..]) if request as u32 == ATTACH => {
                        self.waiting.retain(|(waiting, _)| *waiting != client);
                        self.waiting.push((client, received.handle));
                        self.attach_waiting();
                    }
                    _ => answer(received.handle, [BAD_REQUEST, 0, 0]),
                }
            }
            _ => {}
        }
    }

    fn attach_waiting(&mut self) {
        let Self { server, waiting, .. } = self;
        waiting.retain(|(client, handle)| {
            match server.attach(*client) {
                Attach::Later => return true,
                Attach::Now(sectors) => {
                    answer(*handle, [0, sectors as u32, (sectors >> 32) as u32])
                }
                Attach::Never => answer(*handle, [NO_DISK, 0, 0]),
            }
            false
        });
    }

    /// Gives the disk what clients ask for, and clients what the disk is done with. Whether there
    /// is more to do already.
    fn round(&mut self) -> bool {
        let mut started = false;
        while let Some(job) = self.server.take() {
            self.steps.step();
            self.disk.start(job);
            started = true;
        }
        if started {
            self.disk.kick();
            self.steps.step();
        }
        while let Some((tag, status)) = self.disk.finish() {
            self.steps.step();
            self.server.done(tag, status);
        }
        self.attach_waiting();
        let outcome = self.server.rest();
        for (client, number) in self.clients.iter().zip(0..) {
            if outcome.notify >> number & 1 != 0 {
                self.steps.step();
                let _ = client.bell.notify();
            }
        }
        all_again(&self.clients, outcome.broken);
        let now = time::now();
        let due = self.disk.rest(now);
        // Without the alarm a disk that does not answer is given up later.
        let _ = self.disk.line().alarm(due.filter(|due| *due > now));
        outcome.again || due.is_some_and(|due| due <= now)
    }
}

/// If the client is gone it does not care.
fn answer(handle: Word, words: [u32; 3]) {
    let _ = reply(handle, Message::new(words.map(|word| word as Word)));
}
