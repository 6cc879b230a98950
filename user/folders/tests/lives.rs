// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server against a naive device: with clients that keep to the protocol, while it dies at any
//! moment, and with clients that write anything anywhere.

use folders::field::{message, text};
use folders::{Attach, Client, LENGTH, Layout, Own, Places, Request, Server, check};
use frames::Shared;
use image::protocol::folder::{DATA, HEAD, MESSAGE, MOST_FOLDERS, SLOT};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, set_hook, take_hook};
use std::rc::Rc;

const SLOTS: u32 = 4;
const BYTES: u32 = DATA + SLOTS * SLOT;
const PLACES: Places = Places { own: 0x1_0000_0000, shared: 0x20_0000 };
/// Folders 0 and 2.
const THERE: u32 = 0b101;

/// That the server died.
struct Died;

/// Memory of two sides. The server dies before the write after so many others.
#[derive(Clone)]
struct Memory {
    words: Rc<RefCell<Vec<u32>>>,
    left: Rc<Cell<Option<u32>>>,
}

impl Memory {
    fn new(bytes: u32, left: &Rc<Cell<Option<u32>>>) -> Self {
        Self { words: Rc::new(RefCell::new(vec![0; bytes as usize / 4])), left: left.clone() }
    }

    fn byte(&self, at: u32) -> u8 {
        self.words.borrow()[at as usize / 4].to_le_bytes()[at as usize % 4]
    }

    fn bytes_at(&self, at: u32, bytes: u32) -> Vec<u8> {
        (at..at + bytes).map(|at| self.byte(at)).collect()
    }

    fn put(&self, at: u32, bytes: &[u8]) {
        for (at, byte) in (at..).zip(bytes) {
            let word = &mut self.words.borrow_mut()[at as usize / 4];
            let mut all = word.to_le_bytes();
            all[at as usize % 4] = *byte;
            *word = u32::from_le_bytes(all);
        }
    }
}

impl Shared for Memory {
    fn bytes(&self) -> u32 {
        self.words.borrow().len() as u32 * 4
    }
    fn read(&self, offset: u32) -> u32 {
        assert!(offset.is_multiple_of(4));
        self.words.borrow()[offset as usize / 4]
    }
    fn write(&self, offset: u32, value: u32) {
        assert!(offset.is_multiple_of(4));
        match self.left.get() {
            Some(0) => panic_any(Died),
            left => self.left.set(left.map(|left| left - 1)),
        }
        self.words.borrow_mut()[offset as usize / 4] = value;
    }
    fn copy(&self, _: u32, _: &Self, _: u32, _: u32) {
        unreachable!("the server copies word by word");
    }
    fn fence(&self) {}
}

/// A folder's device, which carries out what is in its queue, and answers with a header.
struct Device {
    queue: [u32; 3],
    seen: u16,
    used: u16,
    /// What was carried out: the four bytes after the header.
    done: Vec<u32>,
}

impl Device {
    fn half(own: &Memory, at: u32) -> u16 {
        u16::from_le_bytes([own.byte(at), own.byte(at + 1)])
    }

    /// Takes the next message, if there is one, and looks at what the server promises.
    fn carry_out(&mut self, own: &Memory, shared: &Memory) -> bool {
        let [descriptors, available, used] = self.queue;
        if Self::half(own, available + 2) == self.seen {
            return false;
        }
        let first = Self::half(own, available + 4 + u32::from(self.seen % LENGTH) * 2);
        self.seen = self.seen.wrapping_add(1);
        let (mut number, mut given) = (u32::from(first), Vec::new());
        loop {
            let words: [u32; 4] = own.read_words(descriptors + number * 16);
            let (address, bytes) = (u64::from(words[1]) << 32 | u64::from(words[0]), words[2]);
            let inside = |start: u64, memory: &Memory| {
                let end = start + u64::from(memory.bytes());
                (address >= start && address + u64::from(bytes) <= end)
                    .then(|| (address - start) as u32)
            };
            if words[3] & 2 != 0 {
                let at = inside(PLACES.shared, shared).expect("a reply goes to the client");
                assert!(at >= DATA && bytes == MESSAGE && words[3] & 1 == 0);
                let head = &given[..7];
                shared.put(at, &[&[7, 0, 0, 0, head[4] + 1][..], &head[5..7]].concat());
                break;
            }
            if given.is_empty() {
                let at = inside(PLACES.own, own).expect("a head is the server's");
                assert!(bytes <= HEAD);
                given = own.bytes_at(at, bytes);
            } else {
                let at = inside(PLACES.shared, shared).expect("data is the client's");
                given.extend(shared.bytes_at(at, bytes));
            }
            assert!(words[3] & 1 != 0);
            number = words[3] >> 16;
        }
        let size = u32::from_le_bytes([given[0], given[1], given[2], given[3]]);
        assert_eq!(size as usize, given.len());
        let mut head = given.clone();
        if head[4] == 118 {
            head.truncate(23);
        }
        assert!(check(&mut head, size).is_ok(), "{given:?}");
        assert!(given.starts_with(&head), "it is as it was checked");
        self.done.push(u32::from_le_bytes([given[7], given[8], given[9], given[10]]));
        let entry = used + 4 + u32::from(self.used % LENGTH) * 8;
        own.put(entry, &[u32::from(first).to_le_bytes(), 7_u32.to_le_bytes()].concat());
        self.used = self.used.wrapping_add(1);
        own.put(used + 2, &self.used.to_le_bytes());
        true
    }
}

