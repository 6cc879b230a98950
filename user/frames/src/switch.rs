// SPDX-License-Identifier: MIT OR Apache-2.0
//! The switch: takes frames out of the rings of its ports and puts them into those of others.

use crate::addresses::{Address, Addresses, CARD, Way};
use crate::lane::{Receiver, Sender};
use crate::port::{Frame, Layout};
use crate::ring::{Broken, Shared};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use image::protocol::net::{MOST_BYTES, NEIGHBOUR, NEIGHBOURS};

/// As many as a badge has bits.
const MOST_PORTS: usize = 20;
/// Frames that are taken from a port in its turn.
const BATCH: u32 = 32;
/// The longest that a frame waits for the card's driver to make room, in nanoseconds. After that
/// what finds no room is dropped until the driver goes on, so that clients reach each other.
const PATIENCE: u64 = 1_000_000_000;
/// The same for a client to which another one sends: two slices of time, so that it has had its
/// own. It costs the sender this much, and nobody else.
const CLIENTS_PATIENCE: u64 = 20_000_000;
/// After so long a client that had no room is looked at again, in nanoseconds.
const PAUSE: u64 = 10_000_000;
/// Bytes of the card that a client has and has not read, about: it is given more when it has given
/// slots back. More of them, three times, would drive code out of a cache of 256 KiB: in the card's
/// slots, in the client's, and where the client's program wants them.
const AHEAD: u32 = 13 * MOST_BYTES;
/// What comes then waits so long for the client to read, in nanoseconds. Who has other things to do
/// is given it all the same.
const READERS_TIME: u64 = 1_000_000;
/// No more than this part of the card's slots waits for one client, and half of them for all.
const KEEPS: u32 = 4;
/// After a wait without success there is another one when the client has given back this part of
/// its slots: one slot does not make it worth a wait.
const GOES_ON: u32 = 4;

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
    /// Frames of the client with a source address that it may not use, or of several.
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
    input: Sender,
    output: Receiver,
    /// Its address, if it has one and takes large frames.
    large: Option<Address>,
}

struct Port<M> {
    memory: M,
    layout: Layout,
    attached: Option<Attached>,
    counters: Counters,
    /// Since when its first frame waits for room in another one's slots.
    waits_since: Option<u64>,
    /// The wait for it was without success, when it had given back so many slots ([`Sender::got`]).
    stuck: Option<u32>,
    ahead: Ahead,
}

/// What a client has of the card's frames and has not read, as far as the switch can know.
#[derive(Default)]
struct Ahead {
    /// Bytes that it was given, less those of each slot that it has given back since.
    bytes: u32,
    /// How many slots it had given back by then ([`Sender::got`]).
    got: u32,
    /// Since when it is given no more.
    since: Option<u64>,
    /// Slots of the card with frames for it that wait, in their order.
    kept: VecDeque<u32>,
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

    /// Takes the slots that the client has given back.
    fn refill(&mut self) {
        if let Some(got) =
            self.with(|rings, memory| rings.input.room(memory).map(|_| rings.input.got()))
        {
            self.note(got);
        }
    }

    /// Whether so many slots are free for a frame to the client; a client that is not attached has
    /// none.
    fn has_room(&mut self, slots: u32) -> bool {
        let free = |port: &Self| port.attached.as_ref().map_or(0, |rings| rings.input.free());
        if free(self) < slots {
            self.refill();
        }
        free(self) >= slots
    }

    /// The client has given back so many slots ([`Sender::got`]): if there are more than before it
    /// has read something.
    fn note(&mut self, got: u32) {
        let read = got.wrapping_sub(self.ahead.got);
        if read > 0 {
            let bytes = self.ahead.bytes.saturating_sub(read * MOST_BYTES);
            (self.ahead.got, self.ahead.bytes, self.ahead.since) = (got, bytes, None);
        }
    }

    /// Whether the client takes large frames.
    fn is_large(&self) -> bool {
        self.attached.as_ref().is_some_and(|rings| rings.large.is_some())
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
    /// When another round is due at the latest, in nanoseconds, if a frame waits: who is to make
    /// room or read may never go on.
    pub look: Option<u64>,
}

/// The switch. Port [`CARD`] is that of the card's driver.
pub struct Switch<M> {
    ports: Vec<Port<M>>,
    addresses: Addresses,
    /// Where the next round begins.
    turn: usize,
    /// How many frames wait for readers ([`Ahead`]): mostly none, and a round need not ask each
    /// port.
    kept: usize,
    /// The frame that is passed on. What is here was checked; what the client writes since is not
    /// looked at.
    passing: Passing,
}

/// A frame on its way.
struct Passing {
    frame: Frame,
    /// Offsets of its slots.
    slots: Vec<u32>,
}

impl<M: Shared> Switch<M> {
    /// With a port for each memory; `None` if one of them has no room for a slot, or there are more
    /// than 20: clients notify by the bit of their port, and a badge has 20.
    pub fn new(memories: impl IntoIterator<Item = M>) -> Option<Self> {
        let port = |memory: M| {
            let layout = Layout::of(memory.bytes())?;
            Some(Port {
                memory,
                layout,
                attached: None,
                counters: Counters::default(),
                waits_since: None,
                stuck: None,
                ahead: Ahead::default(),
            })
        };
        let ports: Vec<_> = memories.into_iter().map(port).collect::<Option<_>>()?;
        let (addresses, passing) =
            (Addresses::new(ports.len()), Passing { frame: Frame::default(), slots: Vec::new() });
        (ports.len() <= MOST_PORTS).then_some(Self { ports, addresses, turn: 0, kept: 0, passing })
    }

