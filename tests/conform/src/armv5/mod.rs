// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only ARMv5TE has: two instruction sets, the kernel's helpers, alignment, virtual caches,
//! domains, slots.

mod alien;
mod cache;
mod domain;
mod exception;
mod helper;
mod message;
mod slot;
mod state;

use crate::Case;

/// The name of the case of an alien's system call.
pub const SYSTEM_CALL_CASE: &str = "swi_arrives_with_all_registers";

/// The cases that are ARM's own, before the others.
pub const GROUPS: &[(&str, &[Case])] = &[
    ("message", crate::message::CASES),
    ("message", message::CASES),
    ("exception", exception::CASES),
    ("alien", alien::CASES),
    ("state", state::CASES),
    ("helper", helper::CASES),
    ("cache", cache::CASES),
    ("domain", domain::CASES),
    ("slot", slot::CASES),
];
