// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU models: the geometry of TLBs and caches, and what events cost (`model/cpus/*.toml`).

use crate::cache::{CacheGeometry, TraceGeometry};
use crate::doubt::{Doubt, Variant};
use crate::events::Events;
use crate::tlb::{TlbGeometry, WalkGeometry};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// A CPU model.
#[derive(Clone, PartialEq, Debug)]
pub struct Cpu {
    /// Its name, that of its file.
    pub name: String,
    /// Clock in MHz.
    pub clock_mhz: f64,
    /// What determines hits and misses.
    pub geometry: Geometry,
    /// Cycles of each event.
    pub costs: Events<Constant>,
    /// Figures that were published for this processor, to calibrate the model with or to check it.
    pub published: Vec<Published>,
    /// What sources leave open of the costs.
    pub doubts: Vec<Doubt>,
    /// What sources leave open of the geometry.
    pub variants: Vec<Variant>,
}

/// What determines hits and misses: models with equal geometries count the same.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// What an entry of a TLB is tagged with.
    #[serde(default)]
    pub tags: Tags,
    /// Who fills a TLB.
    #[serde(default)]
    pub reload: Reload,
    /// The instruction TLB, or the only one.
    pub itlb: TlbGeometry,
    /// The data TLB; data uses `itlb` if absent.
    pub dtlb: Option<TlbGeometry>,
    /// The second-level TLB, that both have.
    pub stlb: Option<TlbGeometry>,
    /// Entries of upper tables that a walk need not read again.
    pub walk: Option<WalkGeometry>,
    /// Level-one instruction cache.
    pub l1i: Option<CacheGeometry>,
    /// A cache of decoded instructions instead of that.
    pub trace: Option<TraceGeometry>,
    /// Level-one data cache.
    pub l1d: CacheGeometry,
    /// Level-two cache.
    pub l2: Option<CacheGeometry>,
}

/// Who fills a TLB after a miss.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Reload {
    /// The processor walks the tables.
    #[default]
    Walk,
    /// The processor searches a hashed table (604).
    Hash,
    /// Software, after an exception (603, MIPS).
    Software,
}

/// What an entry of a TLB is tagged with, besides the page.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Tags {
    /// Nothing: a switch of spaces flushes what is not global.
    #[default]
    None,
    /// The space's number (MIPS, Alpha, PCID): a switch changes the number.
    Asid,
    /// The segment's number (PowerPC): entries stay when a segment gets another number.
    Vsid,
    /// A domain (ARM), which is checked at every access, and by which no entry is looked up: a
    /// switch flushes nothing; a separate operation does.
    Domain,
}

/// A cost, and its source.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Constant {
    /// Cycles.
    pub cycles: f64,
    /// Its source.
    pub source: Source,
}

/// The source of a constant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Source {
    /// It was published there.
    Published(String),
    /// Chosen so that one published figure results.
    Calibrated(String),
    /// No source has it; the text says why it has this value.
    Assumed(String),
    /// The event does not occur on this processor, or its time is in another event's.
    #[default]
    NoCost,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published(text) => write!(f, "published: {text}"),
            Self::Calibrated(text) => write!(f, "calibrated: {text}"),
            Self::Assumed(text) => write!(f, "assumed: {text}"),
            Self::NoCost => write!(f, "none"),
        }
    }
}

/// A published figure, and the events that the model counts for the same operation.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What was measured.
    pub what: String,
    /// Cycles.
    pub cycles: f64,
    /// Where it was published.
    pub source: String,
    /// Whether a constant was calibrated with it: then it is no check.
    #[serde(default)]
    pub calibrates: bool,
    /// The counts, as far as the paper has them.
    #[serde(default)]
    pub events: BTreeMap<String, f64>,
    /// Or the number of an interval of the measured program on Linux alone
    /// (`tests/linux/figures.c`).
    pub interval: Option<u16>,
}

/// A CPU model's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    clock_mhz: f64,
    geometry: Geometry,
    cycles: BTreeMap<String, Entry>,
    #[serde(default)]
    published: Vec<Published>,
    #[serde(default)]
    doubt: Vec<Doubt>,
    #[serde(default)]
    variant: Vec<Variant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    cycles: f64,
    published: Option<String>,
    calibrated: Option<String>,
    assumed: Option<String>,
}

