// SPDX-License-Identifier: MIT OR Apache-2.0
//! What boot loaders report, from memory that the tests write.

use abi::PhysAddr;
use arch_common::{multiboot, multiboot2, pvh};
use kcore::boot::Range;
use std::collections::BTreeMap;

/// Words of physical memory. The rest is zero.
#[derive(Default)]
struct Memory(BTreeMap<u32, u32>);

impl Memory {
    /// Writes words from an address on.
    fn put(&mut self, at: u32, words: &[u32]) {
        self.0.extend((at..).step_by(4).zip(words.iter().copied()));
    }

    fn peek(&self) -> impl Fn(u32) -> u32 {
        |at| self.0.get(&at).copied().unwrap_or_default()
    }
}

fn range(base: u32, bytes: u32) -> Range {
    Range { base: PhysAddr(base), bytes }
}

/// Where the information is.
const INFO: u32 = 0x9000;

#[test]
fn multiboot_2_has_tags_at_multiples_of_eight_bytes() {
    let mut memory = Memory::default();
    // A command line of one byte, two modules with names, a memory map of RAM, what is reserved and
    // RAM above 4 GiB, and the end.
    memory.put(INFO, &[8 + 16 + 24 + 24 + 88 + 8, 0]);
    memory.put(INFO + 8, &[1, 9, 0]);
    memory.put(INFO + 24, &[3, 19, 0x20_0000, 0x20_1800]);
    memory.put(INFO + 48, &[3, 20, 0x30_0000, 0x30_0001]);
    memory.put(INFO + 72, &[6, 88, 24, 0]);
    memory.put(INFO + 88, &[0x10_0000, 0, 0x70_0000, 0, 1, 0]);
    memory.put(INFO + 112, &[0x80_0000, 0, 0x10_0000, 0, 2, 0]);
    memory.put(INFO + 136, &[0, 1, 0x10_0000, 0, 1, 0]);
    memory.put(INFO + 160, &[0, 8]);
    let module = |index| multiboot2::module(memory.peek(), INFO, index);
    assert_eq!(module(0), Some(range(0x20_0000, 0x1800)));
    assert_eq!(module(1), Some(range(0x30_0000, 1)));
    assert_eq!(module(2), None);
    let ram = multiboot2::memory_map(memory.peek(), INFO).expect("a memory map");
    assert_eq!(ram.ranges(), [range(0x10_0000, 0x70_0000)]);
}

#[test]
fn what_is_no_multiboot_2_has_nothing() {
    let mut memory = Memory::default();
    // A tag without bytes would never end, nor would one that is followed by itself or by one before
    // it, as sums wrap.
    for bytes in [0, 0xffff_fff9, 0xffff_fff0] {
        memory.put(INFO, &[0x1000, 0, 1, bytes, 1, bytes]);
        assert_eq!(multiboot2::module(memory.peek(), INFO, 0), None);
        assert!(multiboot2::memory_map(memory.peek(), INFO).is_none());
    }
}

#[test]
fn pvh_has_one_module_and_a_memory_map_elsewhere() {
    let mut memory = Memory::default();
    memory.put(INFO, &[pvh::MAGIC, 1, 0, 1, 0x1000, 0, 0, 0, 0, 0, 0x2000, 0, 2, 0]);
    memory.put(0x1000, &[0x20_0000, 0, 0x1800, 0]);
    memory.put(0x2000, &[0, 0, 0x9_fc00, 0, 1, 0]);
    memory.put(0x2018, &[0x10_0000, 0, 0x70_0000, 0, 1, 0]);
    assert_eq!(pvh::module(memory.peek(), INFO), Some(range(0x20_0000, 0x1800)));
    let ram = pvh::memory_map(memory.peek(), INFO).expect("a memory map");
    assert_eq!(ram.ranges(), [range(0, 0x9_f000), range(0x10_0000, 0x70_0000)]);
    // Entries end with the addresses.
    memory.put(INFO + 48, &[u32::MAX]);
    memory.put(INFO + 40, &[0xffff_ff00]);
    assert!(pvh::memory_map(memory.peek(), INFO).expect("a memory map").ranges().is_empty());
    // The first version has no memory map, and another loader has another number.
    for wrong in [[pvh::MAGIC, 0], [0, 1]] {
        memory.put(INFO, &wrong);
        assert!(pvh::memory_map(memory.peek(), INFO).is_none());
    }
    // A module above 4 GiB is not reached.
    memory.put(0x1000, &[0x20_0000, 1]);
    assert_eq!(pvh::module(memory.peek(), INFO), None);
}

