// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine model, without the emulator it is attached to.
//!
//! User code encloses what is to be measured in marker instructions
//! ([`abi::arch::ia32::marker`]). [`Counter`] is told of each marker, each chunk of code,
//! each special instruction and each memory access, in the order in which the processor
//! executes them, and makes a [`Report`] of the intervals between markers. With a [`Machine`] it
//! models the TLBs and caches of a [`Cpu`], with a [`Checker`] it looks for missing flushes.
//! [`Latency`] needs no markers: it is told of the kernel's code only, and measures how long that looks at no interrupts.
//! Addresses are linear unless they are called physical, the processor is an IA-32
//! in 32-bit mode. See docs/model.md for what is counted and what is not.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod arm;
mod cache;
mod checker;
mod counter;
mod cpu;
mod doubt;
mod events;
mod fault;
mod instruction;
mod interval;
mod latency;
mod ledger;
mod lines;
mod machine;
mod replacement;
mod report;
mod segment;
mod stats;
mod symbols;
mod tlb;
mod violation;
mod walk;

pub use cache::{Address, Cache, CacheGeometry, Outcome, Trace};
pub use checker::{Access, Checker, Verdict};
pub use counter::{Counter, Setup, World};
pub use cpu::{Constant, Cpu, CpuError, Geometry, Published, Source, Tags, TraceGeometry};
pub use doubt::{Doubt, Variant};
pub use events::{ByOwner, Events, Owner};
pub use fault::Fault;
pub use instruction::{Chunk, Class, Marker, PerLine};
pub use latency::Latency;
pub use machine::{Machine, Tables};
pub use replacement::Replacement;
pub use report::{IntervalReport, LatencyReport, Report, Spread, StretchReport, ViolationReport, VisitReport};
pub use segment::SegmentRegister;
pub use symbols::Symbols;
pub use tlb::{LargePages, Tlb, TlbGeometry};
pub use violation::Rule;
pub use walk::{Mapping, NoMapping, Physical, walk};

/// Who executes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Privilege {
    /// Ring 0.
    Kernel,
    /// Ring 1, and ring 2, which nobody uses: no privileged instructions, but supervisor pages.
    Ring1,
    /// Ring 3.
    User,
}

impl Privilege {
    /// The privilege of code that runs with these register values: ring 0 in
    /// real mode, ring 3 in virtual 8086 mode, else as the code segment's
    /// selector says.
    #[must_use]
    pub const fn of(cs: u32, cr0: u32, eflags: u32) -> Self {
        const PROTECTED_MODE: u32 = 1;
        const VIRTUAL_8086: u32 = 1 << 17;
        let real = cr0 & PROTECTED_MODE == 0;
        let virtual_8086 = eflags & VIRTUAL_8086 != 0;
        match cs & 3 {
            _ if real => Self::Kernel,
            _ if virtual_8086 => Self::User,
            0 => Self::Kernel,
            3 => Self::User,
            _ => Self::Ring1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Privilege;

    #[test]
    fn privilege_follows_the_mode() {
        assert_eq!(Privilege::of(0xf003, 0x10, 0), Privilege::Kernel, "real mode");
        assert_eq!(Privilege::of(0x8, 0x11, 0), Privilege::Kernel);
        assert_eq!(Privilege::of(0x1b, 0x11, 0), Privilege::User);
        assert_eq!(Privilege::of(0x51, 0x11, 0), Privilege::Ring1);
        assert_eq!(Privilege::of(0x52, 0x11, 0), Privilege::Ring1, "ring 2");
        assert_eq!(Privilege::of(0xf000, 0x11, 1 << 17), Privilege::User, "virtual 8086 mode");
    }
}
