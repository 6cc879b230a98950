// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which addresses are behind which port.

use alloc::collections::BTreeMap;
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

    /// The address of client number `number`, from 1 on, of a card with this address: the first has the card's own, the others have it plus
    /// their distance, as addresses that nobody else administers.
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

/// Addresses that a port may have learned: a flood of them drives out its own only.
const MOST: usize = 256;

/// An address that was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    port: usize,
    /// When it was seen last, as a number of a frame.
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
    /// Where the last frame came from, and where the last one went, if nothing has changed since: mostly the next one does, too.
    recent: [Option<(u64, usize)>; 2],
}

impl Addresses {
    /// Gives an address to a port, whatever was known of it.
    pub fn give(&mut self, address: Address, port: usize) {
        self.recent = [None; 2];
        self.given.retain(|_, owner| *owner != port);
        self.given.insert(address.number(), port);
        self.seen.remove(&address.number());
    }

    /// What was learned of a port holds no longer.
    pub fn forget(&mut self, port: usize) {
        self.recent = [None; 2];
        self.seen.retain(|_, seen| seen.port != port);
    }

    /// A frame comes from `address` by `port`. Whether it may: an address belongs to the port that had it first, until that port
    /// is attached anew or has used more addresses since than it may have.
    #[must_use]
    pub fn comes_from(&mut self, address: Address, port: usize) -> bool {
        if address.is_group() {
            return false;
        }
        let number = address.number();
        self.frames += 1;
        if self.recent[0] == Some((number, port)) {
            return true;
        }
        let last = self.frames;
        // What was not noted of the one before.
        if let Some(seen) = self.recent[0].and_then(|(before, _)| self.seen.get_mut(&before)) {
            seen.last = last - 1;
        }
        let owned = self.owns(number, port, last);
        self.recent[0] = owned.then_some((number, port));
        owned
    }

    /// Whether a port has an address, from the frame with the number `last` on at least.
    fn owns(&mut self, number: u64, port: usize, last: u64) -> bool {
        if let Some(owner) = self.given.get(&number) {
            return *owner == port;
        }
        if let Some(seen) = self.seen.get_mut(&number) {
            if seen.port == port {
                seen.last = last;
            }
            return seen.port == port;
        }
        let own = || self.seen.iter().filter(|(_, seen)| seen.port == port);
        if own().count() >= MOST {
            let oldest = own().min_by_key(|(_, seen)| seen.last).map(|(number, _)| *number);
            oldest.map(|oldest| self.seen.remove(&oldest));
        }
        self.recent = [None; 2];
        self.seen.insert(number, Seen { port, last });
        true
    }

    /// Behind which port an address is, if that is known.
    #[must_use]
    pub fn port(&mut self, address: Address) -> Option<usize> {
        let number = address.number();
        if let Some((_, port)) = self.recent[1].filter(|(recent, _)| *recent == number) {
            return Some(port);
        }
        let port = self.given.get(&number).copied().or_else(|| self.seen.get(&number).map(|seen| seen.port))?;
        self.recent[1] = Some((number, port));
        Some(port)
    }
}
