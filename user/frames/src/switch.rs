// SPDX-License-Identifier: MIT OR Apache-2.0
//! The switch: takes frames out of the rings of its ports and puts them into those of others.

use crate::addresses::{Address, Addresses};
use crate::ring::{Broken, Consumer, Layout, Producer, Shared, bytes, copy};
use alloc::vec::Vec;
use image::protocol::net::{MOST_BYTES, SLOT_FRAME};

/// The port of the card's driver.
pub const CARD: usize = 0;
/// As many as a badge has bits.
const MOST_PORTS: usize = 20;
/// Frames that are taken from a port in its turn.
const BATCH: u32 = 32;
/// The longest that the card's driver may leave its ring full, in nanoseconds. After that what is for it is dropped until it goes on,
/// so that clients reach each other.
const PATIENCE: u64 = 1_000_000_000;

/// What became of a port's frames, since the switch began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Frames that the client gave.
    pub taken: u64,
    /// Their bytes.
    pub taken_bytes: u64,
    /// Frames that the client was given.
    pub given: u64,
    /// Their bytes.
    pub given_bytes: u64,
    /// Frames for the client that found its ring full, or nobody attached.
    pub lost: u64,
    /// Frames of the client whose length cannot be.
    pub malformed: u64,
    /// Frames of the client with a source address that is another port's, or of several.
    pub refused: u64,
    /// How often the client wrote an index that cannot be.
    pub broken: u64,
}

impl Counters {
    /// One of them by its number, as `STATISTICS` asks for it.
    #[must_use]
    pub const fn get(&self, number: u32) -> Option<u64> {
        Some(match number {
            0 => self.taken,
            1 => self.taken_bytes,
            2 => self.given,
            3 => self.given_bytes,
            4 => self.lost,
            5 => self.malformed,
            6 => self.refused,
            7 => self.broken,
            _ => return None,
        })
    }
}

/// A port whose client is attached.
struct Attached {
    input: Producer,
    /// Slots of `input` that were filled and are not published.
    filled: u32,
    output: Consumer,
}

struct Port<M> {
    memory: M,
    layout: Layout,
    attached: Option<Attached>,
    counters: Counters,
}

impl<M: Shared> Port<M> {
    /// What `act` says of the rings; if the client broke them they are not used any more.
    fn with<T>(&mut self, act: impl FnOnce(&mut Attached, &M) -> Result<T, Broken>) -> Option<T> {
        let result = act(self.attached.as_mut()?, &self.memory);
        if result.is_err() {
            self.attached = None;
            self.counters.broken += 1;
        }
        result.ok()
    }

    /// Whether a slot is free for a frame to the client; a client that is not attached has none.
    fn has_room(&mut self) -> bool {
        self.with(|rings, memory| rings.input.room(memory).map(|room| room > rings.filled)).unwrap_or(false)
    }
}

/// What is to be done after a round.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Ports whose clients are to be notified, a bit each.
    pub notify: u32,
    /// Ports whose clients have broken their rings, and have to attach again, a bit each.
    pub broken: u32,
    /// Whether there is more to do already.
    pub again: bool,
    /// Whether a frame waits for the card's driver, which may never go on: another round is due in a while.
    pub waits_for_card: bool,
}

/// The switch. Port [`CARD`] is that of the card's driver.
pub struct Switch<M> {
    ports: Vec<Port<M>>,
    addresses: Addresses,
    /// Where the next round begins.
    turn: usize,
    /// Since when the card's driver has left its ring full.
    full_since: Option<u64>,
}

impl<M: Shared> Switch<M> {
    /// With a port for each memory; `None` if one of them has no room for a slot, or there are more than 20: clients notify by
    /// the bit of their port, and a badge has 20.
    pub fn new(memories: impl IntoIterator<Item = M>) -> Option<Self> {
        let port = |memory: M| {
            let layout = Layout::of(memory.bytes())?;
            Some(Port { memory, layout, attached: None, counters: Counters::default() })
        };
        let ports: Vec<_> = memories.into_iter().map(port).collect::<Option<_>>()?;
        (ports.len() <= MOST_PORTS).then(|| Self { ports, addresses: Addresses::default(), turn: 0, full_since: None })
    }

    /// A client begins anew: both rings are empty. If it has an address nobody else can use that.
    pub fn attach(&mut self, port: usize, address: Option<Address>) {
        // Who is behind the card does not change with its driver: no client gets such an address by being faster.
        if port != CARD {
            self.addresses.forget(port);
        }
        address.into_iter().for_each(|address| self.addresses.give(address, port));
        let Some(port) = self.ports.get_mut(port) else { return };
        port.layout.clear(&port.memory);
        let input = Producer::new(port.layout.to_client());
        let output = Consumer::new(port.layout.from_client());
        port.attached = Some(Attached { input, filled: 0, output });
    }

    /// What became of a port's frames.
    #[must_use]
    pub fn counters(&self, port: usize) -> Option<Counters> {
        self.ports.get(port).map(|port| port.counters)
    }

