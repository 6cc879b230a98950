// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time since boot, without a system call, and the thread's alarm.

use crate::{Result, sys};
use abi::Op;
use abi::kip::Kip;

/// The kernel information page.
#[must_use]
pub fn kip() -> Kip {
    // SAFETY: the kernel maps it into every native space, read-only, and never changes it.
    unsafe { (abi::utcb::KIP_ADDRESS as *const Kip).read() }
}

/// The time-stamp counter.
#[must_use]
pub fn counter() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter that every supported processor has.
    unsafe { core::arch::asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
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
pub fn alarm(at: u64, bits: u32) -> Result<()> {
    sys::call(Op::Alarm, [at as u32, (at >> 32) as u32, bits, 0]).map(|_| ())
}
