// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server against a naive model of disks, and against clients that write anything anywhere.

use frames::Shared;
use image::protocol::disk::{
    ANSWER, ANSWERS, BAD_REQUEST, DATA, FIRST_ANSWER, FIRST_REQUEST, FLUSH, READ, REQUEST,
    REQUESTS, SECTOR, SLOT, WRITE,
};
use image::protocol::net::{CONSUMED, PRODUCED};
use proptest::prelude::*;
use sectors::{
    Attach, Claim, Client, Job, Layout, Range, Refused, Request, Server, Task, Transfer, ranges,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

const SLOTS: u32 = 4;
const BYTES: u32 = DATA + SLOTS * SLOT;
/// What the device can do at once.
const MOST: u32 = 6;
const SECTORS: u64 = 300;

/// Memory that a client and the server see.
#[derive(Clone)]
struct Memory(Rc<RefCell<Vec<u32>>>);

impl Memory {
    fn new() -> Self {
        Self(Rc::new(RefCell::new(vec![0; BYTES as usize / 4])))
    }
}

impl Shared for Memory {
    fn bytes(&self) -> u32 {
        BYTES
    }
    fn read(&self, offset: u32) -> u32 {
        assert!(offset.is_multiple_of(4));
        self.0.borrow()[offset as usize / 4]
    }
    fn write(&self, offset: u32, value: u32) {
        assert!(offset.is_multiple_of(4));
        self.0.borrow_mut()[offset as usize / 4] = value;
    }
    fn copy(&self, _: u32, _: &Self, _: u32, _: u32) {
        unreachable!("the server copies no data");
    }
    fn fence(&self) {}
}

/// A device: each sector is one number, which is that of the first word of its place in memory.
struct Device {
    sectors: Vec<u32>,
    under_way: Vec<Job>,
}

impl Device {
    /// Does one of its tasks.
    fn carry_out(
        &mut self,
        which: usize,
        server: &mut Server<Memory>,
        memories: &[Memory],
    ) -> Option<Job> {
        if self.under_way.is_empty() {
            return None;
        }
        let job = self.under_way.remove(which % self.under_way.len());
        let place = |at: Transfer, sector: u32| {
            (
                &memories[at.client],
                at.offset + sector * SECTOR,
                (at.first + u64::from(sector)) as usize,
            )
        };
        match job.task {
            Task::Read(at) => (0..at.count).for_each(|sector| {
                let (memory, offset, number) = place(at, sector);
                memory.write(offset, self.sectors[number]);
            }),
            Task::Write(at) => (0..at.count).for_each(|sector| {
                let (memory, offset, number) = place(at, sector);
                self.sectors[number] = memory.read(offset);
            }),
            Task::Flush => {}
        }
        server.done(job.tag, 0);
        Some(job)
    }
}

const RANGES: [Range; 3] = [
    Range { first: 10, sectors: 90 },
    Range { first: 100, sectors: 100 },
    Range { first: 200, sectors: SECTORS - 200 },
];

/// A server with its device and clients that keep to the protocol.
struct World {
    server: Server<Memory>,
    device: Device,
    memories: Vec<Memory>,
    clients: Vec<Client>,
}

impl World {
    fn new() -> Self {
        let memories: Vec<_> = RANGES.iter().map(|_| Memory::new()).collect();
        let mut world = Self {
            server: Self::server(&memories),
            device: Device { sectors: vec![0; SECTORS as usize], under_way: Vec::new() },
            clients: Vec::new(),
            memories,
        };
        world.clients = (0..RANGES.len()).map(|client| world.attach(client)).collect();
        world
    }

    fn server(memories: &[Memory]) -> Server<Memory> {
        Server::new(memories.iter().cloned().zip(RANGES.map(Some)), MOST).expect("room for slots")
    }

    /// The device is done before with what it does for the client's old life.
    fn attach(&mut self, client: usize) -> Client {
        while self.server.attach(client) == Attach::Later {
            assert!(self.device.carry_out(0, &mut self.server, &self.memories).is_some());
        }
        assert_eq!(self.server.attach(client), Attach::Now(RANGES[client].sectors));
        Client::new(Layout::of(BYTES).expect("room for slots"))
    }

    /// Gives the device all that it can do.
    fn start(&mut self) {
        while let Some(job) = self.server.take() {
            assert!(
                self.device.under_way.iter().all(|other| other.tag != job.tag) && job.tag < MOST
            );
            if let Task::Read(at) | Task::Write(at) = job.task {
                let range = RANGES[at.client];
                assert!(
                    at.first >= range.first
                        && at.first + u64::from(at.count) <= range.first + range.sectors
                        && at.count > 0
                );
                assert!(at.offset >= DATA && at.offset + at.count * SECTOR <= BYTES);
            }
            self.device.under_way.push(job);
        }
    }

    fn submit(&mut self, client: usize, slot: u32, request: Request) -> bool {
        self.clients[client].submit(&self.memories[client], slot, request).expect("a sound ring")
    }

    fn answer(&mut self, client: usize) -> Option<(u32, u32)> {
        self.clients[client].answer(&self.memories[client]).expect("a sound ring")
    }

    /// All that is under way is done.
    fn settle(&mut self) -> u32 {
        let mut notify = 0;
        for _ in 0..1000 {
            self.start();
            while self.device.carry_out(0, &mut self.server, &self.memories).is_some() {}
            let outcome = self.server.rest();
            assert_eq!(outcome.broken, 0);
            notify |= outcome.notify;
            if !outcome.again {
                return notify;
            }
        }
        panic!("the server never rests");
    }
}

#[test]
fn memory_has_room_for_slots() {
    assert_eq!(Layout::of(DATA + SLOT - 1), None);
    assert_eq!(Layout::of(0), None);
    assert_eq!(Layout::of(DATA + 7 * SLOT).map(Layout::slots), Some(4));
    assert_eq!(Layout::of(u32::MAX).map(Layout::slots), Some(64));
    // What is in the first page has its place there.
    let most = Layout::of(u32::MAX).expect("room").slots();
    assert!(
        ANSWERS + 256 <= REQUESTS
            && REQUESTS + 256 <= FIRST_ANSWER
            && FIRST_ANSWER + most * ANSWER <= FIRST_REQUEST
    );
    assert!(FIRST_REQUEST + most * REQUEST <= DATA);
    let clients = |count| (0..count).map(|_| (Memory::new(), None));
    assert!(Server::new(clients(20), 1).is_some() && Server::new(clients(21), 1).is_none());
}

#[test]
fn what_a_client_may_not_ask_for_is_refused() {
    let mut world = World::new();
    let sectors = RANGES[0].sectors;
    let bad = [
        Request::Read { first: sectors, count: 1 },
        Request::Write { first: sectors - 1, count: 2 },
        Request::Write { first: u64::MAX, count: 1 },
        Request::Write { first: u64::MAX - 9, count: 1 },
        Request::Read { first: 0, count: 0 },
        Request::Read { first: 0, count: SLOT / SECTOR + 1 },
        Request::Read { first: 0, count: u32::MAX },
    ];
    for request in bad {
        world.submit(0, 1, request);
        assert_eq!(world.server.take(), None);
        world.settle();
        assert_eq!(world.answer(0), Some((1, BAD_REQUEST)), "{request:?}");
    }
    world.submit(0, SLOTS, Request::Flush);
    world.settle();
    assert_eq!(world.answer(0), Some((SLOTS, BAD_REQUEST)));
    // The whole range is the client's.
    world.submit(0, 3, Request::Write { first: sectors - 1, count: 1 });
    let job = world.server.take().expect("a job");
    assert_eq!(
        job.task,
        Task::Write(Transfer { first: 99, count: 1, client: 0, offset: DATA + 3 * SLOT })
    );
    // A slot that the device has is not taken again.
    world.submit(0, 3, Request::Flush);
    assert_eq!(world.server.take(), None);
    world.server.done(job.tag, 2);
    world.server.done(job.tag, 3);
    world.server.done(1000, 3);
    world.settle();
    assert_eq!(
        (world.answer(0), world.answer(0), world.answer(0)),
        (Some((3, BAD_REQUEST)), Some((3, 2)), None)
    );
}

#[test]
fn clients_take_turns() {
    let mut world = World::new();
    for slot in 0..SLOTS {
        for client in [0, 1, 2] {
            world.submit(client, slot, Request::Read { first: 0, count: 1 });
        }
    }
    let mut order = Vec::new();
    for _ in 0..3 * SLOTS {
        world.start();
        let Some(Job { task: Task::Read(at), .. }) =
            world.device.carry_out(0, &mut world.server, &world.memories)
        else {
            panic!("a read")
        };
        order.push(at.client);
    }
    assert!(order.chunks(3).all(|turn| turn == [0, 1, 2]), "{order:?}");
    assert!(!world.server.is_busy());
}

#[test]
fn who_sleeps_is_notified_once() {
    let mut world = World::new();
    world.settle();
    assert!(!world.clients[1].wait(&world.memories[1]).expect("sound"));
    assert!(world.submit(1, 0, Request::Flush), "the server sleeps");
    assert!(!world.submit(1, 1, Request::Flush), "it was notified");
    assert_eq!(world.settle(), 1 << 1);
    assert!(world.submit(1, 2, Request::Flush));
    assert_eq!(world.settle(), 0, "the client was notified, and has not slept since");
}

#[test]
fn a_new_life_waits_for_what_the_device_does_for_the_old_one() {
    let mut world = World::new();
    world.submit(0, 0, Request::Write { first: 0, count: 1 });
    world.submit(0, 1, Request::Write { first: 1, count: 1 });
    world.start();
    assert_eq!((world.server.attach(0), world.server.attach(0)), (Attach::Later, Attach::Later));
    // Others go on.
    world.submit(1, 0, Request::Flush);
    world.start();
    assert_eq!(world.device.under_way.len(), 3);
    world.device.carry_out(0, &mut world.server, &world.memories);
    assert_eq!(world.server.attach(0), Attach::Later, "one of the old ones is not done");
    world.device.carry_out(0, &mut world.server, &world.memories);
    world.clients[0] = world.attach(0);
    world.submit(0, 0, Request::Read { first: 0, count: 1 });
    world.settle();
    assert_eq!(
        (world.answer(0), world.answer(0)),
        (Some((0, 0)), None),
        "the old life's answers go to nobody"
    );
    assert_eq!(world.answer(1), Some((0, 0)));
}

#[test]
fn a_client_without_a_range_does_not_attach() {
    let mut server = Server::new([(Memory::new(), None)], MOST).expect("room for slots");
    assert_eq!((server.attach(0), server.attach(1)), (Attach::Never, Attach::Never));
    assert_eq!(server.take(), None);
}

#[test]
fn who_breaks_a_ring_is_told_once() {
    let mut world = World::new();
    // Too many requests; then answers that are never taken.
    world.memories[2].write(REQUESTS + PRODUCED, SLOTS + 1);
    assert_eq!(world.server.take(), None);
    assert_eq!((world.server.rest().broken, world.server.rest().broken), (1 << 2, 0));
    world.clients[2] = world.attach(2);
    for slot in 0..SLOTS {
        world.submit(2, slot, Request::Flush);
    }
    world.settle();
    world.submit(2, 0, Request::Flush);
    assert_eq!(world.server.take(), None);
    assert_eq!(world.server.rest().broken, 1 << 2);
    world.clients[2] = world.attach(2);
    world.submit(2, 0, Request::Flush);
    world.settle();
    assert_eq!(world.answer(2), Some((0, 0)));
}

#[test]
fn ranges_are_of_the_disk_and_of_one_client() {
    let partition =
        |number| if number == 2 { Ok(Range { first: 50, sectors: 50 }) } else { Err(()) };
    let read = |text| Claim::read(text).expect("a claim");
    let claims = [
        "sectors=0+50",
        "partition=2",
        "partition=3",
        "sectors=99+1",
        "sectors=100+101",
        "sectors=100+100",
        "sectors=7+0",
    ];
    let found = ranges(claims.map(read), 200, partition);
    let expected = [
        Ok(Range { first: 0, sectors: 50 }),
        Ok(Range { first: 50, sectors: 50 }),
        Err(Refused::Partition(())),
        Err(Refused::Overlaps(1)),
        Err(Refused::Beyond),
        Ok(Range { first: 100, sectors: 100 }),
        Err(Refused::Beyond),
    ];
    assert_eq!(found, expected);
    assert_eq!(
        ranges([Claim::Whole, Claim::Whole], 7, partition),
        [Ok(Range { first: 0, sectors: 7 }), Err(Refused::Overlaps(0))]
    );
    assert_eq!(ranges([Claim::Whole], 0, partition), [Err(Refused::Beyond)]);
    let huge = Claim::Sectors(Range { first: u64::MAX, sectors: u64::MAX });
    assert_eq!(ranges([huge], u64::MAX, partition), [Err(Refused::Beyond)]);
    for text in [
        "",
        "partition",
        "partition=x",
        "sectors=1",
        "sectors=1+",
        "sectors=+1",
        "sectors=1+-1",
        "other=1",
    ] {
        assert_eq!(Claim::read(text), None, "{text}");
    }
}

/// What happens.
#[derive(Clone, Debug)]
enum Act {
    Submit {
        client: usize,
        slot: u32,
        kind: u8,
        first: u64,
        count: u32,
    },
    Answer {
        client: usize,
    },
    Start,
    CarryOut {
        which: usize,
    },
    Rest,
    /// A client dies and lives again.
    Attach {
        client: usize,
    },
    /// The server dies and lives again.
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    let client = || 0..RANGES.len();
    prop_oneof![
        8 => (client(), 0..SLOTS, 0..3_u8, 0..85_u64, 1..6_u32).prop_map(|(client, slot, kind, first, count)| Act::Submit { client, slot, kind, first, count }),
        6 => client().prop_map(|client| Act::Answer { client }),
        4 => Just(Act::Start),
        6 => any::<usize>().prop_map(|which| Act::CarryOut { which }),
        3 => Just(Act::Rest),
        1 => client().prop_map(|client| Act::Attach { client }),
        1 => Just(Act::Restart),
    ]
}

proptest! {
    /// Every request is answered once, or was its client's in a life that is over. What was written
    /// and answered is what is read, and no other client sees it; the server may die at any moment.
    #[test]
    fn requests_do_what_a_naive_disk_does(acts in prop::collection::vec(act(), 1..300)) {
        let mut world = World::new();
        // Of each client: by slot what is under way; by sector what may be there: the last that was
        // answered, and what was written since.
        let mut under_way: Vec<HashMap<u32, (Request, u32)>> = vec![HashMap::new(); RANGES.len()];
        let mut disks: Vec<Vec<Vec<u32>>> = RANGES.iter().map(|range| vec![vec![0]; range.sectors as usize]).collect();
        let mut reset = false;
        for (number, act) in (1..).zip(acts) {
            match act {
                Act::Submit { client, slot, kind, first, count } => {
                    // As above a disk, nobody writes what another request has under way.
                    let overlaps = under_way[client].values().any(|(other, _)| match other {
                        Request::Read { first: f, count: c } | Request::Write { first: f, count: c } => *f < first + u64::from(count) && first < f + u64::from(*c),
                        Request::Flush => false,
                    });
                    if under_way[client].contains_key(&slot) || kind != 2 && overlaps { continue; }
                    let request = match kind {
                        0 => Request::Read { first, count },
                        1 => Request::Write { first, count },
                        _ => Request::Flush,
                    };
                    if kind == 1 {
                        for sector in 0..count {
                            world.memories[client].write(DATA + slot * SLOT + sector * SECTOR, number * 8 + sector);
                            disks[client][(first + u64::from(sector)) as usize].push(number * 8 + sector);
                        }
                    }
                    under_way[client].insert(slot, (request, number));
                    world.submit(client, slot, request);
                }
                Act::Answer { client } => {
                    let Some((slot, status)) = world.answer(client) else { continue };
                    prop_assert_eq!(status, 0);
                    let (request, number) = under_way[client].remove(&slot).expect("an answer to a request that is under way");
                    match request {
                        Request::Read { first, count } => for sector in 0..count {
                            let found = world.memories[client].read(DATA + slot * SLOT + sector * SECTOR);
                            prop_assert!(disks[client][(first + u64::from(sector)) as usize].contains(&found), "{} of {:?}", found, request);
                        },
                        Request::Write { first, count } => for sector in 0..count {
                            disks[client][(first + u64::from(sector)) as usize] = vec![number * 8 + sector];
                        },
                        Request::Flush => {}
                    }
                }
                Act::Start => world.start(),
                Act::CarryOut { which } => { world.device.carry_out(which, &mut world.server, &world.memories); }
                Act::Rest => { prop_assert_eq!(world.server.rest().broken, 0); }
                Act::Attach { client } => {
                    world.clients[client] = world.attach(client);
                    under_way[client].clear();
                }
                Act::Restart => {
                    world.server = World::server(&world.memories);
                    // The device was reset: it does nothing any more. Each client has attached
                    // again, and repeats what was not answered.
                    world.device.under_way.clear();
                    for (client, requests) in under_way.iter().enumerate() {
                        world.clients[client] = world.attach(client);
                        for (slot, (request, _)) in requests {
                            world.submit(client, *slot, *request);
                        }
                    }
                    reset = true;
                }
            }
        }
        world.settle();
        for (client, requests) in under_way.iter_mut().enumerate() {
            while let Some((slot, status)) = world.answer(client) {
                prop_assert_eq!(status, 0);
                prop_assert!(requests.remove(&slot).is_some());
            }
            prop_assert!(requests.is_empty(), "without an answer: {:?}, after a restart: {}", requests, reset);
        }
        for (range, disk) in RANGES.iter().zip(&disks) {
            for (sector, may) in world.device.sectors[range.first as usize..].iter().zip(disk) {
                prop_assert!(may.contains(sector));
            }
        }
        prop_assert!(world.device.sectors[..10].iter().all(|sector| *sector == 0), "a range that no client has");
    }

    /// A client that writes anything anywhere at any time changes nothing outside of its range, and
    /// others go on.
    #[test]
    fn a_hostile_client_harms_itself(
        writes in prop::collection::vec((prop_oneof![0..128_u32, 256..512_u32], prop_oneof![0..5_u32, any::<u32>()], any::<bool>()), 1..300),
        requests in prop::collection::vec((0..5_u32, prop_oneof![Just(READ), Just(WRITE), Just(FLUSH), any::<u32>()], prop_oneof![0..130_u32, any::<u32>()], prop_oneof![0..101_u32, any::<u32>()], prop_oneof![4 => Just(0), 1 => any::<u32>()]), 1..300),
    ) {
        const HOSTILE: usize = 1;
        let mut world = World::new();
        let mut index = 0_u32;
        for (round, ((word, value, wild), (slot, operation, count, low, high))) in (1..).zip(writes.into_iter().zip(requests)) {
            let memory = world.memories[HOSTILE].clone();
            memory.write(DATA + slot % SLOTS * SLOT, 0xbad);
            // A request that looks like one, then whatever.
            let at = FIRST_REQUEST + index % SLOTS * REQUEST;
            [slot, operation, count, low, high].into_iter().enumerate().for_each(|(i, word)| memory.write(at + i as u32 * 4, word));
            index = index.wrapping_add(1);
            memory.write(REQUESTS + PRODUCED, index);
            if wild { memory.write(word * 4, value); } else { memory.write(ANSWERS + CONSUMED, index); }
            // The others write and read, without fault.
            for client in [0, 2] {
                let at = u64::from(round as u32 % 50);
                world.memories[client].write(DATA, round);
                world.submit(client, 0, Request::Write { first: at, count: 1 });
            }
            world.start();
            while world.device.carry_out(round as usize, &mut world.server, &world.memories).is_some() {}
            if world.server.rest().broken != 0 {
                world.attach(HOSTILE);
                index = 0;
            }
            for client in [0, 2] {
                prop_assert_eq!(world.answer(client), Some((0, 0)));
                let at = RANGES[client].first as usize + round as usize % 50;
                prop_assert_eq!(world.device.sectors[at], round);
            }
        }
        for client in [0, 2] {
            let range = RANGES[client];
            prop_assert!(!world.device.sectors[range.first as usize..][..range.sectors as usize].contains(&0xbad));
        }
        prop_assert!(world.device.sectors[..10].iter().all(|sector| *sector == 0));
    }
}
