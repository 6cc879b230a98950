// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults: what is done to which component.

use crate::Random;
use abi::frame::{GENERAL, INSTRUCTION, STACK, WORDS};
use core::fmt;
use frames::{Layout, Shared};
use image::protocol::disk;
use image::protocol::net::{
    CONSUMED, CONSUMER_WAITS, ENTRIES, ENTRY, FREE, IN, OUT, PRODUCED, PRODUCER_WAITS, SLOT,
};
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::region::Region;
use macadamia::{Env, Thread, Word};

/// Kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It jumps to an invalid address.
    Killed,
    /// It stops working, and sends no heartbeats.
    Hangs,
    /// A register changes while it works.
    Register,
    /// Random words in the memory that it shares with a peer.
    Memory,
    /// An impossible index in a ring.
    Index,
    /// The words of a ring that ask for notifications are cleared.
    Lost,
    /// It is notified without a cause.
    Spurious,
    /// Random values in descriptors: in a device's queue, where they may be answers to requests
    /// that were not made, or as lengths of frames in a port.
    Malformed,
    /// The device is told not to interrupt.
    Interrupt,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Killed,
        Self::Hangs,
        Self::Register,
        Self::Memory,
        Self::Index,
        Self::Lost,
        Self::Spurious,
        Self::Malformed,
        Self::Interrupt,
    ];

    /// Whether a disk server still carries out its requests correctly, or not at all. With a
    /// changed register it may write anything, and so may a device whose descriptors change.
    pub const fn is_at_any_moment(self) -> bool {
        !matches!(self, Self::Register | Self::Malformed)
    }

    /// As the argument `kinds` has it.
    const fn word(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Hangs => "hangs",
            Self::Register => "register",
            Self::Memory => "memory",
            Self::Index => "index",
            Self::Lost => "lost",
            Self::Spurious => "spurious",
            Self::Malformed => "malformed",
            Self::Interrupt => "interrupt",
        }
    }

    /// The kinds in a list of words with commas.
    fn read(list: &str) -> Vec<Self> {
        let read = |word: &str| Self::ALL.into_iter().find(|kind| kind.word() == word);
        list.split(',')
            .map(|word| read(word).unwrap_or_else(|| panic!("`{word}` is no kind of fault")))
            .collect()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "killed",
            Self::Hangs => "hangs",
            Self::Register => "wild register",
            Self::Memory => "wild memory",
            Self::Index => "broken index",
            Self::Lost => "lost notification",
            Self::Spurious => "notified without a cause",
            Self::Malformed => "malformed descriptors",
            Self::Interrupt => "lost interrupts",
        })
    }
}

/// Memory that a component shares with another one.
enum Peer {
    /// A port of the network's switch.
    Port(Region),
    /// The memory of a client of the disk server, which writes all of it.
    Rings(Region),
    /// The same, for a client that stays alive: words that only the client writes are left out.
    Answers(Region),
}

impl Peer {
    const fn memory(&self) -> &Region {
        match self {
            Self::Port(memory) | Self::Rings(memory) | Self::Answers(memory) => memory,
        }
    }

    /// Where the words of its rings are.
    const fn rings(&self) -> &'static [u32] {
        match self {
            Self::Port(_) => &[IN, IN + FREE, OUT, OUT + FREE],
            Self::Rings(_) | Self::Answers(_) => &[disk::ANSWERS, disk::REQUESTS],
        }
    }

    /// Random lengths of frames and numbers of slots, in a port.
    fn lengths(&self, random: &mut Random) {
        let memory = self.memory();
        let Some(layout) = Layout::of(memory.bytes()) else { return };
        let slots = layout.slots();
        for _ in 0..16 {
            memory.write(layout.first() + random.below(2 * slots) * SLOT, random.draw());
            memory.write(ENTRIES + random.below(4 * slots) * ENTRY, random.draw() % (2 * slots));
        }
    }

    /// Random words.
    fn scribble(&self, random: &mut Random) {
        let memory = self.memory();
        if let Self::Port(_) = self {
            for _ in 0..64 {
                memory.write(random.below(memory.bytes() / 4) * 4, random.draw());
            }
            self.lengths(random);
        } else {
            // Small numbers are slots, operations and counts.
            for _ in 0..64 {
                let value = random.draw();
                memory.write(
                    random.below(disk::DATA / 4) * 4,
                    if value.is_multiple_of(3) { value } else { value % 17 },
                );
            }
        }
    }
}

/// A component that fails.
struct Victim {
    name: String,
    /// The capability that controls it, if there is one.
    control: Option<Thread>,
    /// Capabilities that notify it.
    bells: Vec<Thread>,
    peers: Vec<Peer>,
    /// The memory that a virtio device and its driver share.
    queue: Option<Queue>,
    /// The component that is told before the memory of a disk's client is written.
    hand: Option<Thread>,
    kinds: Vec<Kind>,
}

