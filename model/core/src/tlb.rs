// SPDX-License-Identifier: MIT OR Apache-2.0
//! How TLBs are built: their geometry.

use crate::replacement::Replacement;
use serde::Deserialize;

/// The geometry of a TLB.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct TlbGeometry {
    /// Entries.
    pub entries: u32,
    /// Entries of a set; all of them if absent.
    pub ways: Option<u32>,
    /// Which entry is replaced.
    #[serde(default)]
    pub replacement: Replacement,
    /// Where large pages are held.
    #[serde(default)]
    pub large: LargePages,
}

/// Where a TLB holds large pages.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LargePages {
    /// In the entries for all pages.
    #[default]
    Shared,
    /// In the entries for all pages, in pieces of 4 KiB as they are used.
    Pieces,
    /// In entries of their own.
    Own {
        /// Entries.
        entries: u32,
        /// Entries of a set.
        ways: u32,
    },
}

/// How many entries of the upper levels of tables a processor keeps, each with the addresses that
/// it maps (Intel SDM volume 3, section 4.10.3). Each is fully associative, and replaces the least
/// recently used entry.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct WalkGeometry {
    /// Of the highest tables.
    pub pml4e: usize,
    /// Of those below.
    pub pdpte: usize,
    /// Of directories.
    pub pde: usize,
}

impl TlbGeometry {
    /// Why these numbers are impossible, if they are.
    pub(crate) fn check(&self) -> Result<(), String> {
        let small = (self.entries, self.ways.unwrap_or(self.entries));
        let large = if let LargePages::Own { entries, ways } = self.large {
            Some((entries, ways))
        } else {
            None
        };
        for (entries, ways) in [Some(small), large].into_iter().flatten() {
            if ways == 0 || !entries.is_multiple_of(ways) || !(entries / ways).is_power_of_two() {
                return Err(format!(
                    "{entries} entries with {ways} ways: the number of sets must be a power of two"
                ));
            }
        }
        Ok(())
    }
}
