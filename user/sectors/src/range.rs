// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranges of a disk.

use alloc::vec::Vec;

/// Sectors of a disk, one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The first.
    pub first: u64,
    /// How many.
    pub sectors: u64,
}

impl Range {
    /// Where on the disk `count` sectors begin that are the range's from its sector `first` on.
    /// `None` if there are no such.
    #[must_use]
    pub fn part(self, first: u64, count: u32) -> Option<u64> {
        let end = first.checked_add(count.into())?;
        if count == 0 || end > self.sectors { None } else { self.first.checked_add(first) }
    }

    fn end(self) -> Option<u64> {
        self.first.checked_add(self.sectors)
    }

    fn overlaps(self, other: Self) -> bool {
        let begins_before_end =
            |one: Self, other: Self| other.end().is_none_or(|end| one.first < end);
        begins_before_end(self, other) && begins_before_end(other, self)
    }
}

/// What a client is to have of the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// All of it.
    Whole,
    /// A partition of the GPT on it, counted from 1.
    Partition(u32),
    /// These sectors.
    Sectors(Range),
}

impl Claim {
    /// Reads `partition=N` or `sectors=FIRST+COUNT`; `None` if it is neither.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text.split_once('=')? {
            ("partition", number) => number.parse().ok().map(Self::Partition),
            ("sectors", range) => {
                let (first, sectors) = range.split_once('+')?;
                Some(Self::Sectors(Range {
                    first: first.parse().ok()?,
                    sectors: sectors.parse().ok()?,
                }))
            }
            _ => None,
        }
    }
}

/// Why a client has no range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused<E> {
    /// There is no such partition.
    Partition(E),
    /// It has no sectors, or the disk has not as many.
    Beyond,
    /// It has sectors of another client's range, of this number.
    Overlaps(usize),
}

/// The range of each client on a disk of so many sectors. `partition` finds those of the GPT.
pub fn ranges<E>(
    claims: impl IntoIterator<Item = Claim>,
    sectors: u64,
    mut partition: impl FnMut(u32) -> Result<Range, E>,
) -> Vec<Result<Range, Refused<E>>> {
    let mut ranges: Vec<Result<Range, Refused<E>>> = Vec::new();
    for claim in claims {
        let range = match claim {
            Claim::Whole => Ok(Range { first: 0, sectors }),
            Claim::Partition(number) => partition(number).map_err(Refused::Partition),
            Claim::Sectors(range) => Ok(range),
        };
        let checked = range.and_then(|range| {
            if range.sectors == 0 || range.end().is_none_or(|end| end > sectors) {
                return Err(Refused::Beyond);
            }
            let other = ranges
                .iter()
                .position(|other| other.as_ref().is_ok_and(|other| range.overlaps(*other)));
            other.map_or(Ok(range), |other| Err(Refused::Overlaps(other)))
        });
        ranges.push(checked);
    }
    ranges
}