    /// Gives each port a turn, at time `now` in nanoseconds.
    pub fn round(&mut self, now: u64) -> Outcome {
        let count = self.ports.len();
        let attached = self.attached();
        let mut outcome = Outcome::default();
        let mut held = 0;
        for offset in 0..count {
            let from = (self.turn + offset) % count;
            held |= u32::from(self.take(from, now, &mut outcome.notify)) << from;
        }
        self.turn = (self.turn + 1) % count.max(1);
        for (index, port) in self.ports.iter_mut().enumerate() {
            let more = port.with(|rings, memory| rings.output.wait(memory)).unwrap_or(false);
            outcome.again |= more && held >> index & 1 == 0;
        }
        outcome.waits_for_card = held != 0;
        outcome.broken = attached & !self.attached();
        outcome
    }

    /// Ports whose clients are attached, a bit each.
    fn attached(&self) -> u32 {
        (0..).zip(&self.ports).map(|(index, port)| u32::from(port.attached.is_some()) << index).sum()
    }

    /// Takes frames of a port until there is none, or its turn is over. Whether one has to wait for the card's driver.
    fn take(&mut self, from: usize, now: u64, notify: &mut u32) -> bool {
        let Some(available) = self.ports[from].with(|rings, memory| rings.output.available(memory)) else { return false };
        let batch = available.min(BATCH);
        let taken = (0..batch).find(|number| !self.pass(from, *number, now, notify)).unwrap_or(batch);
        for (index, port) in self.ports.iter_mut().enumerate() {
            let due = port.with(|rings, memory| {
                let published = publish(rings, memory);
                let released = index == from && taken > 0 && rings.output.release(memory, taken);
                Ok(published || released)
            });
            *notify |= u32::from(due.unwrap_or(false)) << index;
        }
        taken < batch
    }

    /// Passes on the frame in filled slot `number` of a port. False if it has to wait, for the card's driver.
    fn pass(&mut self, from: usize, number: u32, now: u64, notify: &mut u32) -> bool {
        let port = &mut self.ports[from];
        let Some(slot) = port.attached.as_ref().map(|rings| rings.output.slot(number)) else { return true };
        let Some(bytes) = bytes(&port.memory, slot) else {
            port.counters.malformed += 1;
            return true;
        };
        // The client may change the frame at any time. What is decided about is what is passed on.
        let head = [0, 4, 8].map(|offset| port.memory.read(slot + SLOT_FRAME + offset));
        let [destination, source] = split(head);
        if !self.addresses.comes_from(source, from) {
            port.counters.refused += 1;
            return true;
        }
        let to = match self.addresses.port(destination) {
            Some(to) => to..to + 1,
            None if destination.is_group() => 0..self.ports.len(),
            // Clients are known by what they were given, or have sent: who is not is behind the card.
            None => CARD..CARD + 1,
        };
        if from != CARD && to.contains(&CARD) && !self.card_takes(now, notify) {
            return false;
        }
        let port = &mut self.ports[from];
        port.counters.taken += 1;
        port.counters.taken_bytes += u64::from(bytes);
        for to in to.filter(|to| *to != from) {
            self.give((from, slot), to, head, bytes);
        }
        true
    }

    /// Whether the card's driver has room, or is not waited for.
    fn card_takes(&mut self, now: u64, notify: &mut u32) -> bool {
        let card = &mut self.ports[CARD];
        if card.attached.is_none() || card.has_room() {
            self.full_since = None;
            return true;
        }
        // What was filled in this turn is for the driver to see, or it would never go on.
        let asked = card.with(|rings, memory| {
            let due = publish(rings, memory);
            rings.input.wait(memory).map(|room| (due, room))
        });
        let Some((due, room)) = asked else { return true };
        *notify |= u32::from(due) << CARD;
        let since = *self.full_since.get_or_insert(now);
        room || now.saturating_sub(since) >= PATIENCE
    }

    /// Copies a frame to a client that has room for it.
    fn give(&mut self, (from, slot): (usize, u32), to: usize, head: [u32; 3], bytes: u32) {
        let has_room = self.ports[to].has_room();
        let Ok([source, port]) = self.ports.get_disjoint_mut([from, to]) else { return };
        let Some(rings) = port.attached.as_mut().filter(|_| has_room) else {
            port.counters.lost += 1;
            return;
        };
        copy((&source.memory, slot), (&port.memory, rings.input.slot(rings.filled)), head, bytes.min(MOST_BYTES));
        rings.filled += 1;
        port.counters.given += 1;
        port.counters.given_bytes += u64::from(bytes);
    }
}

/// Lets a client see what was filled for it. Whether it is to be notified.
fn publish(rings: &mut Attached, memory: &impl Shared) -> bool {
    let filled = core::mem::take(&mut rings.filled);
    filled > 0 && rings.input.publish(memory, filled)
}

/// Destination and source of a frame that begins with these words.
fn split(head: [u32; 3]) -> [Address; 2] {
    let [a, b, c] = head.map(u32::to_le_bytes);
    [Address([a[0], a[1], a[2], a[3], b[0], b[1]]), Address([b[2], b[3], c[0], c[1], c[2], c[3]])]
}