struct World {
    own: Memory,
    shared: Memory,
    left: Rc<Cell<Option<u32>>>,
    devices: BTreeMap<u32, Device>,
    server: Option<Server<Memory>>,
}

impl World {
    fn new() -> Self {
        let left = Rc::new(Cell::new(None));
        let (own, shared) = (Memory::new(Own::BYTES, &left), Memory::new(BYTES, &left));
        let server = Server::begin(shared.clone(), own.clone(), PLACES, THERE).expect("memory");
        let devices = (0..MOST_FOLDERS).filter(|folder| THERE >> folder & 1 != 0).map(|folder| {
            let queue = server.queue(folder).map(|at| (at - PLACES.own) as u32);
            (folder, Device { queue, seen: 0, used: 0, done: Vec::new() })
        });
        let devices = devices.collect();
        Self { own, shared, left, devices, server: Some(server) }
    }

    /// What the server does, who may die of it. Whether it lives.
    fn lives<T>(&mut self, act: impl FnOnce(&mut Server<Memory>) -> T) -> Option<T> {
        let server = self.server.as_mut()?;
        let result = catch_unwind(AssertUnwindSafe(|| act(server)));
        match result {
            Ok(result) => Some(result),
            Err(reason) => {
                assert!(reason.is::<Died>(), "the server panicked");
                self.server = None;
                None
            }
        }
    }

    fn carry_out(&mut self) {
        let left = self.left.take();
        for device in self.devices.values_mut() {
            while device.carry_out(&self.own, &self.shared) {}
        }
        self.left.set(left);
    }
}

/// A client that keeps to the protocol: what is under way in each slot.
struct Careful {
    client: Client,
    layout: Layout,
    under_way: Vec<Option<(Request, Vec<u8>)>>,
    serial: u32,
    answered: Vec<u16>,
}

impl Careful {
    fn submit(&mut self, world: &World, slot: u32) {
        let Some((request, message)) = &self.under_way[slot as usize] else { return };
        world.shared.put(self.layout.message(slot), message);
        self.client.submit(&world.shared, slot, *request).expect("whole rings");
    }

    fn take(&mut self, world: &World) {
        while let Some((slot, bytes)) = self.client.answer(&world.shared).expect("whole rings") {
            let (_, message) = self.under_way[slot as usize].take().expect("one answer each");
            let reply = world.shared.bytes_at(self.layout.reply(slot), bytes);
            assert_eq!(reply[5..7], message[5..7], "the tag of what was asked");
            assert_eq!(reply[4], message[4] + 1, "no error");
            self.answered.push(u16::from_le_bytes([reply[5], reply[6]]));
        }
    }
}

