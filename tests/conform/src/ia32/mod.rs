// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only IA-32 has: segments, ports, debug registers, the FPU, servers and small spaces.

mod alien;
mod exception;
mod homes;
mod isolation;
mod kinds;
mod lazy;
mod lives;
mod lost;
mod neighbours;
mod own;
mod server;
mod small;
mod state;
mod thread;
mod ways;

use crate::Case;

/// The name of the case of an alien's system call.
pub const SYSTEM_CALL_CASE: &str = "int_0x80_arrives_with_all_registers";

/// The cases that are IA-32's own, before the others.
pub const GROUPS: &[(&str, &[Case])] = &[
    // At its end the first thread uses its port: from then on it takes no fast path.
    ("lazy", lazy::CASES),
    ("thread", thread::CASES),
    ("thread", crate::unlocked::CASES),
    ("exception", exception::CASES),
    ("alien", alien::CASES),
    ("isolation", isolation::CASES),
    ("own", own::CASES),
    ("state", state::CASES),
    ("server", server::CASES),
    ("ways", ways::CASES),
    ("lives", lives::CASES),
    ("lost", lost::CASES),
    ("small", small::CASES),
    ("small", neighbours::CASES),
    ("kinds", kinds::CASES),
];
