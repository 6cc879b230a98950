// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which addresses are behind which port.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub [u8; 6]);

impl Address {
    /// Whether it is of several receivers.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// The address of client number `number`, from 1 on, of a card with this address: the first has
    /// the card's own, the others have it plus their distance, as addresses that nobody else
    /// administers.
    #[must_use]
    pub fn of_client(self, number: u32) -> Self {
        const LOCAL: u8 = 2;
        let distance = number.saturating_sub(1);
        if distance == 0 {
            return self;
        }
        let [a, b, c, d, e, f] = self.0;
        let [_, d, e, f] = (u32::from_be_bytes([0, d, e, f]) + distance).to_be_bytes();
        Self([a | LOCAL, b, c, d, e, f])
    }

    /// As in the reply to ATTACH: bytes 0 to 3, low byte first, then 4 and 5.
    #[must_use]
    pub const fn words(self) -> [u32; 2] {
        let Self([a, b, c, d, e, f]) = self;
        [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, 0, 0])]
    }

    /// All of it in a number.
    const fn number(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The port of the card's driver.
pub const CARD: usize = 0;

/// Addresses that are known of a port, beside the one that it was given: a flood of them drives out
/// its own only.
const MOST: usize = 256;

/// An address that was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    port: usize,
    /// When it was seen last, as a number of a frame.
    last: u64,
}

/// Where a frame goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Nowhere: its source is another port's address, or one of several receivers.
    Refused,
    /// To one port.
    To(usize),
    /// To an address that no port is known to have.
    Unknown,
    /// To all.
    All,
}

/// The last frame of a port: mostly the next one has the same addresses.
#[derive(Clone, Copy, Debug)]
struct Recent {
    head: [u32; 3],
    way: Way,
    /// Its number, which was not noted with its source.
    last: u64,
}

/// All addresses that are known.
#[derive(Default, Debug)]
pub struct Addresses {
    // Addresses are numbers here, which are compared with one look.
    /// Those that the switch gave out: nobody else can have them.
    given: BTreeMap<u64, usize>,
    seen: BTreeMap<u64, Seen>,
    /// Frames so far.
    frames: u64,
    /// By port; nothing if an address has changed its port since.
    recent: Vec<Option<Recent>>,
    /// By port: whether others are behind it, with addresses of their own; on the card's port they
    /// always are.
    bridges: Vec<bool>,
}

impl Addresses {
    /// Of so many ports.
    #[must_use]
    pub fn new(ports: usize) -> Self {
        let bridges = (0..ports).map(|port| port == CARD).collect();
        Self { recent: vec![None; ports], bridges, ..Self::default() }
    }

    /// From now on a client may send from other addresses than the one that it was given.
    pub fn let_bridge(&mut self, port: usize) {
        if let Some(bridges) = self.bridges.get_mut(port) {
            *bridges = true;
        }
    }

    /// Gives an address to a port, whatever was known of it.
    pub fn give(&mut self, address: Address, port: usize) {
        self.note();
        self.given.retain(|_, owner| *owner != port);
        self.given.insert(address.number(), port);
        self.seen.remove(&address.number());
    }

    /// What was learned of a port holds no longer.
    pub fn forget(&mut self, port: usize) {
        self.note();
        self.seen.retain(|_, seen| seen.port != port);
    }

    /// Where a frame goes that comes by the port `from` and begins with these words, low byte
    /// first. It may come from there if its source was given to that port; or to none, and the port
    /// bridges, and had it first. What has come by the card belongs there, though a client had it
    /// first: no client keeps a host behind the card from being heard.
    #[must_use]
    pub fn way(&mut self, head: [u32; 3], from: usize) -> Way {
        self.frames += 1;
        match self.recent.get_mut(from) {
            // `==` calls a function.
            Some(Some(recent)) if recent.head.iter().eq(&head) => {
                recent.last = self.frames;
                recent.way
            }
            _ => self.find(head, from),
        }
    }

    /// The same of a frame that is not as the port's last one.
    fn find(&mut self, head: [u32; 3], from: usize) -> Way {
        let [destination, source] = split(head);
        self.note_of(from);
        if source.is_group() || !self.owns(source.number(), from) {
            return Way::Refused;
        }
        let number = destination.number();
        let known = self
            .given
            .get(&number)
            .copied()
            .or_else(|| self.seen.get(&number).map(|seen| seen.port));
        let way = match known {
            Some(to) => Way::To(to),
            None if destination.is_group() => Way::All,
            None => Way::Unknown,
        };
        if let Some(recent) = self.recent.get_mut(from) {
            *recent = Some(Recent { head, way, last: self.frames });
        }
        way
    }

    /// Notes when the source of a port's last frame was seen last.
    fn note_of(&mut self, port: usize) {
        let Some(Recent { head, last, .. }) = self.recent.get_mut(port).and_then(Option::take)
        else {
            return;
        };
        let [_, source] = split(head);
        if let Some(seen) = self.seen.get_mut(&source.number()) {
            seen.last = last;
        }
    }

    /// The same of all ports: what was found for their frames may hold no longer.
    fn note(&mut self) {
        (0..self.recent.len()).for_each(|port| self.note_of(port));
    }

    /// Whether a port has an address, from this frame on at least.
    fn owns(&mut self, number: u64, port: usize) -> bool {
        if let Some(owner) = self.given.get(&number) {
            return *owner == port;
        }
        if !self.bridges.get(port).is_some_and(|bridges| *bridges) {
            return false;
        }
        if let Some(seen) = self.seen.get_mut(&number)
            && (seen.port == port || port != CARD)
        {
            if seen.port == port {
                seen.last = self.frames;
            }
            return seen.port == port;
        }
        self.note();
        let own = || self.seen.iter().filter(|(_, seen)| seen.port == port);
        if own().count() >= MOST {
            let oldest = own().min_by_key(|(_, seen)| seen.last).map(|(number, _)| *number);
            oldest.map(|oldest| self.seen.remove(&oldest));
        }
        self.seen.insert(number, Seen { port, last: self.frames });
        true
    }
}

/// Destination and source of a frame that begins with these words, low byte first.
fn split(head: [u32; 3]) -> [Address; 2] {
    let [a, b, c] = head.map(u32::to_le_bytes);
    [Address([a[0], a[1], a[2], a[3], b[0], b[1]]), Address([b[2], b[3], c[0], c[1], c[2], c[3]])]
}
