// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a system call failed.

/// A system call's status, in `r0`. Zero is success.
///
/// In a delivery the code is in the place of the badge, and the kind is
/// [`MessageKind::Failed`](crate::MessageKind::Failed).
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no such system call, or the tag has something that this call does not take.
    BadOperation = 1,
    /// The selector is 0, or beyond the table, or names an empty slot.
    NoCapability = 2,
    /// The capability is of another kind than the call wants.
    WrongKind = 3,
    /// The capability lacks a right that the call needs.
    NoRight = 4,
    /// The destination is slot 0, or beyond the table, or not empty.
    BadSlot = 5,
    /// An argument is out of range, misaligned or reserved.
    BadArgument = 6,
    /// The Quota that pays has too little left.
    QuotaExceeded = 7,
    /// The Quota has enough, but the kernel has no block of that size or no thread, or the Space
    /// has no UTCB slot.
    PoolExhausted = 8,
    /// An address or a range is not within the user's part of the address space.
    BadAddress = 9,
    /// Something is already mapped, attached or bound there.
    Occupied = 10,
    /// Nothing is attached or bound there.
    NotThere = 11,
    /// The object is in a state in which this cannot be done.
    BadState = 12,
    /// The call had the flag `POLL`, and the partner was not ready.
    WouldBlock = 13,
    /// No thread waits under this reply handle: it is used up, forged, or another Space's.
    BadHandle = 14,
    /// The partner has no Space, or was deleted or lost its Space while this thread waited.
    PeerGone = 15,
    /// The partner was reset while this thread waited; calling again may work.
    PeerRestarted = 16,
    /// The priority is above what the caller may give.
    BadPriority = 17,
    /// A capability in a message could not be placed: the receiver's slot is
    /// outside its table or occupied, or the sender named none.
    CapTransfer = 18,
    /// The tree of capabilities, or Quotas in Quotas, would become deeper than it may.
    TooDeep = 19,
    /// This machine lacks what the call needs.
    Unsupported = 20,
    /// The thread was stopped while it waited in this call.
    Interrupted = 21,
}

/// All errors, in the order of their codes.
pub const ALL: [Error; 21] = [
    Error::BadOperation,
    Error::NoCapability,
    Error::WrongKind,
    Error::NoRight,
    Error::BadSlot,
    Error::BadArgument,
    Error::QuotaExceeded,
    Error::PoolExhausted,
    Error::BadAddress,
    Error::Occupied,
    Error::NotThere,
    Error::BadState,
    Error::WouldBlock,
    Error::BadHandle,
    Error::PeerGone,
    Error::PeerRestarted,
    Error::BadPriority,
    Error::CapTransfer,
    Error::TooDeep,
    Error::Unsupported,
    Error::Interrupted,
];

impl Error {
    /// The error with this code, if there is one.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        ALL.get(usize::try_from(code).ok()?.checked_sub(1)?).copied()
    }

    /// A few words for a person.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::BadOperation => "no such system call",
            Self::NoCapability => "no such capability",
            Self::WrongKind => "wrong kind of capability",
            Self::NoRight => "missing right",
            Self::BadSlot => "bad destination slot",
            Self::BadArgument => "bad argument",
            Self::QuotaExceeded => "quota exceeded",
            Self::PoolExhausted => "kernel memory exhausted",
            Self::BadAddress => "bad address",
            Self::Occupied => "already in use",
            Self::NotThere => "nothing there",
            Self::BadState => "wrong state",
            Self::WouldBlock => "would block",
            Self::BadHandle => "bad reply handle",
            Self::PeerGone => "partner is gone",
            Self::PeerRestarted => "partner was restarted",
            Self::BadPriority => "priority not allowed",
            Self::CapTransfer => "capability transfer failed",
            Self::TooDeep => "nested too deep",
            Self::Unsupported => "not supported by this processor",
            Self::Interrupted => "interrupted",
        }
    }
}