    /// A client has others behind it, as a Linux with a bridge or macvlan has: it may send from
    /// their addresses, too.
    pub fn let_bridge(&mut self, port: usize) {
        self.addresses.let_bridge(port);
    }

    /// A client begins again: its rings are empty. If it has an address nobody else can use that.
    /// `large`: it takes large frames.
    pub fn attach(&mut self, port: usize, address: Option<Address>, large: bool) {
        // Who is behind the card does not change with its driver: no client gets such an address by
        // being faster.
        if port != CARD {
            self.addresses.forget(port);
        }
        address.into_iter().for_each(|address| self.addresses.give(address, port));
        self.forget(port);
        let Some(port) = self.ports.get_mut(port) else { return };
        let large = address.filter(|_| large);
        port.waits_since = None;
        // It gives all its slots now, which is nothing that it has done.
        port.stuck = port.stuck.map(|_| port.layout.slots());
        port.layout.clear(&port.memory);
        let input = Sender::new(port.layout.to_client());
        let mut output = Receiver::new(port.layout.from_client(), &port.memory);
        // The client learns by the answer to its request.
        let _ = output.publish(&port.memory);
        port.attached = Some(Attached { input, output, large });
        self.tell_neighbours();
    }

    /// What waits for a port's client is lost; all that waits if it is the card's.
    fn forget(&mut self, port: usize) {
        for to in (0..self.ports.len()).filter(|to| port == CARD || port == *to) {
            let Ahead { kept, .. } = core::mem::take(&mut self.ports[to].ahead);
            self.kept -= kept.len();
            self.ports[to].counters.lost += kept.len() as u64;
            for slot in kept {
                self.give_back(slot);
            }
        }
    }

    /// A slot of the card is empty again.
    fn give_back(&mut self, slot: u32) {
        self.ports[CARD].with(|rings, memory| {
            rings.output.give_back(memory, slot);
            Ok(())
        });
    }

    /// Tells each client which of them take large frames: nobody sends them to others.
    fn tell_neighbours(&self) {
        let takers: Vec<Address> =
            self.ports.iter().filter_map(|port| port.attached.as_ref()?.large).collect();
        for port in self.ports.iter().filter(|port| port.is_large()) {
            for (at, taker) in (NEIGHBOURS + 4..).step_by(NEIGHBOUR as usize).zip(&takers) {
                let [low, high] = taker.words();
                port.memory.write(at, low);
                port.memory.write(at + 4, high);
            }
            port.memory.fence();
            port.memory.write(NEIGHBOURS, takers.len() as u32);
        }
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
        let mut waiting = 0;
        // The slots that became free last are filled first: the cache has them.
        self.ports.iter_mut().for_each(Port::refill);
        if self.kept > 0 {
            (0..count).for_each(|port| self.let_go(port, now, &mut outcome.notify));
        }
        for offset in 0..count {
            let from = (self.turn + offset) % count;
            waiting |= u32::from(self.take(from, now, &mut outcome.notify)) << from;
        }
        self.turn = (self.turn + 1) % count.max(1);
        // By both the card's driver knows that it need not bring more: nobody waits for it, and not
        // all slots came back.
        let waits_for_card = !self.has_enough(now, &mut outcome.notify);
        let due = self.ports[CARD].with(|rings, memory| {
            let many = rings.output.returned() > rings.output.slots() / 2;
            Ok((waits_for_card || many) && rings.output.publish(memory))
        });
        outcome.notify |= u32::from(due.unwrap_or(false)) << CARD;
        for (index, port) in
            self.ports.iter_mut().enumerate().filter(|(index, _)| *index != CARD || waits_for_card)
        {
            let more = port.with(|rings, memory| rings.output.wait(memory)).unwrap_or(false);
            outcome.again |= more && waiting >> index & 1 == 0;
        }
        outcome.look = (waiting != 0).then_some(now + PAUSE);
        if self.kept > 0 || !waits_for_card {
            let readers = self
                .ports
                .iter()
                .map(|port| &port.ahead)
                .filter(|ahead| ahead.bytes >= AHEAD || !ahead.kept.is_empty());
            outcome.look = readers
                .map(|ahead| ahead.since.unwrap_or(now) + READERS_TIME)
                .chain(outcome.look)
                .min();
        }
        outcome.broken = attached & !self.attached();
        outcome
    }

