// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word that describes a message: as sent ([`Tag`]) and as received ([`Delivery`]).

use crate::Word;
use crate::syscall::Op;

pub use crate::arch::current::message::REGISTER_WORDS;
/// Longest message, in words, registers included.
pub const MAX_WORDS: u32 = 64;
/// Most capabilities in one message.
pub const MAX_CAPS: u32 = 3;

/// First argument register of an IPC system call: operation, flags, and how
/// many words and capabilities are sent.
///
/// ```text
///  31            12 11      9 8    7 6      0
/// |   operation    |  flags  | caps | words  |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(pub u32);

impl Tag {
    /// Number of the lowest operation bit.
    pub const OP_SHIFT: u32 = 12;
    /// Flag: return [`WouldBlock`](crate::Error::WouldBlock) rather than wait.
    pub const POLL: u32 = 1 << 9;
    /// Flag of `receive`: accept notifications only, no message.
    pub const NOTIFICATIONS_ONLY: u32 = 1 << 10;
    /// Bits that are zero in every tag: no system call takes another.
    pub const RESERVED: u32 = 1 << 11;

    /// A tag without flags.
    #[must_use]
    pub const fn new(op: Op, words: u32, caps: u32) -> Self {
        Self((op as u32) << Self::OP_SHIFT | (caps & 3) << 7 | (words & 0x7f))
    }

    /// The tag in a register. Bits beyond 31 are reserved, too.
    #[must_use]
    pub const fn of_word(word: Word) -> Self {
        let reserved = if word as u64 >> 32 == 0 { 0 } else { Self::RESERVED };
        Self(word as u32 | reserved)
    }

    /// The operation's number.
    #[must_use]
    pub const fn op(self) -> u32 {
        self.0 >> Self::OP_SHIFT
    }

    /// Words sent, 0 to 127: the kernel refuses more than [`MAX_WORDS`]. The registers of words 0
    /// to 2 arrive as they are, whatever this says: who sends fewer clears the rest, or means the
    /// receiver to see it.
    #[must_use]
    pub const fn words(self) -> u32 {
        self.0 & 0x7f
    }

    /// Capabilities sent, 0 to 3.
    #[must_use]
    pub const fn caps(self) -> u32 {
        (self.0 >> 7) & 3
    }

    /// Whether [`POLL`](Self::POLL) is set.
    #[must_use]
    pub const fn polls(self) -> bool {
        self.0 & Self::POLL != 0
    }
}

/// What arrived.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageKind {
    /// A call: the sender waits for a reply under the handle delivered with it.
    Call = 0,
    /// A send: nobody waits.
    Send = 1,
    /// The reply to this thread's call.
    Reply = 2,
    /// Notification bits, in the first message register; no message.
    Notification = 3,
    /// A native thread's exception: vector, fault address and error code in the
    /// message registers, the [`Frame`](crate::Frame) in the words after them.
    Exception = 4,
    /// An alien's system call, fault or exception: vector, fault address and
    /// error code in the message registers, its frame in its UTCB slot.
    Alien = 5,
    /// `run` ended by a notification: bits in the first message register, the
    /// stopped alien's frame in its UTCB slot.
    Interrupted = 6,
    /// No message but an [`Error`](crate::Error), its code in the badge field.
    Failed = 7,
}

/// First result register of an IPC system call.
///
/// ```text
///  31            12 11      9 8    7 6      0
/// |     badge      |  kind   | caps | words  |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery(pub u32);

impl Delivery {
    /// Number of the lowest kind bit.
    pub const KIND_SHIFT: u32 = 9;
    /// Number of the lowest badge bit.
    pub const BADGE_SHIFT: u32 = 12;

    /// A delivery of this kind.
    #[must_use]
    pub const fn new(kind: MessageKind, badge: u32, words: u32, caps: u32) -> Self {
        Self(
            badge << Self::BADGE_SHIFT
                | (kind as u32) << Self::KIND_SHIFT
                | (caps & 3) << 7
                | (words & 0x7f),
        )
    }

    /// What arrived.
    #[must_use]
    pub const fn kind(self) -> MessageKind {
        match (self.0 >> Self::KIND_SHIFT) & 7 {
            0 => MessageKind::Call,
            1 => MessageKind::Send,
            2 => MessageKind::Reply,
            3 => MessageKind::Notification,
            4 => MessageKind::Exception,
            5 => MessageKind::Alien,
            6 => MessageKind::Interrupted,
            _ => MessageKind::Failed,
        }
    }

    /// The badge of the capability that was used, or an error's code.
    #[must_use]
    pub const fn badge(self) -> u32 {
        self.0 >> Self::BADGE_SHIFT
    }

    /// Words that arrived.
    #[must_use]
    pub const fn words(self) -> u32 {
        self.0 & 0x7f
    }

    /// Capabilities that arrived, in the slots from `Utcb::receive_slot` on.
    #[must_use]
    pub const fn caps(self) -> u32 {
        (self.0 >> 7) & 3
    }

    /// The error, if the kind is [`MessageKind::Failed`].
    #[must_use]
    pub fn error(self) -> Option<crate::Error> {
        match self.kind() {
            MessageKind::Failed => crate::Error::from_code(self.badge()),
            _ => None,
        }
    }
}