/// Runs a client with so many requests on a server that dies after so many writes, again and again.
/// How often it died.
fn run(every: Option<u32>, requests: u16) -> u32 {
    let mut world = World::new();
    let layout = Layout::of(BYTES).expect("room");
    assert_eq!(world.lives(|server| server.attach(false)), Some(Attach::Now));
    let mut careful = Careful {
        client: Client::new(layout),
        layout,
        under_way: vec![None; SLOTS as usize],
        serial: 0,
        answered: Vec::new(),
    };
    let (mut next, mut deaths, mut step, mut lost) = (0, 0, 0_u32, false);
    world.left.set(every);
    while careful.answered.len() < usize::from(requests) {
        step += 1;
        assert!(step < 1_000_000, "nothing goes on");
        if world.server.is_none() {
            deaths += 1;
            // A life is longer than the one before: some last until all is done.
            world.left.set(every.map(|every| every + deaths / 4));
            let (shared, own) = (world.shared.clone(), world.own.clone());
            let life =
                catch_unwind(AssertUnwindSafe(|| Server::resume(shared, own, PLACES, THERE)));
            world.server = match life {
                Ok(server) => Some(server.expect("what was left is sound")),
                Err(reason) => {
                    assert!(reason.is::<Died>(), "the server panicked");
                    None
                }
            };
            lost = true;
            continue;
        }
        if lost {
            if world.lives(|server| server.attach(true)).is_none() {
                continue;
            }
            lost = false;
            // Nobody but the server dies.
            let left = world.left.take();
            careful.client = Client::new(layout);
            (0..SLOTS).for_each(|slot| careful.submit(&world, slot));
            world.left.set(left);
        }
        let left = world.left.take();
        careful.take(&world);
        for slot in 0..SLOTS {
            // A session is begun in both folders before all else.
            let begins = next < 2;
            let is_alone = careful.under_way.iter().all(Option::is_none);
            let may =
                next < requests && (if begins { is_alone } else { careful.answered.len() > 1 });
            if careful.under_way[slot as usize].is_none() && may {
                let folder = if next % 2 == 0 { 0 } else { 2 };
                let message = if begins {
                    message(100, next, &[&8192_u32.to_le_bytes(), &text(b"9P2000.L")])
                } else if next % 7 == 0 {
                    let fields = [u32::from(next), 0, 0, 5].map(u32::to_le_bytes).concat();
                    message(118, next, &[&fields, b"bytes"])
                } else {
                    message(120, next, &[&u32::from(next).to_le_bytes()])
                };
                careful.serial += 1;
                let bytes = message.len() as u32;
                let request = Request { folder, serial: careful.serial, bytes };
                careful.under_way[slot as usize] = Some((request, message));
                careful.submit(&world, slot);
                next += 1;
            }
        }
        world.left.set(left);
        // The device is faster than the server, or slower.
        let is_slow = step % 3 == 0;
        let _ = world.lives(|server| while server.take().is_some() {});
        if !is_slow {
            world.carry_out();
        }
        let finished = world
            .lives(|server| (0..MOST_FOLDERS).try_for_each(|folder| server.finish(folder)).is_ok());
        assert_ne!(finished, Some(false), "the device is sound");
        let outcome = world.lives(Server::rest);
        assert!(outcome.is_none_or(|outcome| !outcome.broken));
    }
    let answered: BTreeSet<u16> = careful.answered.iter().copied().collect();
    assert_eq!((answered.len(), careful.answered.len()), (requests.into(), requests.into()));
    let done: Vec<u32> = world.devices.values().flat_map(|device| device.done.clone()).collect();
    for number in 2..u32::from(requests) {
        let times = done.iter().filter(|done| **done == number).count();
        assert_eq!(times, 1, "{number} was carried out {times} times, deaths after {every:?}");
    }
    deaths
}

#[test]
fn all_is_answered() {
    assert_eq!(run(None, 500), 0);
}

/// Wherever it dies, all is carried out once, and answered.
#[test]
fn nothing_is_carried_out_twice() {
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let deaths = catch_unwind(|| (1..260).map(|every| run(Some(every), 60)).sum::<u32>());
    set_hook(hook);
    let deaths = deaths.unwrap_or_else(|reason| {
        let text = reason.downcast_ref::<String>().cloned();
        panic!("{}", text.unwrap_or_else(|| "something is wrong".into()))
    });
    assert!(deaths > 500, "it died only {deaths} times");
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % below
    }
}

/// Whatever a client writes, the device gets nothing but whole messages, in the client's memory and
/// the server's own; and a client that begins again is served.
#[test]
fn a_client_that_writes_anything_anywhere() {
    let mut random = Random(5);
    let mut broken = 0;
    for _ in 0..300 {
        let mut world = World::new();
        assert_eq!(world.lives(|server| server.attach(false)), Some(Attach::Now));
        let layout = Layout::of(BYTES).expect("room");
        for round in 0..40 {
            for _ in 0..random.next(30) {
                let near = [0, 256, 512, 1024, DATA, DATA + 4][random.next(6) as usize];
                let at = near + random.next(16) * 4;
                let value = [random.next(20), random.next(u32::MAX)][random.next(2) as usize];
                world.shared.write(at, value);
            }
            if random.next(2) == 0 {
                let slot = random.next(SLOTS);
                let serial = random.next(3);
                let kinds = [100, 110, 118, 120];
                let fields: Vec<u8> = match random.next(3) {
                    0 => [&8192_u32.to_le_bytes()[..], &text(b"9P2000.L")].concat(),
                    1 => random.next(u32::MAX).to_le_bytes().to_vec(),
                    _ => [1, 0, 0, random.next(9)].map(u32::to_le_bytes).concat(),
                };
                let message = message(kinds[random.next(4) as usize], 1, &[&fields]);
                world.shared.put(layout.message(slot), &message);
                let at = 1024 + random.next(SLOTS) * 16;
                let bytes = message.len() as u32;
                for (offset, word) in [(0, slot), (4, random.next(5)), (8, serial), (12, bytes)] {
                    world.shared.write(at + offset, word);
                }
                let produced = world.shared.read(256).wrapping_add(1 + random.next(2));
                world.shared.write(256, produced);
            }
            world.lives(|server| while server.take().is_some() {}).expect("it lives");
            if round % 3 > 0 {
                world.carry_out();
            }
            let sound = world.lives(|server| {
                (0..MOST_FOLDERS).try_for_each(|folder| server.finish(folder)).is_ok()
            });
            assert_eq!(sound, Some(true));
            if world.lives(Server::rest).expect("it lives").broken {
                broken += 1;
                world.lives(|server| server.attach(true)).expect("it lives");
            }
        }
        while world.lives(|server| server.attach(false)) == Some(Attach::Later) {
            world.carry_out();
            let _ = world.lives(|server| (0..MOST_FOLDERS).try_for_each(|it| server.finish(it)));
        }
        assert_eq!(world.lives(|server| server.attach(false)), Some(Attach::Now));
    }
    assert!(broken > 100, "rings were broken {broken} times");
}

