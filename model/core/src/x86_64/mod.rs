// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64 in 64-bit mode: four levels of tables, translations with PCIDs.
//!
//! Firmware and the first instructions of a kernel are not in 64-bit mode: of these only the number
//! of instructions is counted. Symbols, and the report of how long the kernel does not check for
//! interrupts, have the lower halves of the kernel's addresses; the upper half is ones.
//!
//! It owns what only x86-64 has; what all processors share is at the crate's root. It does not know
//! QEMU.

mod checker;
mod counter;
mod instruction;
mod machine;
mod tlb;
mod walk;

use crate::{Latency, Privilege, Symbols};

pub use crate::ia32::marker;
pub use checker::{Access, Checker, Verdict};
pub use counter::{Setup, World, X86_64};
pub use instruction::{Class, invlpg_address};
pub use machine::{Machine, Tables};
pub use tlb::Tlb;
pub use walk::{Mapping, Memory, Size, walk};

/// The instrument.
pub type Counter = crate::Counter<X86_64>;

/// The privilege of code that runs with these values of SS, CR0 and RFLAGS: ring 0 in real mode,
/// ring 3 in virtual 8086 mode, else as the stack segment's selector says. The code segment's does
/// not tell: QEMU 10 lets users load 0 into CS, where a processor refuses. A processor in long mode
/// has no virtual 8086 mode either, but QEMU 10 has, and there both may be anything. Ring 2, which
/// is not used, is taken for ring 1.
#[must_use]
pub const fn privilege(ss: u32, cr0: u64, rflags: u64) -> Privilege {
    const PROTECTED_MODE: u64 = 1;
    const VIRTUAL_8086: u64 = 1 << 17;
    match ss & 3 {
        _ if cr0 & PROTECTED_MODE == 0 => Privilege::Kernel,
        _ if rflags & VIRTUAL_8086 != 0 => Privilege::User,
        0 => Privilege::Kernel,
        3 => Privilege::User,
        _ => Privilege::Ring1,
    }
}

/// What measures how long the kernel with these symbols does not check for interrupts: one of them
/// is the entry of system calls.
#[must_use]
pub fn latency(symbols: &Symbols) -> Latency {
    Latency::of(symbols.address("syscall_entry").into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::{Privilege, privilege};

    #[test]
    fn privilege_follows_the_mode() {
        const VIRTUAL_8086: u64 = 1 << 17;
        assert_eq!(privilege(0xf003, 0x10, 0), Privilege::Kernel, "real mode");
        assert_eq!(privilege(0x10, 0x8000_0011, 0), Privilege::Kernel);
        assert_eq!(privilege(0, 0x8000_0011, 0), Privilege::Kernel, "after an exception of a user");
        assert_eq!(privilege(0x2b, 0x8000_0011, 0), Privilege::User);
        assert_eq!(privilege(0x19, 0x8000_0011, 0), Privilege::Ring1);
        for ss in [0, 0x10] {
            let found = privilege(ss, 0x8000_0011, VIRTUAL_8086 | 0x3002);
            assert_eq!(found, Privilege::User, "virtual 8086 mode");
        }
    }
}
