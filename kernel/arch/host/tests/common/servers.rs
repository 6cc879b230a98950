// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tests of servers have in common: spaces with a place, and what holds of all of them at any time.

use super::{call, leaves_of, named, slot, succeeds};
use abi::utcb::{AREA_END, AREA_START};
use abi::{Error, Op, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, HostFormat, WINDOWS};
use kcore::attach::{self, attachment};
use kcore::{Attachment, Kernel, Owner, Segment, Space, Table};
use mmu::Format;
use pool::Ref;
use std::collections::HashMap;

/// The kernel's part of a native space.
pub const AREA: Word = AREA_END - AREA_START;
/// Where windows begin. The first one is all that the root server has.
pub const STARTS: [Word; 3] = [WINDOWS, WINDOWS + 8 * TABLE_SPAN, WINDOWS + 40 * TABLE_SPAN];
/// The root server's Memory of addresses.
pub const ALL_WINDOWS: Word = abi::boot::slot::WINDOWS as Word;
pub const RWX: Word = Rights::RWX.0 as Word;
pub const READ_WRITE: Rights = Rights::READ.union(Rights::WRITE);

pub fn root(kernel: &Kernel<Host>) -> Ref<Space> {
    let first = kernel.threads.get(1).expect("the root server's thread");
    kernel.pool[first].space.get().expect("in its space")
}

pub fn space_of(kernel: &Kernel<Host>, selector: Word) -> Ref<Space> {
    named(kernel, root(kernel), selector)
}

pub fn fails(kernel: &mut Kernel<Host>, op: Op, args: [Word; 4], error: Error) {
    assert_eq!(call(kernel, op, args)[0], error as Word, "{op:?} {args:?} {error:?}");
}

/// Makes a space with the kernel's part at a place, or one of aliens.
pub fn create(kernel: &mut Kernel<Host>, space: Word, place: Option<Word>) {
    succeeds(kernel, Op::CreateSpace, [slot::QUOTA, if place.is_some() { 4 } else { 0 }, space, place.unwrap_or(0)]);
}

/// The entry that names a leaf table of an owner, as a processor finds it.
pub fn entry_of(kernel: &Kernel<Host>, owner: Owner, index: usize) -> Word {
    let level = match owner {
        Owner::Space(_) => HostFormat::LEVELS - 1,
        Owner::Segment(_) => 1,
    };
    let mut table: Ref<Table> = kernel.pool[owner.region()].top.get().expect("it has tables");
    for level in (1..=level).rev() {
        let entry =
            kernel.port.walker[&table.address()].entries::<HostFormat>()[index / HostFormat::tables_of_entry(level) % HostFormat::ENTRIES];
        if level == 1 {
            return entry;
        }
        let Some((physical, _)) = HostFormat::decode_table(entry) else { return 0 };
        table = Ref::new(kcore::Port::pool_address(&kernel.port, physical));
    }
    0
}

/// The directories that are attached to a space.
pub fn records(kernel: &Kernel<Host>, space: Ref<Space>) -> Vec<Attachment> {
    let mut found = Vec::new();
    attach::for_each(&kernel.pool, kernel.pool[space].segments, &mut |at| found.push(kernel.pool[at]));
    found
}

/// A space shows one server at most, has copies of each directory's entries as they are, and has nothing of its own there. A
/// server has nothing but its window, where all that it has is the supervisor's.
pub fn check_space(kernel: &Kernel<Host>, space: Ref<Space>) {
    let owner = Owner::Space(space);
    let Space { window, region, .. } = kernel.pool[space];
    let records = records(kernel, space);
    let shown: Vec<&Attachment> = records.iter().filter(|record| record.kind == attachment::SERVER_IN_SPACE).collect();
    assert!(shown.len() <= 1, "two servers");
    for record in &records {
        let is_server = record.kind == attachment::SERVER_IN_SPACE;
        let source = if is_server { Owner::Space(Ref::new(record.source)) } else { Owner::Segment(Ref::<Segment>::new(record.source)) };
        let of = kernel.pool[source.region()];
        let base = if is_server { 0 } else { record.index as usize };
        for index in record.index as usize - base..of.tables() as usize {
            let (original, copy) = (entry_of(kernel, source, index), entry_of(kernel, owner, base + index));
            let expected = HostFormat::shared(original, Rights(record.rights));
            let is_late = of.changing as usize == index + 1;
            let is_missing = index >= record.cursor as usize && copy == HostFormat::shared(0, Rights(record.rights));
            assert!(copy == expected || is_late || is_missing, "entry {index}: {copy:#x} of {original:#x}");
        }
    }
    let end = shown.first().map_or(USER_END, |record| kernel.pool[Ref::<Space>::new(record.source)].window.0);
    assert_eq!(region.end.0, end, "where its own part ends");
    let is_server = window != UserAddr::default();
    assert!(!is_server || records.is_empty(), "a server has nothing attached");
    for found in leaves_of(kernel, owner) {
        let entry = entry_of(kernel, owner, HostFormat::table_index(found.address));
        assert_eq!(HostFormat::supervisor(entry) == entry, is_server || found.address.0 >= end, "{found:?}: whose it is");
        assert!(found.shared || !is_server || found.address >= window, "{found:?} is not in the window");
        assert!(found.shared || found.address.0 < end, "{found:?} is in the window");
    }
    if is_server {
        for index in HostFormat::table_index(window)..HostFormat::USER_TABLES {
            let entry = entry_of(kernel, owner, index);
            assert_eq!(HostFormat::supervisor(entry), entry, "entry {index} is the users'");
        }
    }
}

/// The port knows who shows whom: of these spaces, which there are, and of no others.
pub fn check_shown(kernel: &Kernel<Host>, spaces: &[Ref<Space>]) {
    let mut expected = HashMap::new();
    for space in spaces {
        for record in records(kernel, *space) {
            let is_whole = record.cursor == HostFormat::USER_TABLES as u32;
            if record.kind == attachment::SERVER_IN_SPACE && (is_whole || kernel.port.shown.contains_key(&space.address())) {
                expected.insert(space.address(), record.source);
            }
        }
    }
    assert_eq!(kernel.port.shown, expected);
}