#[test]
fn a_command_line_is_where_the_loader_says() {
    let mut memory = Memory::default();
    memory.put(INFO, &[pvh::MAGIC, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(pvh::command_line(memory.peek(), INFO), None);
    memory.put(INFO + 24, &[0xa000]);
    assert_eq!(pvh::command_line(memory.peek(), INFO), Some(0xa000));
    // A line above 4 GiB is not reached.
    memory.put(INFO + 28, &[1]);
    assert_eq!(pvh::command_line(memory.peek(), INFO), None);
    memory.put(INFO, &[24, 0, 1, 14, 0, 0]);
    assert_eq!(multiboot2::command_line(memory.peek(), INFO), Some(INFO + 16));
    memory.put(INFO, &[0, 0, 0, 0, 0xa000]);
    assert_eq!(multiboot::command_line(memory.peek(), INFO), None);
    memory.put(INFO, &[1 << 2]);
    assert_eq!(multiboot::command_line(memory.peek(), INFO), Some(0xa000));
}

/// A pointer to tables, of this revision: the list of 32 bits is at 0x7fe1000.
fn pointer(revision: u32, wide: u64) -> [u32; 9] {
    let [rsd, ptr] = [*b"RSD ", *b"PTR "].map(u32::from_le_bytes);
    [rsd, ptr, 0, revision << 24, 0x7fe_1000, 36, wide as u32, (wide >> 32) as u32, 0]
}

/// Lists by pointers of each revision.
const POINTERS: [(u32, u64, Option<u64>); 4] = [
    (0, 0x1234, Some(0x7fe_1000)),
    (2, 0x7fe_2000, Some(0x7fe_2000)),
    (2, 0x1_0000_0000, Some(0x1_0000_0000)),
    (2, 0, Some(0x7fe_1000)),
];

#[test]
fn the_firmwares_list_of_tables_is_where_the_pointer_says() {
    for (revision, wide, list) in POINTERS {
        let mut memory = Memory::default();
        memory.put(INFO, &[pvh::MAGIC, 1, 0, 0, 0, 0, 0, 0, 0xf_5a20, 0]);
        memory.put(0xf_5a20, &pointer(revision, wide));
        assert_eq!(pvh::list(memory.peek(), INFO), list);
        memory.put(0xf_5a20, &[0]);
        assert_eq!(pvh::list(memory.peek(), INFO), None, "no pointer");
        // An address that its words would wrap around, and one above 4 GiB.
        for at in [[0xffff_fff0, 0], [0xf_5a20, 1]] {
            memory.put(INFO + 32, &at);
            assert_eq!(pvh::list(memory.peek(), INFO), None);
        }
    }
}

#[test]
fn a_loader_of_multiboot_2_leaves_a_copy_of_the_pointer() {
    // A copy as of the first revision; one of the second comes first, wherever it is.
    let mut memory = Memory::default();
    memory.put(INFO, &[8 + 32 + 48 + 8, 0, 14, 28]);
    memory.put(INFO + 16, &pointer(0, 0)[..5]);
    memory.put(INFO + 40, &[0, 8]);
    let list = |memory: &Memory| multiboot2::list(memory.peek(), INFO);
    assert_eq!(list(&memory), Some(0x7fe_1000));
    memory.put(INFO + 40, &[15, 44]);
    memory.put(INFO + 48, &pointer(2, 0x7fe_2000));
    memory.put(INFO + 88, &[0, 8]);
    assert_eq!(list(&memory), Some(0x7fe_2000));
    // One that is short has no list of 64 bits, and what is after it is not read for one.
    memory.put(INFO + 40, &[15, 28]);
    assert_eq!(list(&memory), Some(0x7fe_1000));
    // One that is no pointer is passed over.
    memory.put(INFO + 40, &[15, 12]);
    assert_eq!(list(&memory), Some(0x7fe_1000));
    memory.put(INFO + 16, &[0]);
    assert_eq!(list(&memory), None);
    memory.put(INFO + 8, &[1]);
    memory.put(INFO + 40, &[1]);
    assert_eq!(list(&memory), None);
}

#[test]
fn the_firmwares_tables_are_the_whole_pages_that_the_memory_map_says() {
    let mut memory = Memory::default();
    memory.put(INFO, &[8 + 88 + 8, 0, 6, 88, 24, 0]);
    memory.put(INFO + 24, &[0x10_0000, 0, 0x70_0000, 0, 1, 0]);
    memory.put(INFO + 48, &[0x7fe_0000, 0, 0x1_0800, 0, 3, 0]);
    memory.put(INFO + 72, &[0x7ff_0800, 0, 0x800, 0, 3, 0]);
    memory.put(INFO + 96, &[0, 8]);
    let tables = |list| multiboot2::tables(memory.peek(), INFO, list);
    assert_eq!(tables(0x7fe_1000), Some(range(0x7fe_0000, 0x1_0000)));
    assert_eq!(tables(0x7fe_0000), Some(range(0x7fe_0000, 0x1_0000)));
    assert_eq!(tables(0x7ff_0900), None, "less than a page");
    for list in [0x7fd_ffff, 0x7ff_1000, 0x20_0000, u64::MAX] {
        assert_eq!(tables(list), None);
    }
}