/// Why a CPU model's text is refused.
#[derive(Debug)]
pub enum CpuError {
    /// It is not TOML, or something is missing or unknown.
    Format(Box<toml::de::Error>),
    /// The event's name is unknown.
    UnknownEvent(String),
    /// The constant has no source, or two.
    Source(&'static str),
    /// The TLB's or cache's numbers do not fit each other.
    Geometry(&'static str, String),
    /// The doubt's ends make no sense.
    Doubt(String, String),
}

impl fmt::Display for CpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(error) => write!(f, "{error}"),
            Self::UnknownEvent(name) => write!(f, "no event is called `{name}`"),
            Self::Source(name) => {
                write!(f, "the cost of `{name}` needs one of published, calibrated, assumed")
            }
            Self::Geometry(what, why) => write!(f, "{what}: {why}"),
            Self::Doubt(what, why) => write!(f, "the doubt `{what}`: {why}"),
        }
    }
}

impl std::error::Error for CpuError {}

impl Entry {
    fn constant(self, name: &'static str) -> Result<Constant, CpuError> {
        let source = match (self.published, self.calibrated, self.assumed) {
            (Some(text), None, None) => Source::Published(text),
            (None, Some(text), None) => Source::Calibrated(text),
            (None, None, Some(text)) => Source::Assumed(text),
            _ => return Err(CpuError::Source(name)),
        };
        Ok(Constant { cycles: self.cycles, source })
    }
}

impl Cpu {
    /// Reads a CPU model.
    ///
    /// # Errors
    /// Says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, CpuError> {
        let mut file: File =
            toml::from_str(text).map_err(|error| CpuError::Format(Box::new(error)))?;
        let costs = Events::from_names(|name| {
            file.cycles.remove(name).map_or(Ok(Constant::default()), |entry| entry.constant(name))
        })?;
        if let Some(name) = file.cycles.into_keys().next() {
            return Err(CpuError::UnknownEvent(name));
        }
        let known = costs.named();
        for name in file.published.iter().flat_map(|published| published.events.keys()) {
            if known.iter().all(|(known, _)| known != name) {
                return Err(CpuError::UnknownEvent(name.clone()));
            }
        }
        let geometry = &file.geometry;
        for (what, tlb) in [
            ("itlb", Some(&geometry.itlb)),
            ("dtlb", geometry.dtlb.as_ref()),
            ("stlb", geometry.stlb.as_ref()),
        ] {
            if let Some(tlb) = tlb {
                tlb.check().map_err(|why| CpuError::Geometry(what, why))?;
            }
        }
        for (what, cache) in [
            ("l1i", geometry.l1i.as_ref()),
            ("l1d", Some(&geometry.l1d)),
            ("l2", geometry.l2.as_ref()),
        ] {
            if let Some(cache) = cache {
                cache.check().map_err(|why| CpuError::Geometry(what, why))?;
            }
        }
        for trace in geometry.trace.iter().chain(file.variant.iter().map(|variant| &variant.trace))
        {
            trace.check().map_err(|why| CpuError::Geometry("trace", why))?;
        }
        let File { name, clock_mhz, geometry, published, doubt: doubts, variant: variants, .. } =
            file;
        let cpu = Self { name, clock_mhz, geometry, costs, published, doubts, variants };
        cpu.check_doubts()?;
        Ok(cpu)
    }

    /// Cycles that these events take: the sum of each count times its cost.
    #[must_use]
    pub fn cycles(&self, events: &Events) -> f64 {
        events.product(&self.costs, |&count, cost| count as f64 * cost.cycles)
    }

    /// As [`cycles`](Self::cycles), for the counts that a paper has.
    #[must_use]
    pub fn cycles_of(&self, events: &BTreeMap<String, f64>) -> f64 {
        self.costs
            .named()
            .into_iter()
            .map(|(name, cost)| events.get(name).copied().unwrap_or(0.0) * cost.cycles)
            .sum()
    }
}