    /// Whether each client has to read before it is given more of the card. No client has others
    /// wait for it.
    fn has_enough(&mut self, now: u64, notify: &mut u32) -> bool {
        let mut some = false;
        for to in CARD + 1..self.ports.len() {
            let Port { attached, ahead, .. } = &self.ports[to];
            if attached.is_none() {
                continue;
            }
            if ahead.kept.is_empty() && (ahead.bytes < AHEAD || !self.has_to_read(to, now, notify))
            {
                return false;
            }
            some = true;
        }
        some
    }

    /// Ports whose clients are attached, a bit each.
    fn attached(&self) -> u32 {
        (0..)
            .zip(&self.ports)
            .map(|(index, port)| u32::from(port.attached.is_some()) << index)
            .sum()
    }

    /// Takes frames of a port until there is none, or its turn is over. Whether one has to wait for
    /// room.
    fn take(&mut self, from: usize, now: u64, notify: &mut u32) -> bool {
        let Some(available) = self.ports[from].with(|rings, memory| rings.output.available(memory))
        else {
            return false;
        };
        let mut waits = false;
        let (mut left, mut frames) = (available, 0);
        while left > 0 && frames < BATCH {
            let Some(is_sound) = self.look(from, left) else { break };
            let fate = if is_sound { self.pass(from, now, notify) } else { Fate::Passed };
            if fate == Fate::Waits {
                waits = true;
                break;
            }
            let slots = &self.passing.slots;
            (left, frames) = (left - slots.len() as u32, frames + 1);
            self.ports[from].with(|rings, memory| {
                for slot in slots {
                    rings.output.take();
                    if fate == Fate::Passed {
                        rings.output.give_back(memory, *slot);
                    }
                }
                Ok(())
            });
        }
        for (index, port) in self.ports.iter_mut().enumerate() {
            let due = port.with(|rings, memory| {
                let published = rings.input.publish(memory);
                let released = index == from && from != CARD && rings.output.publish(memory);
                Ok(published || released)
            });
            *notify |= u32::from(due.unwrap_or(false)) << index;
        }
        waits
    }

    /// Takes up the first frame of a port that has filled so many slots. False: its length cannot
    /// be, and it takes one slot. `None` if the client has broken its rings.
    fn look(&mut self, from: usize, filled: u32) -> Option<bool> {
        let (port, Passing { frame, slots }) = (&mut self.ports[from], &mut self.passing);
        let large = port.is_large();
        let is_sound = port.with(|rings, memory| {
            slots.clear();
            let first = rings.output.slot(memory, 0)?;
            slots.push(first);
            *frame = Frame::read(memory, first, large);
            if !frame.is_sound(large) {
                return Ok(false);
            }
            let parts = frame.parts();
            if parts > filled {
                return Err(Broken);
            }
            for part in 1..parts {
                slots.push(rings.output.slot(memory, part)?);
            }
            Ok(true)
        })?;
        port.counters.malformed += u64::from(!is_sound);
        Some(is_sound)
    }

    /// Passes on the frame that was taken up.
    fn pass(&mut self, from: usize, now: u64, notify: &mut u32) -> Fate {
        let frame = &self.passing.frame;
        let to = match self.addresses.way(frame.head::<M>(), from) {
            Way::To(to) => to..to + 1,
            Way::All => 0..self.ports.len(),
            // Clients are known by what they were given, or have sent: who is not is behind the
            // card.
            Way::Unknown => CARD..CARD + 1,
            Way::Refused => {
                self.ports[from].counters.refused += 1;
                return Fate::Passed;
            }
        };
        let (parts, bytes) = (frame.parts(), frame.bytes());
        // What the card has received is dropped: others' frames are after it. So is what is for
        // all, but by the card.
        let waited_for = if to.len() == 1 { to.start } else { CARD };
        if from != CARD
            && waited_for != from
            && to.contains(&waited_for)
            && !self.takes(from, waited_for, parts, now, notify)
        {
            return Fate::Waits;
        }
        let port = &mut self.ports[from];
        port.counters.taken += 1;
        port.counters.taken_bytes += u64::from(bytes);
        let ahead = &self.ports[waited_for].ahead;
        // After those that wait, whatever it has read since.
        if from == CARD
            && (!ahead.kept.is_empty()
                || ahead.bytes >= AHEAD && self.has_to_read(waited_for, now, notify))
        {
            self.ports[waited_for].ahead.kept.extend(&self.passing.slots);
            self.kept += self.passing.slots.len();
            return Fate::Kept;
        }
        for to in to.filter(|to| *to != from) {
            self.give(from, to);
        }
        Fate::Passed
    }