/// Components that fail.
pub struct Victims(Vec<Victim>);

/// A fault that is going to happen.
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// Index of the component.
    pub victim: usize,
    name: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.name, self.kind)
    }
}

impl Victims {
    /// Those that the description names: `control-NAME`, what to notify them with,
    /// `bell-NAME-WHAT`, and memory: `port-NAME`, `rings-NAME`, `answers-NAME`, `queue-NAME`. The
    /// switch has the component's own port.
    pub fn new(env: &Env) -> Self {
        let kinds = env.argument("kinds").map_or_else(|| Kind::ALL.to_vec(), Kind::read);
        let mut all: Vec<Victim> = Vec::new();
        for grant in &env.start.grants {
            let Some((what, rest)) = grant.name.split_once('-') else { continue };
            let name = match what {
                "bell" | "hand" => rest.split('-').next().unwrap_or_default(),
                "control" | "port" | "rings" | "answers" | "queue" => rest,
                _ => continue,
            };
            let at = all.iter().position(|victim| victim.name == name).unwrap_or_else(|| {
                all.push(Victim::new(name));
                all.len() - 1
            });
            let (victim, thread, region) =
                (&mut all[at], Thread(grant.slot as Word), Region::find(env, &grant.name));
            match what {
                "control" => victim.control = Some(thread),
                "bell" => victim.bells.push(thread),
                "hand" => victim.hand = Some(thread),
                "port" => victim.peers.extend(region.map(Peer::Port)),
                "rings" => victim.peers.extend(region.map(Peer::Rings)),
                "answers" => victim.peers.extend(region.map(Peer::Answers)),
                _ => victim.queue = region.map(Queue),
            }
        }
        if let Some(switch) = all.iter_mut().find(|victim| victim.name == "switch") {
            switch.peers.extend(Region::find(env, "network").map(Peer::Port));
        }
        for victim in &mut all {
            victim.kinds = kinds.iter().copied().filter(|kind| victim.can(*kind)).collect();
        }
        all.retain(|victim| !victim.kinds.is_empty());
        Self(all)
    }

    /// The names of the components that can be ended.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|victim| victim.control.is_some()).map(|victim| victim.name.as_str())
    }

    /// The next fault.
    pub fn choose(&self, random: &mut Random) -> Fault {
        let index = random.below(self.0.len() as u32) as usize;
        let victim = &self.0[index];
        let kind = victim.kinds[random.below(victim.kinds.len() as u32) as usize];
        Fault { kind, victim: index, name: victim.name.clone() }
    }

    /// Ends a component, as a jump to an invalid address does. Returns whether that is possible.
    pub fn kill(&self, victim: usize) -> bool {
        self.0[victim].change(|words| words[INSTRUCTION] = 0)
    }

    /// Makes the fault happen.
    pub fn inject(&self, fault: &Fault, random: &mut Random) {
        self.0[fault.victim].inject(fault.kind, random);
    }

    /// Ends faults that would last.
    pub fn mend(&self, fault: &Fault) {
        if let Some(queue) =
            self.0[fault.victim].queue.as_ref().filter(|_| fault.kind == Kind::Interrupt)
        {
            queue.interrupts(true);
        }
    }
}

