// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only x86-64 has: privileged instructions, pages that cannot be executed, values that are no
//! addresses, what a system call keeps, the base of FS, SSE.

mod attack;
mod exception;
mod server;
mod state;

use crate::Case;
pub use attack::{FOR_EVER, stay};

/// The name of the case of an alien's system call.
pub const SYSTEM_CALL_CASE: &str = "syscall_arrives_with_all_registers";

/// The cases that are x86-64's own, before the others.
pub const GROUPS: &[(&str, &[Case])] = &[
    ("message", crate::message::CASES),
    ("thread", crate::unlocked::CASES),
    ("exception", exception::CASES),
    ("state", state::CASES),
    ("server", server::CASES),
    ("server", attack::CASES),
];
