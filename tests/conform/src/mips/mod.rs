// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only MIPS has: a TLB that software fills, entries of two pages, ASIDs, delay slots, a
//! counter that the kernel reads for users, and I/O ports that it accesses for components.

mod exception;
mod port;
mod tlb;

use crate::Case;

/// The name of the case of an alien's system call.
pub const SYSTEM_CALL_CASE: &str = "syscall_arrives_with_all_registers";

/// The cases that are MIPS's own, before the others.
pub const GROUPS: &[(&str, &[Case])] = &[
    ("message", crate::message::CASES),
    ("thread", crate::unlocked::CASES),
    ("exception", exception::CASES),
    ("tlb", tlb::CASES),
    ("port", port::CASES),
];
