// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the sources of a CPU model leave open.

use crate::cache::TraceGeometry;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Costs that sources leave open together: when one is higher, another may have to be lower, so
/// that what they were calibrated on still comes out.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    /// What is open.
    pub what: String,
    /// Which sources allow what.
    pub source: String,
    /// One end or two, each with the costs that differ there from the model's. With one end the
    /// model's own are the other.
    pub ends: Vec<BTreeMap<String, f64>>,
}

/// The same processor with another geometry: it counts other hits and misses, and so needs a run of
/// its own. Costs are the same.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// What differs.
    pub what: String,
    /// Which source allows it.
    pub source: String,
    /// Its cache of decoded instructions.
    pub trace: TraceGeometry,
}
