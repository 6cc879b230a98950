// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intervals for the machine model: everything that is executed between [`begin`] and [`end`] of
//! the same number is counted, in whatever space (docs/model.md). Without the model both are an
//! instruction without effect.

use crate::arch::{BEGIN, BEGIN_FREE, END, mark};

pub use crate::arch::case;

/// Begins interval `ID`, 0 to 4095.
#[inline(always)]
pub fn begin<const ID: u32>() {
    mark::<BEGIN, ID>();
}

/// Begins interval `ID` and declares it free of switches of spaces and of flushes: the model
/// reports any.
#[inline(always)]
pub fn begin_free<const ID: u32>() {
    mark::<BEGIN_FREE, ID>();
}

/// Ends interval `ID`.
#[inline(always)]
pub fn end<const ID: u32>() {
    mark::<END, ID>();
}
