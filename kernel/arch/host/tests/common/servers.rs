// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tests of servers have in common: spaces with a place, and the properties that all of them
//! must have at any time.

use super::{Found, call, leaves_of, named, slot, succeeds};
use abi::utcb::AREA_BYTES;
use abi::{Error, Op, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, HostFormat, Part, WINDOWS};
use kcore::attach::{self, attachment};
use kcore::{Attachment, Kernel, Owner, Segment, Space, Table};
use mmu::Format;
use pool::Ref;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// The kernel's part of a native space.
pub const AREA: Word = AREA_BYTES;
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
    succeeds(
        kernel,
        Op::CreateSpace,
        [slot::QUOTA, if place.is_some() { 4 } else { 0 }, space, place.unwrap_or(0)],
    );
}

/// Makes a home.
pub fn create_home(kernel: &mut Kernel<Host>, home: Word) {
    succeeds(kernel, Op::CreateSpace, [slot::QUOTA, 0, home, abi::HOME]);
}

/// The entry that names a leaf table of an owner, as a processor finds it.
pub fn entry_of(kernel: &Kernel<Host>, owner: Owner, index: usize) -> Word {
    let level = match owner {
        Owner::Space(_) => HostFormat::LEVELS - 1,
        Owner::Segment(_) => 1,
    };
    let mut table: Ref<Table> = kernel.pool[owner.region()].top.get().expect("it has tables");
    for level in (1..=level).rev() {
        let entry = kernel.port.walker[&table.address()].entries::<HostFormat>()
            [index / HostFormat::tables_of_entry(level) % HostFormat::ENTRIES];
        if level == 1 {
            return entry;
        }
        let Some((physical, _)) = HostFormat::decode_table(entry) else { return 0 };
        table = Ref::new(kcore::port::Translation::pool_address(&kernel.port, physical));
    }
    0
}

/// The directories that are attached to a space.
pub fn records(kernel: &Kernel<Host>, space: Ref<Space>) -> Vec<Attachment> {
    let mut found = Vec::new();
    attach::for_each(&kernel.pool, kernel.pool[space].segments, &mut |at| {
        found.push(kernel.pool[at])
    });
    found
}

/// Whether an entry of a directory is another's, or marked as the place of one.
fn is_shared(entry: Word) -> bool {
    HostFormat::shared(entry, Rights::RWX) == entry
}

/// Whose directory a record is of.
fn source_of(record: &Attachment) -> Owner {
    match record.kind {
        attachment::SEGMENT_IN_SPACE => Owner::Segment(Ref::<Segment>::new(record.source)),
        _ => Owner::Space(Ref::new(record.source)),
    }
}

/// The record by which a space is in a home.
pub fn smallness(kernel: &Kernel<Host>, space: Ref<Space>) -> Option<Attachment> {
    let mut found = Vec::new();
    let mut next = kernel.pool[space].region.uses;
    while let Some(at) = next.get() {
        found.push(kernel.pool[at]);
        next = kernel.pool[at].source_next;
    }
    let small = found.iter().find(|record| record.kind == attachment::SMALL_IN_HOME).copied();
    assert!(small.is_none() || found.len() == 1, "a small space is in one home, and no server");
    small
}

