// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS III: the R4600, whose TLB software fills, with entries of two pages and an ASID.
//!
//! The kernel lies in segments that are not translated, so only user mode has translations, by
//! three levels of tables that the handler of misses reads (docs/mips.md). The emulator tells no
//! register of this processor: it tells instructions and, of each access, the address and the
//! value. So the kernel's code is followed from power-on, as far as its registers follow from what
//! it loads ([`Registers`]): that is how the ASID is known. Where the highest table is the handler
//! of misses reads first. Intervals, owners and events are those of IA-32. Addresses have 64 bits,
//! of which the kernel's have ones in their upper half. Source: *MIPS R4000 Microprocessor User's
//! Manual*.

mod bits;
mod checker;
mod counter;
mod instruction;
mod machine;
mod registers;
mod spaces;
mod tlb;
mod translations;
mod walk;

pub use bits::Bits;
pub use checker::Checker;
pub use counter::{Accessed, Mips, Setup, VECTOR_NAMES, is_user, is_vector, latency};
pub use instruction::{CALL, RETURN, WAIT, case, is_look, marker, saves_tag, word};
pub use machine::{Access, Handler, Machine};
pub use registers::{Effect, Registers};
pub use walk::{Pair, walk};

/// The instrument.
pub type Counter = crate::Counter<Mips>;
