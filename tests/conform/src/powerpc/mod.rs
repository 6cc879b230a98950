// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only PowerPC has: privileged instructions, reservations, the FPU, windows of servers, what
//! an alien keeps, single steps, I/O ports that the kernel accesses for components, and pages that
//! it clears.

mod alien;
mod exception;
mod fpu;
mod idle;
mod message;
mod port;
mod reservation;
mod segment;
mod server;

use crate::Case;

/// The name of the case of an alien's system call.
pub const SYSTEM_CALL_CASE: &str = "sc_arrives_with_all_registers";

/// The cases that are PowerPC's own, before the others.
pub const GROUPS: &[(&str, &[Case])] = &[
    ("message", crate::message::CASES),
    ("message", message::CASES),
    ("thread", crate::unlocked::CASES),
    ("exception", exception::CASES),
    ("fpu", fpu::CASES),
    ("alien", alien::CASES),
    ("reservation", reservation::CASES),
    ("segment", segment::CASES),
    ("server", server::CASES),
    ("port", port::CASES),
    ("idle", idle::CASES),
];
