// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only Alpha has: PALcode, accesses that are not aligned, and I/O ports that the kernel accesses
//! for components.

mod exception;

use crate::Case;

/// What the case of an alien's system call is called.
pub const SYSTEM_CALL_CASE: &str = "call_pal_arrives_with_all_registers";

/// The cases that are Alpha's own, before the others.
pub const GROUPS: &[(&str, &[Case])] = &[
    ("message", crate::message::CASES),
    ("thread", crate::unlocked::CASES),
    ("exception", exception::CASES),
];
