// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run counted.

use model_core::Report;
use std::collections::BTreeMap;

/// What a run counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// On Macadamia.
    pub ours: Report,
    /// On Linux alone, if it is a program for Linux.
    pub native: Option<Report>,
    /// Of network frames, if they were looked at.
    pub parts: Parts,
}

/// What a frame takes in an interval, by the interval and the part's name: here, and on Linux alone
/// where that has such a part.
pub type Parts = BTreeMap<(u16, String), (f64, Option<f64>)>;
