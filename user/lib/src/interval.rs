// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intervals for the machine model: what is executed between [`begin`] and [`end`] of the
//! same number is counted, by whoever executes it (docs/model.md). Without the model
//! both are an instruction that does nothing.

use abi::marker::{BEGIN, END, immediate};
use core::arch::asm;

/// Begins interval `ID`, 0 to 4095.
#[inline(always)]
pub fn begin<const ID: u32>() {
    // SAFETY: changes only flags. It may touch memory as far as the compiler knows, so
    // that it does not move what is measured.
    unsafe { asm!("test eax, {}", const immediate(BEGIN, ID), options(nostack)) };
}

/// Ends interval `ID`.
#[inline(always)]
pub fn end<const ID: u32>() {
    // SAFETY: as `begin`.
    unsafe { asm!("test eax, {}", const immediate(END, ID), options(nostack)) };
}
