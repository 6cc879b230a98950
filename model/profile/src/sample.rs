// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the plugin records of the machine while it runs.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of code that are recorded with an address in a process: they tell which program is there.
pub const CODE_BYTES: usize = 16;

/// An address space.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Space {
    /// Of the component with this name.
    Component(String),
    /// Of a process of Linux.
    Process,
    /// None of these: what the kernel, and before it the firmware, begins with.
    First,
}

/// The processor at an instruction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The space whose translation tables are in use.
    pub space: Space,
    /// Whether it is in ring 0.
    pub kernel: bool,
    /// Where it is.
    pub eip: u32,
    /// The code there, [`CODE_BYTES`] or fewer; nothing outside processes.
    pub code: Vec<u8>,
    /// The words of its stack, from its top on, that are addresses of code.
    pub stack: Vec<u32>,
}

/// All samples of a run.
#[derive(Default)]
pub struct Samples(BTreeMap<Sample, u64>);

impl Samples {
    /// It was taken so often.
    pub fn add(&mut self, sample: Sample, times: u64) {
        *self.0.entry(sample).or_insert(0) += times;
    }

    /// Each different sample and how often it was taken, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (&Sample, u64)> {
        self.0.iter().map(|(sample, &times)| (sample, times))
    }

    /// As JSON.
    ///
    /// # Errors
    /// None is known.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.0.iter().collect::<Vec<_>>())
    }

    /// From what [`to_json`](Self::to_json) made.
    ///
    /// # Errors
    /// If it is something else.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        Ok(Self(serde_json::from_str::<Vec<(Sample, u64)>>(text)?.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_survive_json() {
        let sample = |eip| Sample {
            space: Space::Component("ping".into()),
            kernel: false,
            eip,
            code: vec![1],
            stack: vec![2, 3],
        };
        let mut samples = Samples::default();
        [7, 5, 7].into_iter().for_each(|eip| samples.add(sample(eip), 2));
        let read = Samples::from_json(&samples.to_json().unwrap_or_default()).unwrap_or_default();
        assert_eq!(read.iter().collect::<Vec<_>>(), [(&sample(5), 2), (&sample(7), 4)]);
    }
}
