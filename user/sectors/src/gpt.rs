// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitions of a GPT (UEFI 2.10, 5.3), on a disk whose blocks are sectors. A table is believed if
//! its checksums are right.

use crate::range::Range;
use core::fmt;
use crc32fast::Hasher;
use image::protocol::disk::SECTOR;

/// A sector's bytes.
type Bytes = [u8; SECTOR as usize];

/// Why there is no such partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoPartition {
    /// Neither the table at the disk's start nor that at its end is one.
    NoTable,
    /// The table has no partition of this number, or one that cannot be.
    NotThere,
}

impl fmt::Display for NoPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTable => "the disk has no GPT",
            Self::NotThere => "its GPT has no such partition",
        })
    }
}

/// The longest table that is read: 64 times the usual one.
const MOST_BYTES: u64 = 1 << 20;
/// Bytes of a header, as far as it is defined.
const HEADER: usize = 92;
/// The smallest entry.
const ENTRY: u32 = 128;

/// What a table's header says of it.
struct Header {
    /// Sectors for partitions.
    usable: core::ops::RangeInclusive<u64>,
    /// The first sector of the entries.
    entries: u64,
    count: u32,
    /// Bytes of an entry.
    bytes: u32,
    checksum: u32,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    (0..4).map(|i| u32::from(bytes[at + i]) << (8 * i)).sum()
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

impl Header {
    /// Of what is in sector `place` of a disk of so many sectors.
    fn read(bytes: &Bytes, place: u64, sectors: u64) -> Option<Self> {
        let size = usize::try_from(word(bytes, 12))
            .ok()
            .filter(|size| (HEADER..=bytes.len()).contains(size))?;
        let mut hasher = Hasher::new();
        [&bytes[..16], &[0; 4], &bytes[20..size]].iter().for_each(|part| hasher.update(part));
        let is_header = bytes.starts_with(b"EFI PART")
            && hasher.finalize() == word(bytes, 16)
            && long(bytes, 24) == place;
        let (first, last) = (long(bytes, 40), long(bytes, 48));
        let (entries, count, size, checksum) =
            (long(bytes, 72), word(bytes, 80), word(bytes, 84), word(bytes, 88));
        let all = u64::from(count) * u64::from(size);
        let has_entries =
            size >= ENTRY && size.is_power_of_two() && (1..=MOST_BYTES).contains(&all);
        let end = entries.checked_add(all.div_ceil(SECTOR.into()))?;
        let is_inside = end <= sectors && first <= last && last < sectors;
        (is_header && has_entries && is_inside).then_some(Self {
            usable: first..=last,
            entries,
            count,
            bytes: size,
            checksum,
        })
    }

    /// The entry of a partition, as far as it is used; `None` if the entries are not those of this
    /// header. No entry for a partition that there is not.
    fn entry(
        &self,
        number: u32,
        read: &mut impl FnMut(u64) -> Option<Bytes>,
    ) -> Option<Option<[u8; 48]>> {
        let all = u64::from(self.count) * u64::from(self.bytes);
        let wanted = u64::from(number.wrapping_sub(1)) * u64::from(self.bytes);
        let (mut hasher, mut entry) = (Hasher::new(), None);
        for (sector, at) in (self.entries..).zip((0..all).step_by(SECTOR as usize)) {
            let bytes = read(sector)?;
            hasher.update(&bytes[..(all - at).min(SECTOR.into()) as usize]);
            if wanted / u64::from(SECTOR) == at / u64::from(SECTOR) && wanted < all {
                let within = (wanted - at) as usize;
                entry = bytes[within..within + 48].try_into().ok();
            }
        }
        (hasher.finalize() == self.checksum).then_some(entry)
    }
}

/// Where the partition `number`, counted from 1, lies on a disk of so many sectors, which `read`
/// reads one at a time.
///
/// # Errors
/// If there is none.
pub fn partition(
    number: u32,
    sectors: u64,
    mut read: impl FnMut(u64) -> Option<Bytes>,
) -> Result<Range, NoPartition> {
    // The one at the end is for when that at the start was lost.
    for place in [1, sectors.saturating_sub(1)] {
        let header = read(place).and_then(|bytes| Header::read(&bytes, place, sectors));
        let Some((header, entry)) =
            header.and_then(|header| header.entry(number, &mut read).map(|entry| (header, entry)))
        else {
            continue;
        };
        let entry = entry.filter(|entry| entry[..16] != [0; 16]).ok_or(NoPartition::NotThere)?;
        let (first, last) = (long(&entry, 32), long(&entry, 40));
        let is_inside =
            first <= last && header.usable.contains(&first) && header.usable.contains(&last);
        return if is_inside {
            Ok(Range { first, sectors: last - first + 1 })
        } else {
            Err(NoPartition::NotThere)
        };
    }
    Err(NoPartition::NoTable)
}