    /// Whether the client of a port, which was given much, has to read before it is given more of
    /// the card.
    fn has_to_read(&mut self, to: usize, now: u64, notify: &mut u32) -> bool {
        let port = &mut self.ports[to];
        // What was filled in this turn is for the client to see, or it would never go on.
        let asked = port.with(|rings, memory| {
            let due = rings.input.publish(memory);
            rings.input.wait(memory)?;
            Ok((due, rings.input.got()))
        });
        // Who is not attached is not waited for.
        let Some((due, got)) = asked else { return false };
        *notify |= u32::from(due) << to;
        port.note(got);
        if port.ahead.bytes < AHEAD {
            return false;
        }
        let waits = now.saturating_sub(*port.ahead.since.get_or_insert(now)) < READERS_TIME;
        // What it did not read in time says nothing of what it will: it may be a stopped program's.
        port.ahead.bytes = if waits { port.ahead.bytes } else { 0 };
        waits
    }

    /// Gives the client of a port what the card has for it and waits, as long as it reads; and what
    /// is too much to wait.
    fn let_go(&mut self, to: usize, now: u64, notify: &mut u32) {
        let clients = self.ports.len() as u32 - 1;
        let most = (self.ports[CARD].layout.slots() / KEEPS.max(2 * clients)) as usize;
        while let Some(&slot) = self.ports[to].ahead.kept.front() {
            let ahead = &self.ports[to].ahead;
            if ahead.bytes >= AHEAD && ahead.kept.len() <= most && self.has_to_read(to, now, notify)
            {
                return;
            }
            self.ports[to].ahead.kept.pop_front();
            self.kept -= 1;
            self.passing.slots.clear();
            self.passing.slots.push(slot);
            self.passing.frame = Frame::read(&self.ports[CARD].memory, slot, false);
            // It was one when it came: what the card's driver has made of it since is its own
            // matter.
            if self.passing.frame.is_sound(false) {
                self.give(CARD, to);
            } else {
                self.ports[CARD].counters.malformed += 1;
            }
            self.give_back(slot);
        }
    }

    /// Whether the client of a port has so many free slots for a frame of another one, or is not
    /// waited for.
    fn takes(&mut self, from: usize, to: usize, parts: u32, now: u64, notify: &mut u32) -> bool {
        let Ok([source, port]) = self.ports.get_disjoint_mut([from, to]) else { return true };
        let since = source.waits_since.take();
        if parts > port.layout.slots() || port.has_room(parts) {
            return true;
        }
        // What was filled in this turn is for the client to see, or it would never go on.
        let asked = port.with(|rings, memory| {
            let due = rings.input.publish(memory);
            rings.input.wait(memory)?;
            rings.input.room(memory).map(|room| (due, room >= parts, rings.input.got()))
        });
        // Who is not attached is not waited for.
        let Some((due, has_room, got)) = asked else { return true };
        *notify |= u32::from(due) << to;
        port.stuck =
            port.stuck.filter(|then| got.wrapping_sub(*then) < port.layout.slots() / GOES_ON);
        if has_room || port.stuck.is_some() {
            return true;
        }
        let since = since.unwrap_or(now);
        if now.saturating_sub(since) >= if to == CARD { PATIENCE } else { CLIENTS_PATIENCE } {
            port.stuck = Some(got);
            return true;
        }
        source.waits_since = Some(since);
        false
    }

    /// Copies the frame that was taken up from a port to a client that has room for it, and takes
    /// such.
    // Each frame comes here: a call takes 35 instructions.
    #[inline(always)]
    fn give(&mut self, from: usize, to: usize) {
        let Passing { frame, slots } = &self.passing;
        let Ok([source, port]) = self.ports.get_disjoint_mut([from, to]) else { return };
        let takes = (!frame.is_large() || port.is_large()) && port.has_room(frame.parts());
        let Some(rings) = port.attached.as_mut().filter(|_| takes) else {
            port.counters.lost += 1;
            return;
        };
        for (part, slot) in (0..).zip(slots) {
            let Some(free) = rings.input.take() else { break };
            frame.copy(part, (&source.memory, *slot), (&port.memory, free));
            rings.input.push(&port.memory, free);
        }
        port.counters.given += 1;
        port.counters.given_bytes += u64::from(frame.bytes());
        if from == CARD {
            port.ahead.bytes = port.ahead.bytes.saturating_add(frame.bytes());
        }
    }
}

/// What becomes of the first frame of a port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It was given to its receiver, or to none: its slots are empty.
    Passed,
    /// It stays the first: there is no room for it.
    Waits,
    /// It was taken, and waits for its reader: its slot is in use.
    Kept,
}
