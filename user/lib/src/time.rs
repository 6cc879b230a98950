// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time since boot, without a system call, and the thread's alarm.

use crate::{Result, sys};
use abi::kip::Kip;
use abi::{Op, Word};

pub use crate::arch::counter;

/// The kernel information page.
#[must_use]
pub fn kip() -> Kip {
    // SAFETY: the kernel maps it into every native space, read-only, and never changes it.
    unsafe { (abi::utcb::KIP_ADDRESS as *const Kip).read() }
}

/// Nanoseconds since boot.
#[must_use]
pub fn now() -> u64 {
    kip().clock.nanoseconds(counter())
}

/// Sets notification bits of this thread at an absolute time; 0 bits cancel.
///
/// # Errors
/// What the kernel says.
pub fn alarm(at: u64, bits: Word) -> Result<()> {
    sys::call(Op::Alarm, [at as u32 as Word, (at >> 32) as u32 as Word, bits, 0]).map(|_| ())
}
