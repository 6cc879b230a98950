// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the sources of a CPU model leave open.

use crate::cache::TraceGeometry;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Costs that are uncertain together: if one is higher, another may have to be lower, so that the
/// figure with which they were calibrated still results.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    /// What is uncertain.
    pub what: String,
    /// Which source allows which value.
    pub source: String,
    /// One end or two, each with the costs that differ from the model's. If there is one end, the
    /// model's own costs are the other.
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
