// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server's side: takes clients' requests in turn, and answers them in the order in which the
//! device is done with them.

use crate::layout::{Layout, Request, write_answer};
use crate::range::Range;
use alloc::vec::Vec;
use frames::{Broken, Consumer, Producer, Shared};
use image::protocol::disk::BAD_REQUEST;

/// As many as a word of notifications has bits.
const MOST_CLIENTS: usize = 20;

/// What the device is to do. Sectors are the disk's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// From the disk to a client's memory.
    Read(Transfer),
    /// From a client's memory to the disk.
    Write(Transfer),
    /// What was written before is on the disk when this is done.
    Flush,
}

/// Where from and where to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The first sector of the disk.
    pub first: u64,
    /// How many, at least one.
    pub count: u32,
    /// Whose memory.
    pub client: usize,
    /// Where in it, a multiple of a page.
    pub offset: u32,
}

/// A task and the number by which it is known until it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// Its number.
    pub tag: u32,
    /// What to do.
    pub task: Task,
}

/// The rings of a client that has attached.
struct Attached {
    requests: Consumer,
    answers: Producer,
    /// Answers that are written and not published.
    filled: u32,
    /// Slots that the device has, a bit each.
    busy: u64,
}

struct Peer<M> {
    memory: M,
    layout: Layout,
    range: Option<Range>,
    attached: Option<Attached>,
}

/// The client for which the device does a task.
#[derive(Clone, Copy)]
struct UnderWay {
    client: usize,
    slot: u32,
    /// Of a client's life that is over: nobody is to be answered.
    is_stale: bool,
}

/// Whether a client begins again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// It has, and its range has so many sectors.
    Now(u64),
    /// Not before the device is done with what it does for the client's life that is over: it still
    /// reads and writes the slots.
    Later,
    /// It has no range.
    Never,
}

/// The server, with its clients and what the device has.
pub struct Server<M> {
    clients: Vec<Peer<M>>,
    /// By tag.
    under_way: Vec<Option<UnderWay>>,
    /// Whose request is next.
    turn: usize,
    /// Clients that broke their rings and were not told, a bit each.
    broken: u32,
}

/// What is to be done before the server sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Clients to notify of answers, a bit each.
    pub notify: u32,
    /// Clients that have broken their rings, and have to attach again, a bit each.
    pub broken: u32,
    /// Whether there is another request already.
    pub again: bool,
}

impl<M: Shared> Server<M> {
    /// Clients with the memory that each shares with the server, and the range of each, if it has
    /// one; a device that does up to `most` tasks at once. `None` if there are too many clients, or
    /// one has memory for no slot.
    pub fn new(clients: impl IntoIterator<Item = (M, Option<Range>)>, most: u32) -> Option<Self> {
        let peer = |(memory, range): (M, _)| {
            let layout = Layout::of(memory.bytes())?;
            Some(Peer { memory, layout, range, attached: None })
        };
        let clients: Vec<_> = clients.into_iter().map(peer).collect::<Option<_>>()?;
        let under_way = (0..most).map(|_| None).collect();
        (clients.len() <= MOST_CLIENTS).then_some(Self { clients, under_way, turn: 0, broken: 0 })
    }

    /// A client wants to begin again.
    pub fn attach(&mut self, client: usize) -> Attach {
        let Some((peer, range)) =
            self.clients.get_mut(client).and_then(|peer| peer.range.map(|range| (peer, range)))
        else {
            return Attach::Never;
        };
        self.broken &= !(1 << client);
        peer.attached = None;
        if forget(&mut self.under_way, client) {
            return Attach::Later;
        }
        peer.layout.clear(&peer.memory);
        let (requests, answers) =
            (Consumer::new(peer.layout.requests()), Producer::new(peer.layout.answers()));
        peer.attached = Some(Attached { requests, answers, filled: 0, busy: 0 });
        Attach::Now(range.sectors)
    }

    /// What the device is to do next; `None` if it has all that it can do at once, or there is no
    /// request.
    pub fn take(&mut self) -> Option<Job> {
        let tag = self.under_way.iter().position(Option::is_none)?;
        let (turn, count) = (self.turn, self.clients.len());
        for client in (0..count).map(|ahead| (turn + ahead) % count) {
            match self.clients[client].take(client) {
                Ok(None) => {}
                Ok(Some((slot, task))) => {
                    self.under_way[tag] = Some(UnderWay { client, slot, is_stale: false });
                    self.turn = (client + 1) % count;
                    return Some(Job { tag: tag as u32, task });
                }
                Err(Broken) => self.breaks(client),
            }
        }
        None
    }

