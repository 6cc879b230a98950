// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a checker reports.

use crate::events::Owner;
use crate::report::ViolationReport;
use crate::symbols::Symbols;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A rule that was broken.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// A translation was used that the tables no longer have and no flush removed.
    StaleTranslation,
    /// A line of a cache with virtual addresses was used that has other memory than the address.
    CacheAlias,
    /// The tables were switched, or a TLB or cache flushed, in an interval declared free of that.
    FlushInFreeInterval,
    /// User code accessed an address outside of its window of linear addresses.
    OutsideWindow,
    /// Ring 1 accessed the kernel's part of the linear addresses: its segments must end below.
    BeyondLimit,
    /// A global translation was used that ring 3 may use: it stays when the space changes.
    GlobalUserPage,
    /// Ring 1 continues while a descriptor that it can load reaches into the kernel's part.
    OpenDescriptor,
    /// Ring 1 continues while a segment register has such a descriptor, or one that is gone.
    OpenSegmentRegister,
    /// Ring 3 of a small space accessed an address outside of its code segment.
    OutsideRegion,
    /// A small space continues with a code segment whose size or place no small space can have.
    OddRegion,
    /// A small space continues while a descriptor that it can load reaches beyond its code segment.
    WideDescriptor,
    /// A small space continues while a segment register has such a descriptor, or one that is gone.
    WideSegmentRegister,
    /// Ring 3 continues with the segments of a large space, and with the tables with which a small
    /// space ran last.
    LargeInHome,
    /// Memory was read while a write through another virtual address may still be in a cache.
    DirtyElsewhere,
    /// Memory was written while an older write through another virtual address may still be written
    /// back over it.
    LateWriteBack,
    /// A line of data was used that is older than the memory.
    OldLine,
    /// Code was fetched that may still be in the cache of data.
    DirtyCode,
    /// A line of code was used that is older than the memory.
    OldCode,
    /// A table's entry was read that may still be in the cache of data.
    DirtyTable,
    /// An invalidation has dropped data that was written.
    DroppedWrite,
    /// The hashed table has another translation than the tables.
    StaleHash,
    /// Memory was written through an entry without C: a processor would set C in the hashed table,
    /// or enter the kernel to do it.
    Unchanged,
    /// A segment register has another space's VSID, of a space that ran before.
    OpenSegment,
    /// A VSID became another space's while a TLB or the hashed table may have something of it.
    EarlyContext,
    /// A reservation of one thread still holds when another one continues.
    KeptReservation,
    /// A page of the kernel was used that is both writable and executable, or ring 0 executed a
    /// page that ring 3 may use.
    WritableCode,
    /// User mode continues with the ASID of another space, which has run with it since the TLB was
    /// emptied.
    EarlyTag,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StaleTranslation => "stale translation used",
            Self::CacheAlias => "cache line of other memory used",
            Self::FlushInFreeInterval => "flush in an interval declared free of flushes",
            Self::OutsideWindow => "user access outside the window",
            Self::BeyondLimit => "ring 1 in the kernel's part",
            Self::GlobalUserPage => "global translation of a user page used",
            Self::OpenDescriptor => "descriptor for ring 1 reaches the kernel's part",
            Self::OpenSegmentRegister => "segment register of ring 1 may reach the kernel's part",
            Self::OutsideRegion => "small space beyond its region",
            Self::OddRegion => "code segment of a small space is no region",
            Self::WideDescriptor => "descriptor for a small space reaches beyond its region",
            Self::WideSegmentRegister => {
                "segment register of a small space may reach beyond its region"
            }
            Self::LargeInHome => "segments of a large space in a home",
            Self::DirtyElsewhere => "memory read that is dirty under another address",
            Self::LateWriteBack => "memory written that is dirty under another address",
            Self::OldLine => "cache line older than memory used",
            Self::DirtyCode => "code fetched that is dirty in the data cache",
            Self::OldCode => "line of code older than memory used",
            Self::DirtyTable => "table walked that is dirty in the data cache",
            Self::DroppedWrite => "dirty line invalidated",
            Self::StaleHash => "stale entry in the hashed table",
            Self::Unchanged => "store through an entry without C",
            Self::OpenSegment => "segment of another space open",
            Self::EarlyContext => "VSID of another space used again too early",
            Self::KeptReservation => "reservation of another thread kept",
            Self::WritableCode => "code of the kernel that can be written",
            Self::EarlyTag => "ASID of another space used",
        })
    }
}

/// By the name that `Debug` shows.
impl FromStr for Rule {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::deserialize(name.into_deserializer())
    }
}

/// A segment register of a processor that has them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Segment {
    /// Its number in encodings.
    pub register: u8,
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub selector: u16,
}

/// Where a rule was broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// Linear address of the instruction.
    pub instruction: u64,
    /// Linear address that it accessed, or the interval's number, or a selector.
    pub address: u64,
    /// The owner of the instruction.
    pub owner: Owner,
    /// For an address beyond a limit: the segment register that was used, and its selector, if that
    /// is known.
    pub segment: Option<Segment>,
    /// Linear address of the instruction that changed the table.
    pub cause: Option<u32>,
}

/// More different violations than this are only counted.
const MOST: usize = 200;

/// All that were found.
#[derive(Default)]
pub struct Violations {
    found: BTreeMap<Violation, u64>,
    more: u64,
    /// Rules of which one violation is enough.
    until: Vec<Rule>,
    is_enough: bool,
}

impl Violations {
    /// No violations yet; one of any of these rules will be enough.
    pub fn until(rules: Vec<Rule>) -> Self {
        Self { until: rules, ..Self::default() }
    }

    /// Whether a violation was found that is enough.
    pub fn is_enough(&self) -> bool {
        self.is_enough
    }

    /// Adds one.
    pub fn add(&mut self, violation: Violation) {
        self.is_enough |= self.until.contains(&violation.rule);
        if self.found.len() < MOST || self.found.contains_key(&violation) {
            *self.found.entry(violation).or_insert(0) += 1;
        } else {
            self.more += 1;
        }
    }

    /// How many are not in the report's list.
    pub fn more(&self) -> u64 {
        self.more
    }

    /// What to print.
    pub fn report(&self, symbols: &Symbols) -> Vec<ViolationReport> {
        let one = |(violation, &times): (&Violation, &u64)| ViolationReport {
            rule: violation.rule.to_string(),
            instruction: format!("{:#010x}", violation.instruction),
            // Of the kernel's addresses symbols have the lower half.
            symbol: symbols.name(violation.instruction as u32),
            address: format!("{:#010x}", violation.address),
            segment: violation
                .segment
                .map(|Segment { name, selector, .. }| format!("{name} {selector:#06x}")),
            cause: violation
                .cause
                .map(|cause| symbols.name(cause).unwrap_or_else(|| format!("{cause:#010x}"))),
            owner: format!("{:?}", violation.owner).to_lowercase(),
            times,
        };
        self.found.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_wanted_rule_is_enough() {
        let wanted = "OldLine".parse().expect("a rule");
        assert!(wanted == Rule::OldLine && "OldLines".parse::<Rule>().is_err());
        let mut violations = Violations::until(vec![wanted]);
        let broken = |rule| Violation {
            rule,
            instruction: 1,
            address: 2,
            owner: Owner::Kernel,
            segment: None,
            cause: None,
        };
        violations.add(broken(Rule::OldCode));
        assert!(!violations.is_enough());
        violations.add(broken(Rule::OldLine));
        assert!(violations.is_enough());
        let mut all = Violations::default();
        all.add(broken(Rule::OldLine));
        assert!(!all.is_enough());
    }
}
