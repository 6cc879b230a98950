// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partition tables that another implementation made, and what remains of them when something is
//! destroyed.

use gpt::mbr::ProtectiveMBR;
use gpt::{GptConfig, partition_types};
use proptest::prelude::*;
use sectors::{NoPartition, Range, partition};
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};

const SECTORS: u64 = 4096;

/// A disk with a partition for each of these sizes in sectors, and where these are.
fn disk(sizes: &[u64]) -> (Vec<u8>, Vec<Range>) {
    let mut image = Cursor::new(vec![0; SECTORS as usize * 512]);
    ProtectiveMBR::with_lb_size(SECTORS as u32 - 1).overwrite_lba0(&mut image).expect("an MBR");
    let mut disk =
        GptConfig::new().writable(true).create_from_device(image, None).expect("a table");
    for size in sizes {
        disk.add_partition("part", size * 512, partition_types::LINUX_FS, 0, None).expect("room");
    }
    let found = disk.partitions().values();
    let ranges = found
        .map(|part| Range { first: part.first_lba, sectors: part.last_lba - part.first_lba + 1 })
        .collect();
    (disk.write().expect("written").into_inner(), ranges)
}

fn find(image: &[u8], number: u32) -> Result<Range, NoPartition> {
    partition(number, SECTORS, |sector| image.chunks(512).nth(sector as usize)?.try_into().ok())
}

#[test]
fn finds_the_partitions_of_another_implementation() {
    let (image, ranges) = disk(&[64, 1, 700]);
    assert_eq!(ranges.iter().map(|range| range.sectors).collect::<Vec<_>>(), [64, 1, 700]);
    for (number, range) in (1..).zip(&ranges) {
        assert_eq!(find(&image, number), Ok(*range));
    }
    for number in [0, 4, 128, 129, u32::MAX] {
        assert_eq!(find(&image, number), Err(NoPartition::NotThere));
    }
}

#[test]
fn the_table_at_the_end_stands_in() {
    let (mut image, ranges) = disk(&[64, 100]);
    // A byte of the header, of an entry, or all of it.
    for destroyed in [512..513, 600..604, 1024 + 160..1024 + 161, 0..34 * 512] {
        let before = image[destroyed.clone()].to_vec();
        image[destroyed.clone()].iter_mut().for_each(|byte| *byte ^= 0x5a);
        assert_eq!(find(&image, 2), Ok(ranges[1]), "{destroyed:?}");
        image[destroyed].copy_from_slice(&before);
    }
    let last = image.len() - 512;
    image[..1024].fill(0);
    image[last..].fill(0);
    assert_eq!(find(&image, 2), Err(NoPartition::NoTable));
}

#[test]
fn a_disk_of_another_size_has_no_table_at_its_end() {
    let (image, ranges) = disk(&[64]);
    let read = |sector| image.chunks(512).nth(sector as usize)?.try_into().ok();
    assert_eq!(
        partition(1, SECTORS / 2, read),
        Err(NoPartition::NoTable),
        "the partitions reach beyond it"
    );
    assert_eq!(partition(1, SECTORS * 2, read), Ok(ranges[0]));
    for sectors in 0..3 {
        assert_eq!(partition(1, sectors, read), Err(NoPartition::NoTable));
    }
}

proptest! {
    /// No bytes lead to anything but an answer, and one that is believed lies on the disk.
    #[test]
    fn what_is_on_the_disk_does_no_harm(
        number in 0..200_u32,
        writes in prop::collection::vec((prop_oneof![512..604_usize, 1024..2048_usize, 0..SECTORS as usize * 512], any::<u8>()), 0..8),
        repair in any::<bool>(),
    ) {
        let (mut image, _) = disk(&[64, 100]);
        for (at, byte) in writes { image[at] = byte; }
        if repair {
            // The checksums of what was written, so that it is looked at.
            let all = u64::from(u32::from_le_bytes(image[592..596].try_into().expect("four"))) * u64::from(u32::from_le_bytes(image[596..600].try_into().expect("four")));
            let first = u64::from_le_bytes(image[584..592].try_into().expect("eight"));
            let end = all.checked_add(first.saturating_mul(512)).filter(|end| *end <= image.len() as u64);
            if let Some(end) = end {
                let sum = crc32fast::hash(&image[first as usize * 512..end as usize]);
                image[600..604].copy_from_slice(&sum.to_le_bytes());
            }
            let size = u32::from_le_bytes(image[524..528].try_into().expect("four")) as usize;
            if size <= 512 {
                image[528..532].fill(0);
                let sum = crc32fast::hash(&image[512..512 + size]);
                image[528..532].copy_from_slice(&sum.to_le_bytes());
            }
        }
        if let Ok(range) = find(&image, number) {
            prop_assert!(range.sectors > 0 && range.first + range.sectors <= SECTORS);
        }
    }
}

/// Sectors of a disk of 2 TiB.
const LARGE: u64 = 1 << 32;

/// A disk of that size of which only the bytes are kept that were written.
#[derive(Debug, Default)]
struct Sparse {
    at: u64,
    sectors: BTreeMap<u64, [u8; 512]>,
}

impl Sparse {
    fn sector(&self, sector: u64) -> [u8; 512] {
        self.sectors.get(&sector).copied().unwrap_or([0; 512])
    }

    /// How many of so many bytes are in one sector from here on, and where in that.
    fn piece(&self, bytes: usize) -> (u64, std::ops::Range<usize>) {
        let within = (self.at % 512) as usize;
        (self.at / 512, within..(within + bytes).min(512))
    }
}

impl Read for Sparse {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let (sector, piece) = self.piece(bytes.len());
        bytes[..piece.len()].copy_from_slice(&self.sector(sector)[piece.clone()]);
        self.at += piece.len() as u64;
        Ok(piece.len())
    }
}

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let (sector, piece) = self.piece(bytes.len());
        let kept = self.sectors.entry(sector).or_insert([0; 512]);
        kept[piece.clone()].copy_from_slice(&bytes[..piece.len()]);
        self.at += piece.len() as u64;
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let (base, offset) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(offset) => (self.at, offset),
            SeekFrom::End(offset) => (LARGE * 512, offset),
        };
        self.at = base.checked_add_signed(offset).ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[test]
fn a_partition_at_the_end_of_2_tib() {
    let mut image = Sparse::default();
    ProtectiveMBR::with_lb_size(u32::MAX).overwrite_lba0(&mut image).expect("an MBR");
    let mut disk =
        GptConfig::new().writable(true).create_from_device(image, None).expect("a table");
    // All but the last MiB or so.
    let first = (LARGE - (4 << 11)) * 512;
    disk.add_partition("large", first, partition_types::LINUX_FS, 0, None).expect("room");
    disk.add_partition("last", 1 << 20, partition_types::LINUX_FS, 0, None).expect("room");
    let part = disk.partitions()[&2].clone();
    let mut image = disk.write().expect("written");
    let range = Range { first: part.first_lba, sectors: 2048 };
    assert!(range.first > LARGE - (4 << 11) && range.first + range.sectors <= LARGE);
    for _ in 0..2 {
        assert_eq!(partition(2, LARGE, |sector| Some(image.sector(sector))), Ok(range));
        assert_eq!(range.part(2047, 1), Some(range.first + 2047));
        assert_eq!(range.part(2047, 2), None);
        assert_eq!(range.part(1 << 32, 1), None);
        // Then the table at the end.
        image.sectors.remove(&1);
    }
}
