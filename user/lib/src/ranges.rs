// SPDX-License-Identifier: MIT OR Apache-2.0
//! One layout of addresses for several spaces: a pointer into it means the same in all of them
//! (docs/systems.md, *One address space*).
//!
//! A *range* is a Segment that the server `ranges` has given addresses that nobody else has. A
//! component with a capability to the Segment can attach it, at these addresses; one without has a
//! page fault there.

use crate::ipc::{Message, call};
use crate::map::Window;
use crate::{Error, Result, Rights, Segment, Thread, utcb};
use abi::utcb::CapItem;
use abi::{SHARED_SPAN, Word};
use core::ops::Range as Addresses;

pub use ranges::{Units, request};

/// Bytes of the layout: six ranges at least.
const BYTES: Word = if UNIT < 16 << 20 { 128 << 20 } else { 6 * UNIT };

/// The addresses of the layout: part of what components without a window or a place in a home map
/// themselves ([`crate::map::own`]).
#[must_use]
pub fn layout() -> Addresses<Word> {
    let middle = (crate::map::own().start + (256 << 20)).next_multiple_of(UNIT);
    middle..middle + BYTES
}

/// A range that this component has attached. It is detached when this value ends.
#[derive(Debug)]
pub struct Range {
    window: Window,
    segment: Segment,
    addresses: Addresses<Word>,
}

impl Range {
    /// Attaches a range of which a capability and the addresses have come from another component.
    /// If that lies, it is attached where it has no meaning, and nothing else is harmed.
    ///
    /// # Errors
    /// `BadAddress` outside of the layout; what the kernel says.
    pub fn join(segment: Segment, addresses: Addresses<Word>, rights: Rights) -> Result<Self> {
        let layout = layout();
        if addresses.start < layout.start || addresses.end > layout.end || addresses.is_empty() {
            return Err(Error::BadAddress);
        }
        let window =
            Window::attach(addresses.start, segment, addresses.end - addresses.start, rights)?;
        Ok(Self { window, segment, addresses })
    }

    /// Where it lies, for everybody.
    #[must_use]
    pub fn addresses(&self) -> Addresses<Word> {
        self.addresses.clone()
    }

    /// What gives it to somebody else, by a message, with at most these rights.
    #[must_use]
    pub fn share(&self, rights: Rights) -> CapItem {
        CapItem::new(self.segment.0, rights)
    }

    /// Reads the word that a pointer names.
    ///
    /// # Errors
    /// `BadAddress`: it is not in this range, or not aligned.
    pub fn read(&self, pointer: Word) -> Result<u32> {
        self.offset(pointer).map(|offset| self.window.read(offset))
    }

    /// Writes it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&self, pointer: Word, value: u32) -> Result<()> {
        self.offset(pointer).map(|offset| self.window.write(offset, value))
    }

    fn offset(&self, pointer: Word) -> Result<Word> {
        let is_in = self.addresses.contains(&pointer) && pointer.is_multiple_of(4);
        if is_in { Ok(pointer - self.addresses.start) } else { Err(Error::BadAddress) }
    }
}

/// The server, from a client's side.
#[derive(Clone, Copy, Debug)]
pub struct Ranges(Thread);

impl Ranges {
    /// By a capability to call it. What an earlier life of this component had made ends.
    ///
    /// # Errors
    /// What the kernel or the server says.
    pub fn new(server: Thread) -> Result<Self> {
        ask(server, [request::BEGIN as Word, 0, 0]).map(|_| Self(server))
    }

    /// Makes a range of at least `bytes`, all zero, and attaches it. Its capability goes to `slot`,
    /// which is empty.
    ///
    /// # Errors
    /// `BadArgument`: no bytes. `QuotaExceeded`: the component would have more than its part.
    /// `PoolExhausted`: no piece of addresses or memory is as large. What the kernel says.
    pub fn create(self, bytes: Word, slot: Word) -> Result<Range> {
        utcb::set_receive_slot(slot as u32);
        let [address, bytes] = ask(self.0, [request::CREATE as Word, bytes, 0])?;
        Range::join(Segment(slot), address..address + bytes, Rights::READ.union(Rights::WRITE))
    }

    /// Ends a range that this component has made, for everybody.
    ///
    /// # Errors
    /// `BadArgument`: it has not made it.
    pub fn free(self, range: Range) -> Result<()> {
        ask(self.0, [request::FREE as Word, range.addresses.start, 0]).map(|_| ())
    }
}

fn ask(server: Thread, words: [Word; 3]) -> Result<[Word; 2]> {
    let [status, first, second] = call(server, Message::new(words))?.words;
    match Error::from_code(status as u32) {
        Some(error) => Err(error),
        None => Ok([first, second]),
    }
}

/// Bytes of the smallest range, of which all are multiples: who have one share the processor's
/// translations of it, if they can be shared.
pub const UNIT: Word = SHARED_SPAN;