/// A space shows one server at most, has copies of each directory's entries as they are, and has
/// nothing of its own there, nor anything of another's elsewhere. A server has nothing but its
/// window, where all that it has is the supervisor's. A small space has nothing beyond its size but
/// the server that it shows.
pub fn check_space(kernel: &Kernel<Host>, space: Ref<Space>) {
    let owner = Owner::Space(space);
    let Space { window, region, .. } = kernel.pool[space];
    let records = records(kernel, space);
    let shown: Vec<&Attachment> =
        records.iter().filter(|record| record.kind == attachment::SERVER_IN_SPACE).collect();
    assert!(shown.len() <= 1, "two servers");
    let mut copies = BTreeSet::new();
    for record in &records {
        let source = source_of(record);
        let of = kernel.pool[source.region()];
        let base =
            if record.kind == attachment::SERVER_IN_SPACE { 0 } else { record.index as usize };
        assert!(
            kernel.pool[space].is_home() || record.kind != attachment::SMALL_IN_HOME,
            "it is no home"
        );
        for index in record.index as usize - base..of.tables() as usize {
            let (original, copy) =
                (entry_of(kernel, source, index), entry_of(kernel, owner, base + index));
            let expected = HostFormat::shared(original, Rights(record.rights));
            let is_late = of.changing as usize == index + 1;
            let is_missing = index >= record.cursor as usize
                && copy == HostFormat::shared(0, Rights(record.rights));
            assert!(
                copy == expected || is_late || is_missing,
                "entry {index}: {copy:#x} of {original:#x}"
            );
            assert!(copies.insert(base + index), "entry {index} is a copy of two");
        }
    }
    let found = leaves_of(kernel, owner);
    let entries =
        kernel.port.tops.iter().filter(|((of, _), entry)| *of == space.address() && **entry != 0);
    for ((_, index), entry) in entries {
        assert_eq!(is_shared(*entry), copies.contains(index), "entry {index}: {entry:#x}");
    }
    let end = shown
        .first()
        .map_or(USER_END, |record| kernel.pool[Ref::<Space>::new(record.source)].window.0);
    if let Some(small) = smallness(kernel, space) {
        assert_eq!(Word::from(small.large_tables) * TABLE_SPAN, end, "where its own part ended");
        assert!(
            region.end.0.is_power_of_two()
                && region.end.0 <= 1 << 30
                && !kernel.pool[space].is_home()
        );
        let behind = |found: &&Found| found.address >= region.end && found.address.0 < end;
        assert_eq!(
            found.iter().find(behind).map(|found| found.address),
            None,
            "something is beyond its size"
        );
    } else {
        assert_eq!(region.end.0, end, "where its own part ends");
    }
    let is_server = window != UserAddr::default();
    assert!(!is_server || records.is_empty(), "a server has nothing attached");
    for found in found {
        let entry = entry_of(kernel, owner, HostFormat::table_index(found.address));
        assert_eq!(
            HostFormat::supervisor(entry) == entry,
            is_server || found.address.0 >= end,
            "{found:?}: whose it is"
        );
        assert!(
            found.shared || !is_server || found.address >= window,
            "{found:?} is not in the window"
        );
        assert!(found.shared || found.address.0 < end, "{found:?} is in the window");
    }
    if is_server {
        for index in HostFormat::table_index(window)..HostFormat::USER_TABLES {
            let entry = entry_of(kernel, owner, index);
            assert_eq!(HostFormat::supervisor(entry), entry, "entry {index} is the users'");
        }
    }
}

/// What was flushed of spaces that a port knew to be small, and announced, was so in their homes,
/// too.
pub fn flush_homes(kernel: &mut Kernel<Host>, moved: &HashMap<u32, (u32, Range<UserAddr>)>) {
    let in_home = |(of, range): &Part| {
        let (home, place) = moved.get(of)?;
        let bytes = place.end - place.start;
        let (start, end) = (range.start.0.min(bytes), range.end.0.min(bytes));
        (start < end).then(|| (*home, place.start + start..place.start + end))
    };
    let port = &mut kernel.port;
    port.invalidated.extend(port.invalidated.iter().filter_map(in_home).collect::<Vec<_>>());
    let announced = port
        .announced
        .iter()
        .filter_map(|(part, change)| Some((Some(in_home(part.as_ref()?)?), *change)));
    port.announced.extend(announced.collect::<Vec<_>>());
}

/// The port knows where small spaces are: of these homes, which there are, and of no others. One
/// that is there in part is not known.
pub fn check_moved(kernel: &Kernel<Host>, homes: &[Ref<Space>]) {
    let mut expected = HashMap::new();
    for home in homes {
        for record in records(kernel, *home)
            .into_iter()
            .filter(|record| record.kind == attachment::SMALL_IN_HOME)
        {
            let small: Ref<Space> = Ref::new(record.source);
            let region = kernel.pool[small].region;
            if record.cursor == region.tables() {
                let start = HostFormat::table_start(record.index as usize);
                expected.insert(small.address(), (home.address(), start..start + region.end.0));
            }
        }
    }
    assert_eq!(kernel.port.moved, expected);
}

/// The port knows which space shows which: of these spaces, which exist, and of no others.
pub fn check_shown(kernel: &Kernel<Host>, spaces: &[Ref<Space>]) {
    let mut expected = HashMap::new();
    for space in spaces {
        for record in records(kernel, *space) {
            let is_whole = record.cursor == HostFormat::USER_TABLES as u32;
            if record.kind == attachment::SERVER_IN_SPACE
                && (is_whole || kernel.port.shown.contains_key(&space.address()))
            {
                expected.insert(space.address(), record.source);
            }
        }
    }
    assert_eq!(kernel.port.shown, expected);
}
