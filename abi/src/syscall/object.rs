// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects and capabilities.

use super::call::calls;
use super::packed::{BadgedRights, Counts};
use crate::{Selector, Word};

calls! {
    /// Make a Quota out of another.
    ///
    /// The parent is charged the whole limit at once, and 64 bytes for the Quota itself.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `parent`.
    /// * `BadSlot`: the destination.
    /// * `TooDeep`: the Quota would have more than 16 above it.
    /// * `QuotaExceeded`, `PoolExhausted`: the parent pays.
    CreateQuota {
        /// Quota (`CONTROL`), the parent.
        parent: Selector,
        /// Its bytes.
        bytes: Word,
        /// The destination of its capability.
        destination: Selector,
        /// Threads in bits 15 to 0. What only ARMv5 has: in bits 23 to 16 slots of relocation
        /// (`arch::armv5::place`), in bits 31 to 24 ranges of locked lines (`CacheOp`).
        counts: Counts,
    }

    /// Make a Space.
    ///
    /// A Space with capability slots is native. A Space without slots is for aliens, or it is a
    /// *home*: a home has no threads; small Spaces are attached to it, and their threads run with
    /// its page tables.
    ///
    /// # Returns
    /// * `r1`: the number of slots, which is rounded up. If the caller is stopped before the call
    ///   ends, the Space exists, but has fewer slots.
    /// * `r2`: on ARMv5 the number of its slot of relocation; else 0.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `quota`; or of the Space itself, if somebody
    ///   deleted it meanwhile.
    /// * `BadSlot`: the destination.
    /// * `BadArgument`: more than 65,536 slots; or a place that says nothing of such a Space.
    /// * `BadAddress`: the kernel's part cannot be at this place.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota pays.
    CreateSpace {
        /// Quota (`CONTROL`), which pays. On ARMv5 a native Space is charged as threads, too: a
        /// 256th of those that the kernel can hold, as there can be 256 (`utcb::threads_a_space`).
        quota: Selector,
        /// Number of capability slots, at most 65,536; 0 for a Space of aliens and for a home.
        slots: Word,
        /// The destination of its capability.
        destination: Selector,
        /// Place of the kernel's part, where the information page and the UTCBs are: 0, or what the
        /// port names. IA-32: an address, a multiple of `TABLE_SPAN`. It is 0 for a Space of
        /// aliens, which has no such part, and 1 (`HOME`) for a home. ARMv5: whether its low
        /// addresses are relocated, and its vspace among the Quota's (`arch::armv5::place`), of
        /// either kind of Space.
        place: Word,
    }

    /// Make a Segment.
    ///
    /// Nothing is mapped in it.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `quota`.
    /// * `BadSlot`: the destination.
    /// * `BadArgument`: the size is 0, no multiple of `TABLE_SPAN`, or above `USER_END`.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota pays.
    CreateSegment {
        /// Quota (`CONTROL`), which pays.
        quota: Selector,
        /// Its bytes, a multiple of `TABLE_SPAN`.
        bytes: Word,
        /// The destination of its capability.
        destination: Selector,
    }

    /// Make a Thread, which is stopped and has its creator's priority.
    ///
    /// An alien counts as having raised an event of vector `CREATED`: it waits for the reply of its
    /// creator, or of the handler that it is given before that.
    ///
    /// # Returns
    /// * `r1`: the address of the UTCB slot.
    /// * `r2`: the reply handle of an alien; 0 for a native thread.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `quota`, `space` or `home`.
    /// * `BadArgument`: `space` and `home` do not go together, or `space` is a home.
    /// * `BadSlot`: the destination.
    /// * `QuotaExceeded`: the Quota has no thread left; or the Quota of the Space with the UTCB
    ///   slot cannot pay a page.
    /// * `PoolExhausted`: the kernel has no thread left, or no page; or all UTCB slots of that
    ///   Space are taken.
    /// * `BadState`: the Quota of the Space with the UTCB slot was deleted, and a page is needed.
    CreateThread {
        /// Quota (`CONTROL`), which is charged one thread.
        quota: Selector,
        /// Space (`CONTROL`), where the thread runs.
        space: Selector,
        /// The destination of its capability.
        destination: Selector,
        /// 0 for a native thread; `space` must be native. For an alien Space (`CONTROL`), the
        /// native Space where its UTCB slot goes; `space` must be a Space of aliens.
        home: Selector,
    }

    /// Make a Memory that is a part of another.
    ///
    /// The new capability is a child of `memory`, with the same rights.
    ///
    /// # Arguments
    /// * UTCB: Word 3 is the selector of the Quota (`CONTROL`) that pays.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `memory` or of UTCB word 3.
    /// * `BadSlot`: the destination.
    /// * `TooDeep`: the capability would lie deeper than 255 in its tree.
    /// * `BadState`: the Memory is being deleted.
    /// * `BadArgument`: the length is 0, offset or length is no multiple of a page, or the part is
    ///   not within the Memory.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota pays.
    DeriveMemory {
        /// Memory (`CONTROL`).
        memory: Selector,
        /// The part's offset, in bytes and a multiple of a page. Of I/O ports: in ports.
        offset: Word,
        /// The part's length, likewise.
        length: Word,
        /// The destination of its capability.
        destination: Selector,
    }

    /// Delete a capability.
    ///
    /// Everything derived from it is deleted first. If it is the original capability of an object,
    /// the object is deleted, too. A deletion that has begun is completed, even if the caller is
    /// stopped or deletes its own Space.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`: of `slot`.
    Delete {
        /// The slot.
        slot: Selector,
    }

    /// Delete everything derived from a capability.
    ///
    /// The capability itself stays. If it is the original of a Memory, every mapping of that Memory
    /// is removed, too.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`: of `slot`.
    Revoke {
        /// The slot.
        slot: Selector,
    }

    /// Copy a capability.
    ///
    /// The copy is a child of the source.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`: of `source` or `space`.
    /// * `WrongKind`, `NoRight`: of `space`.
    /// * `BadSlot`: the destination; or the Space is being deleted.
    /// * `BadArgument`: a badge, though the source has one or is no Thread.
    /// * `TooDeep`: the copy would lie deeper than 255 in its tree.
    Copy {
        /// The source slot.
        source: Selector,
        /// 0 for the caller's own table, or Space (`CONTROL`) whose table gets the copy.
        space: Selector,
        /// The destination, in that table.
        destination: Selector,
        /// Rights in bits 5 to 0: the copy has those of them that the source has. Badge in bits 31
        /// to 12: 0 keeps the source's.
        rights: BadgedRights,
    }

    /// Describe a capability.
    ///
    /// The call needs no right.
    ///
    /// # Returns
    /// * `r1`: the object's kind.
    /// * `r2`: rights in bits 5 to 0, badge in bits 31 to 12.
    /// * `r3`: size: bytes of a Memory or Segment (of I/O ports: ports), slots of a Space, byte
    ///   limit of a Quota, else 0.
    ///
    /// # Errors
    /// * `NoCapability`: of `slot`.
    Identify {
        /// The slot.
        slot: Selector,
    }
}

impl DeriveMemory {
    /// The word of the UTCB that names the Quota.
    pub const QUOTA_WORD: u32 = 3;
}
