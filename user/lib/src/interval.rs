// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intervals for the machine model: what is executed between [`begin`] and [`end`] of the
//! same number is counted, by whoever executes it (docs/model.md). Without the model
//! both are an instruction that does nothing.

use abi::marker::{BEGIN, BEGIN_FREE, CASE, END, immediate};
use core::arch::asm;

/// A marker.
#[inline(always)]
fn mark<const KIND: u32, const ID: u32>() {
    // SAFETY: changes only flags. It may touch memory as far as the compiler knows, so
    // that it does not move what is measured.
    unsafe { asm!("test eax, {}", const immediate(KIND, ID), options(nostack)) };
}

/// Begins interval `ID`, 0 to 4095.
#[inline(always)]
pub fn begin<const ID: u32>() {
    mark::<BEGIN, ID>();
}

/// Begins interval `ID` and declares it free of switches of spaces and of flushes: the model reports any.
#[inline(always)]
pub fn begin_free<const ID: u32>() {
    mark::<BEGIN_FREE, ID>();
}

/// Ends interval `ID`.
#[inline(always)]
pub fn end<const ID: u32>() {
    mark::<END, ID>();
}

/// From here on what the machine is at is called so in the model's report of how long the kernel looks at no interrupts.
pub fn case(name: &'static str) {
    // SAFETY: changes only flags.
    unsafe { asm!("test eax, {}", const immediate(CASE, 0), in("eax") name.as_ptr(), in("ecx") name.len(), options(nostack)) };
}
