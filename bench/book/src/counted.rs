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
    /// The parts of network frames, if they were sampled.
    pub parts: Parts,
}

/// The cost of a frame by interval and by name of the part: on Macadamia, and on Linux alone if
/// that has such a part.
pub type Parts = BTreeMap<(u16, String), (f64, Option<f64>)>;
