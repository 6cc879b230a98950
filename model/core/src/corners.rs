// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPU models that sources allow: each doubt at one of its ends.

use crate::cpu::{Constant, Cpu, CpuError, Source};
use crate::doubt::Doubt;
use std::collections::BTreeMap;

/// The most doubts of a CPU model: each doubles the number of corners.
const MOST: usize = 8;

impl Cpu {
    /// The models in which one doubt is at one of its ends, and all others are as in this model.
    #[must_use]
    pub fn ends(&self, doubt: &Doubt) -> Vec<Self> {
        doubt.ends.iter().map(|end| self.moved(self, end)).collect()
    }

    /// The models at the corners: each doubt at one of its ends, in all combinations.
    ///
    /// Ends are added up as differences to the model's own costs. So cycles are linear along each
    /// doubt, and a ratio of cycles is monotone along it. Its smallest and its largest value, over
    /// all that the doubts allow, are at corners.
    #[must_use]
    pub fn corners(&self) -> Vec<Self> {
        self.doubts.iter().fold(vec![self.clone()], |corners, doubt| {
            let stays = (doubt.ends.len() == 1).then_some(&corners);
            let moved = doubt
                .ends
                .iter()
                .flat_map(|end| corners.iter().map(|corner| corner.moved(self, end)));
            stays.into_iter().flatten().cloned().chain(moved).collect()
        })
    }

    /// The model in which each instruction takes one cycle and everything else none: its ratios are
    /// ratios of instructions.
    #[must_use]
    pub fn instructions_alone(&self) -> Self {
        let mut alone = self.clone();
        alone.costs = self.costs.map(|cost| Constant { cycles: 0.0, ..cost.clone() });
        alone.costs.instructions.cycles = 1.0;
        alone
    }

    /// The variant of this name.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<Self> {
        let variant = self.variants.iter().find(|variant| variant.name == name)?;
        let mut cpu = self.clone();
        cpu.geometry.trace = Some(variant.trace);
        Some(cpu)
    }

    /// The costs of `other` that differ from this model's, as text.
    #[must_use]
    pub fn difference(&self, other: &Self) -> String {
        let pairs = self
            .costs
            .named()
            .into_iter()
            .zip(other.costs.named())
            .filter(|((_, own), (_, other))| own.cycles != other.cycles);
        let costs = pairs.map(|((name, _), (_, other))| {
            format!("{} {}", name.replace('_', " "), rounded(other.cycles))
        });
        costs.collect::<Vec<_>>().join(", ")
    }

    /// These costs, plus the difference between `end` and the model `base`.
    fn moved(&self, base: &Self, end: &BTreeMap<String, f64>) -> Self {
        let mut moved = self.clone();
        let base: BTreeMap<&str, f64> =
            base.costs.named().into_iter().map(|(name, cost)| (name, cost.cycles)).collect();
        moved.costs.each(|name, cost| {
            if let (Some(end), Some(base)) = (end.get(name), base.get(name)) {
                cost.cycles += end - base;
            }
        });
        moved
    }

    /// Doubts are of costs that there are, and no corner has a negative one.
    pub(crate) fn check_doubts(&self) -> Result<(), CpuError> {
        let refused = |what: &str, why: String| Err(CpuError::Doubt(what.into(), why));
        if self.doubts.len() > MOST {
            return refused(&self.doubts[MOST].what, format!("a model has {MOST} doubts at most"));
        }
        let known = self.costs.named();
        for Doubt { what, ends, .. } in &self.doubts {
            if !(1..=2).contains(&ends.len()) {
                return refused(what, format!("{} ends where there may be one or two", ends.len()));
            }
            for name in ends.iter().flat_map(BTreeMap::keys) {
                match known.iter().find(|(known, _)| known == name) {
                    None => return Err(CpuError::UnknownEvent(name.clone())),
                    Some((_, cost)) if cost.source == Source::NoCost => {
                        return refused(what, format!("`{name}` costs nothing in this model"));
                    }
                    Some(_) => {}
                }
            }
        }
        for corner in self.corners() {
            if let Some((name, cost)) =
                corner.costs.named().into_iter().find(|(_, cost)| cost.cycles < 0.0)
            {
                return refused(
                    "all together",
                    format!("`{name}` costs {} at a corner", cost.cycles),
                );
            }
        }
        Ok(())
    }
}

/// Without the rounding of sums and differences.
fn rounded(cycles: f64) -> f64 {
    (cycles * 1000.0).round() / 1000.0
}
