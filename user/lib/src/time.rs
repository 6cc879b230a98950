// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is in the kernel information page, such as the time since boot, which needs no system call;
//! and the thread's alarm.

use crate::{Result, sys};
use abi::kip::Kip;
use abi::{Word, call};

pub use crate::arch::counter;

/// The kernel information page.
#[must_use]
pub fn kip() -> Kip {
    // SAFETY: the kernel maps it into every native space, read-only, and never changes it.
    unsafe { (abi::utcb::KIP_ADDRESS as *const Kip).read() }
}

/// Whether the kernel makes servers and small spaces, if they are asked for.
#[must_use]
pub fn has_servers() -> bool {
    crate::arch::SERVERS.is_some_and(|feature| kip().features & feature != 0)
}

/// Nanoseconds since boot.
#[must_use]
pub fn now() -> u64 {
    kip().clock.nanoseconds(counter())
}

/// Sets these notification bits of the calling thread at an absolute time, in nanoseconds since
/// boot; 0 bits cancel the alarm.
///
/// # Errors
/// What the kernel says.
pub fn alarm(at: u64, bits: Word) -> Result<()> {
    sys::call(call::Alarm { at: call::Time(at), bits }).map(|_| ())
}
