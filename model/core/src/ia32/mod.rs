// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32 in 32-bit mode: linear addresses, two levels of tables, segments.
//!
//! It owns what only IA-32 has; what all processors share is at the crate's root. It does not know
//! QEMU.

mod checker;
mod counter;
mod instruction;
mod machine;
mod segment;
mod tlb;
mod walk;

use crate::{Latency, Privilege, Symbols};

pub use checker::{Access, Checker, Verdict};
pub use counter::{Ia32, Setup, World};
pub use instruction::{Class, marker};
pub use machine::{Machine, Tables};
pub use segment::SegmentRegister;
pub use tlb::Tlb;
pub use walk::{Mapping, walk};

/// The instrument.
pub type Counter = crate::Counter<Ia32>;

/// The privilege of code that runs with these register values: ring 0 in
/// real mode, ring 3 in virtual 8086 mode, else as the code segment's
/// selector says.
#[must_use]
pub const fn privilege(cs: u32, cr0: u32, eflags: u32) -> Privilege {
    const PROTECTED_MODE: u32 = 1;
    const VIRTUAL_8086: u32 = 1 << 17;
    let real = cr0 & PROTECTED_MODE == 0;
    let virtual_8086 = eflags & VIRTUAL_8086 != 0;
    match cs & 3 {
        _ if real => Privilege::Kernel,
        _ if virtual_8086 => Privilege::User,
        0 => Privilege::Kernel,
        3 => Privilege::User,
        _ => Privilege::Ring1,
    }
}

/// What measures how long the kernel with these symbols does not check for interrupts: two of them
/// are entries of system calls.
#[must_use]
pub fn latency(symbols: &Symbols) -> Latency {
    let int = format!("vector_{}", abi::arch::ia32::kip::INT_VECTOR);
    Latency::of(
        ["sysenter_entry", &int].into_iter().filter_map(|name| symbols.address(name)).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::{Privilege, privilege};

    #[test]
    fn privilege_follows_the_mode() {
        assert_eq!(privilege(0xf003, 0x10, 0), Privilege::Kernel, "real mode");
        assert_eq!(privilege(0x8, 0x11, 0), Privilege::Kernel);
        assert_eq!(privilege(0x1b, 0x11, 0), Privilege::User);
        assert_eq!(privilege(0x51, 0x11, 0), Privilege::Ring1);
        assert_eq!(privilege(0x52, 0x11, 0), Privilege::Ring1, "ring 2");
        assert_eq!(privilege(0xf000, 0x11, 1 << 17), Privilege::User, "virtual 8086 mode");
    }
}