    /// The device is done with a task: 0 or an error. A tag that has no task is ignored.
    pub fn done(&mut self, tag: u32, status: u32) {
        let Some(task) = self.under_way.get_mut(tag as usize).and_then(Option::take) else {
            return;
        };
        let peer = &mut self.clients[task.client];
        if let Some(attached) = peer.attached.as_mut().filter(|_| !task.is_stale) {
            attached.busy &= !(1 << task.slot);
            attached.answer(&peer.memory, task.slot, status);
        }
    }

    /// Whether the device has a task.
    pub fn is_busy(&self) -> bool {
        self.under_way.iter().any(Option::is_some)
    }

    /// Publishes answers, and asks clients to notify of requests.
    pub fn rest(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let has_room = self.under_way.iter().any(Option::is_none);
        for client in 0..self.clients.len() {
            let peer = &mut self.clients[client];
            let Some(attached) = &mut peer.attached else { continue };
            let filled = core::mem::take(&mut attached.filled);
            if filled > 0 && attached.answers.publish(&peer.memory, filled) {
                outcome.notify |= 1 << client;
            }
            match attached.requests.wait(&peer.memory) {
                // Otherwise what ends the wait is that the device is done with something.
                Ok(more) => outcome.again |= more && has_room,
                Err(Broken) => self.breaks(client),
            }
        }
        outcome.broken = core::mem::take(&mut self.broken);
        outcome
    }

    /// The rings are not used any more; what the device has for them is of a life that is over.
    fn breaks(&mut self, client: usize) {
        self.clients[client].attached = None;
        forget(&mut self.under_way, client);
        self.broken |= 1 << client;
    }
}

/// Nobody is answered for what the device does for this client. Whether it does something.
fn forget(under_way: &mut [Option<UnderWay>], client: usize) -> bool {
    under_way
        .iter_mut()
        .flatten()
        .filter(|task| task.client == client)
        .map(|task| task.is_stale = true)
        .count()
        > 0
}

impl<M: Shared> Peer<M> {
    /// The client's next request that is none to refuse.
    fn take(&mut self, client: usize) -> Result<Option<(u32, Task)>, Broken> {
        let Some(attached) = &mut self.attached else { return Ok(None) };
        // Not more than there are slots: what else comes meanwhile is looked at in the next turn.
        for _ in 0..attached.requests.available(&self.memory)? {
            // A client that submits each slot once, and takes each answer before it submits the
            // slot again, has this room.
            let needed = attached.filled + attached.busy.count_ones();
            if attached.answers.room(&self.memory)? <= needed {
                return Err(Broken);
            }
            let (slot, request) = Request::read(&self.memory, attached.requests.slot(0));
            // The client does not wait for room: it has none under way for this slot.
            let _ = attached.requests.release(&self.memory, 1);
            let is_free = slot < self.layout.slots() && attached.busy >> slot & 1 == 0;
            let offset = if is_free { self.layout.data(slot) } else { 0 };
            let transfer = |first, count| {
                let first = self.range?.part(first, count)?;
                (count <= Layout::MOST).then_some(Transfer { first, count, client, offset })
            };
            let task = match request {
                Some(Request::Read { first, count }) => transfer(first, count).map(Task::Read),
                Some(Request::Write { first, count }) => transfer(first, count).map(Task::Write),
                Some(Request::Flush) => Some(Task::Flush),
                None => None,
            };
            if let Some(task) = task.filter(|_| is_free) {
                attached.busy |= 1 << slot;
                return Ok(Some((slot, task)));
            }
            attached.answer(&self.memory, slot, BAD_REQUEST);
        }
        Ok(None)
    }
}

impl Attached {
    /// Writes an answer, for which there is room.
    fn answer(&mut self, memory: &impl Shared, slot: u32, status: u32) {
        write_answer(memory, self.answers.slot(self.filled), (slot, status));
        self.filled += 1;
    }
}