/// Asks for one thing, and nothing else; the answer.
fn ask(world: &mut World, client: &mut Client, serial: u32, folder: u32, asked: &[u8]) -> Vec<u8> {
    let layout = Layout::of(BYTES).expect("room");
    world.shared.put(layout.message(0), asked);
    let request = Request { folder, serial, bytes: asked.len() as u32 };
    client.submit(&world.shared, 0, request).expect("whole rings");
    loop {
        world.lives(|server| while server.take().is_some() {}).expect("it lives");
        world.carry_out();
        world.lives(|server| server.finish(folder).expect("a sound device"));
        world.lives(Server::rest);
        if let Some((0, bytes)) = client.answer(&world.shared).expect("whole rings") {
            return world.shared.bytes_at(layout.reply(0), bytes);
        }
    }
}

/// What is answered with this error.
fn error(number: u32) -> Vec<u8> {
    [&[11, 0, 0, 0, 7, 1, 0][..], &number.to_le_bytes()].concat()
}

#[test]
fn a_session_is_begun_first_and_is_over_with_its_device() {
    let mut world = World::new();
    assert_eq!(world.lives(|server| server.attach(false)), Some(Attach::Now));
    let mut client = Client::new(Layout::of(BYTES).expect("room"));
    let clunk = message(120, 1, &[&[9, 0, 0, 0]]);
    let version = message(100, 1, &[&8192_u32.to_le_bytes(), &text(b"9P2000.L")]);
    let mut serial = 0;
    let mut ask = |world: &mut World, folder, message: &[u8]| {
        serial += 1;
        ask(world, &mut client, serial, folder, message)
    };
    assert_eq!(ask(&mut world, 0, &clunk), error(116));
    assert_eq!(ask(&mut world, 1, &version), error(19));
    assert_eq!(ask(&mut world, 7, &version), error(19));
    assert_eq!(ask(&mut world, 0, &version), [7, 0, 0, 0, 101, 1, 0]);
    assert_eq!(ask(&mut world, 0, &clunk), [7, 0, 0, 0, 121, 1, 0]);
    assert_eq!(ask(&mut world, 2, &clunk), error(116));
    // The device is reset: it begins again with an empty queue.
    world.lives(|server| server.lose(0));
    let device = world.devices.get_mut(&0).expect("a device");
    (device.seen, device.used) = (0, 0);
    assert_eq!(ask(&mut world, 0, &clunk), error(116));
    assert_eq!(ask(&mut world, 0, &version), [7, 0, 0, 0, 101, 1, 0]);
    assert_eq!(ask(&mut world, 0, &clunk), [7, 0, 0, 0, 121, 1, 0]);
}

#[test]
fn what_the_device_forgets_fails() {
    let mut world = World::new();
    assert_eq!(world.lives(|server| server.attach(false)), Some(Attach::Now));
    let layout = Layout::of(BYTES).expect("room");
    let mut client = Client::new(layout);
    let version = message(100, 1, &[&8192_u32.to_le_bytes(), &text(b"9P2000.L")]);
    ask(&mut world, &mut client, 1, 0, &version);
    let clunk = message(120, 1, &[&[9, 0, 0, 0]]);
    world.shared.put(layout.message(0), &clunk);
    let request = Request { folder: 0, serial: 2, bytes: clunk.len() as u32 };
    client.submit(&world.shared, 0, request).expect("whole rings");
    world.lives(|server| while server.take().is_some() {});
    world.lives(|server| server.lose(0));
    world.lives(Server::rest);
    assert_eq!(client.answer(&world.shared), Ok(Some((0, 11))));
    assert_eq!(world.shared.bytes_at(layout.reply(0), 11), error(5));
}
