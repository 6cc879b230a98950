// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts, time, information.

use super::call::calls;
use super::packed::Time;
use crate::{Selector, Word};

calls! {
    /// Deliver an interrupt line to a thread, as notification bits.
    ///
    /// The bits are the badge of the Thread capability. Afterwards the line is masked; the first
    /// `AckIrq` unmasks it.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `irq` or `thread`.
    /// * `Occupied`: the line is bound already: unbind it first.
    /// * `TooDeep`: the kernel's copy of the capability would lie deeper than 255 in its tree.
    BindIrq {
        /// Irq (`CONTROL`).
        irq: Selector,
        /// Thread (`NOTIFY`), or 0 to unbind.
        thread: Selector,
    }

    /// Let an interrupt line interrupt again, after its device was served.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `irq`.
    /// * `NotThere`: the line is not bound.
    AckIrq {
        /// Irq (`CONTROL`).
        irq: Selector,
    }

    /// Set notification bits of the caller at an absolute time.
    ///
    /// A thread has one alarm: a new one replaces the old one. If the time has passed already, the
    /// bits are set at once.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `BadArgument`: a half of the time has more than 32 bits, or there are more notification
    ///   bits.
    Alarm {
        /// The time, in nanoseconds since boot: its low half, then its high half.
        at: Time,
        /// The bits; 0 cancels.
        bits: Word,
    }

    /// Read what a Quota has and what is charged to it.
    ///
    /// # Returns
    /// * `r1`: bytes used; or slots, or ranges.
    /// * `r2`: limit in bytes; or in slots, or ranges.
    /// * `r3`: of memory and threads: threads used in bits 15 to 0, their limit in bits 31 to 16.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `quota`.
    /// * `BadArgument`: `part` is above 2.
    QuotaInfo {
        /// Quota (`CONTROL`).
        quota: Selector,
        /// Of what: 0, memory and threads; 1, slots of relocation; 2, ranges of locked lines.
        part: Word,
    }

    /// Read a thread's state.
    ///
    /// # Returns
    /// * `r1`: a `ThreadState`: 0 stopped; 1 ready or running; 2 waiting to receive; 3 waiting to
    ///   send; 4 waiting for a reply; 5 halted by an exception that nobody handles, or without a
    ///   Space.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    ThreadInfo {
        /// Thread (`CONTROL`).
        thread: Selector,
    }
}

impl QuotaInfo {
    /// A part: memory and threads.
    pub const MEMORY_AND_THREADS: Word = 0;
    /// A part: slots of relocation.
    pub const RELOCATION_SLOTS: Word = 1;
    /// A part: ranges of locked lines.
    pub const LOCKED_RANGES: Word = 2;
}