impl Victim {
    fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            control: None,
            bells: Vec::new(),
            peers: Vec::new(),
            queue: None,
            hand: None,
            kinds: Vec::new(),
        }
    }

    /// Whether a kind of fault can happen to it.
    fn can(&self, kind: Kind) -> bool {
        match kind {
            Kind::Killed | Kind::Hangs | Kind::Register => self.control.is_some(),
            Kind::Memory => self.peers.iter().any(|peer| !matches!(peer, Peer::Answers(_))),
            Kind::Index | Kind::Lost => !self.peers.is_empty(),
            Kind::Spurious => !self.bells.is_empty(),
            Kind::Malformed => self.queue.is_some() || self.ports().next().is_some(),
            Kind::Interrupt => self.queue.is_some(),
        }
    }

    /// Stops it, changes its registers, and lets it run.
    fn change(&self, change: impl FnOnce(&mut [Word; WORDS as usize])) -> bool {
        let Some(thread) = self.control else { return false };
        // A component that is dead just now has no registers: it has failed already.
        let _ = thread.stop().and_then(|()| thread.registers()).and_then(|mut registers| {
            change(registers.words_mut());
            thread.set_registers(&registers, true)
        });
        true
    }

    fn inject(&self, kind: Kind, random: &mut Random) {
        match kind {
            Kind::Killed => _ = self.change(|words| words[INSTRUCTION] = 0),
            // Stopped, it does nothing any more. One that is dead hangs already.
            Kind::Hangs => _ = self.control.map(|thread| thread.stop()),
            Kind::Register => {
                // Twice as often where it goes on as any other.
                let (which, value) = (random.below(GENERAL as u32 + 3) as usize, random.draw());
                self.change(|words| match which {
                    // Of a word with 64 bits both halves are wild.
                    ..GENERAL => words[which] = (u64::from(value) << 32 | u64::from(value)) as Word,
                    GENERAL => words[STACK] ^= 4 << (value % 16),
                    _ => words[INSTRUCTION] ^= 1 << (value % 12),
                });
            }
            Kind::Memory => {
                let peers: Vec<&Peer> =
                    self.peers.iter().filter(|peer| !matches!(peer, Peer::Answers(_))).collect();
                peers[random.below(peers.len() as u32) as usize].scribble(random);
                // The neighbour makes the server look at it, if it is one that does.
                let _ = self.hand.map(|hand| hand.notify());
            }
            Kind::Index => {
                let peer = self.peer(random);
                let rings = peer.rings();
                let ring = rings[random.below(rings.len() as u32) as usize];
                peer.memory()
                    .write(ring + [PRODUCED, CONSUMED][random.below(2) as usize], random.draw());
            }
            Kind::Lost => {
                let peer = self.peer(random);
                for ring in peer.rings() {
                    peer.memory().write(ring + CONSUMER_WAITS, 0);
                    peer.memory().write(ring + PRODUCER_WAITS, 0);
                }
            }
            Kind::Spurious => {
                for _ in 0..random.below(100) {
                    // One that is dead does not hear it.
                    let _ = self.bells[random.below(self.bells.len() as u32) as usize].notify();
                }
            }
            Kind::Malformed => match (&self.queue, self.ports().next()) {
                (Some(queue), None) => queue.scribble(random),
                (Some(queue), _) if random.below(2) == 0 => queue.scribble(random),
                (_, port) => _ = port.map(|port| port.lengths(random)),
            },
            Kind::Interrupt => _ = self.queue.as_ref().map(|queue| queue.interrupts(false)),
        }
    }

    /// Ports of the switch among its memory.
    fn ports(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| matches!(peer, Peer::Port(_)))
    }

    fn peer(&self, random: &mut Random) -> &Peer {
        &self.peers[random.below(self.peers.len() as u32) as usize]
    }
}

/// The memory that a virtio device shares with its driver (Virtual I/O Device 1.2, 2.7): for each
/// queue of 256 a page of descriptors, one of what is available, one of what is used; the last page
/// is the driver's own.
struct Queue(Region);

impl Queue {
    const PAGE: u32 = abi::PAGE_SIZE as u32;
    const LENGTH: u32 = 256;
    /// Most queues of a device.
    const MOST: u32 = 2;
    /// In the flags of the available ring: no interrupts.
    const NO_INTERRUPT: u32 = 1;
    /// In a descriptor's last word: another descriptor follows, with this number.
    const BEYOND: u32 = 0xffff_0001;
    /// The same: the device writes there.
    const DEVICE_WRITES: u32 = 2;

    /// Offsets of its queues.
    fn queues(&self) -> impl Iterator<Item = u32> {
        let count = ((self.0.bytes() / Self::PAGE).saturating_sub(1) / 3).min(Self::MOST);
        (0..count).map(|queue| queue * 3 * Self::PAGE)
    }

    /// Whether the device interrupts.
    fn interrupts(&self, enable: bool) {
        for queue in self.queues() {
            let at = queue + Self::PAGE;
            let others = self.0.read(at) & !Self::NO_INTERRUPT;
            self.0.write(at, others | if enable { 0 } else { Self::NO_INTERRUPT });
        }
    }

    /// An impossible value. The address in a descriptor is not changed, because the device would
    /// access any address, and there is no IOMMU.
    fn scribble(&self, random: &mut Random) {
        let which = random.below(4);
        for queue in self.queues() {
            let [available, used] = [queue + Self::PAGE, queue + 2 * Self::PAGE];
            // An index is in the upper half of the first word.
            let jump = |at: u32, by: u32| self.0.write(at, self.0.read(at).wrapping_add(by << 16));
            match which {
                0 => (0..Self::LENGTH).for_each(|number| self.0.write(queue + number * 16 + 8, 0)),
                1 => (0..Self::LENGTH).for_each(|number| {
                    let at = queue + number * 16 + 12;
                    self.0.write(at, self.0.read(at) & Self::DEVICE_WRITES | Self::BEYOND);
                }),
                2 => {
                    // Numbers of descriptors that there are not, and more of them than there can
                    // be.
                    (1..=Self::LENGTH / 2).for_each(|word| {
                        self.0.write(available + word * 4, random.draw() | 0xff00_ff00)
                    });
                    jump(available, Self::LENGTH + random.below(1000));
                }
                _ => {
                    (0..Self::LENGTH)
                        .for_each(|number| self.0.write(used + 4 + number * 8, random.draw()));
                    jump(used, 1 + random.below(Self::LENGTH));
                }
            }
        }
    }
}
