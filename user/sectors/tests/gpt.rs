// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partition tables that another implementation made, and what remains of them when something is destroyed.

use gpt::mbr::ProtectiveMBR;
use gpt::{GptConfig, partition_types};
use proptest::prelude::*;
use sectors::{NoPartition, Range, partition};
use std::io::Cursor;

const SECTORS: u64 = 4096;

/// A disk with a partition for each of these sizes in sectors, and where these are.
fn disk(sizes: &[u64]) -> (Vec<u8>, Vec<Range>) {
    let mut image = Cursor::new(vec![0; SECTORS as usize * 512]);
    ProtectiveMBR::with_lb_size(SECTORS as u32 - 1).overwrite_lba0(&mut image).expect("an MBR");
    let mut disk = GptConfig::new().writable(true).create_from_device(image, None).expect("a table");
    for size in sizes {
        disk.add_partition("part", size * 512, partition_types::LINUX_FS, 0, None).expect("room");
    }
    let found = disk.partitions().values();
    let ranges = found.map(|part| Range { first: part.first_lba, sectors: part.last_lba - part.first_lba + 1 }).collect();
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
    assert_eq!(partition(1, SECTORS / 2, read), Err(NoPartition::NoTable), "the partitions reach beyond it");
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
