// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls for the thread that runs.
#![allow(dead_code, reason = "each test uses its part")]

pub mod model;
pub mod servers;

use abi::utcb::AREA_END;
use abi::{Delivery, MapRecord, Op, PAGE_SIZE, PhysAddr, Rights, TABLE_SPAN, Tag, UserAddr, Word};
use arch_host::{Host, HostFormat, HostRegisters, Part};
use kcore::port::{Change, Translation};
use kcore::{Kernel, Owner, Slot, Space, Table, Thread};
use mmu::{Format, Leaf};
use pool::{Pool, Ref};
use std::collections::BTreeMap;

/// Selectors that the root server starts with, as arguments.
pub mod slot {
    use abi::Word;
    use abi::boot::slot;

    pub const QUOTA: Word = slot::QUOTA as Word;
    pub const SPACE: Word = slot::SPACE as Word;
    pub const THREAD: Word = slot::THREAD as Word;
    pub const PORTS: Word = slot::PORTS as Word;
    pub const RAM: Word = slot::RAM as Word;
    pub const FREE: Word = arch_host::slot::FREE as Word;
    pub const IRQ: Word = slot::IRQ as Word;
}

/// Bytes of a page, as the pool counts them.
pub const PAGE: u32 = low(PAGE_SIZE);
/// Bytes of a word.
const WORD_BYTES: u32 = size_of::<Word>() as u32;

/// The low 32 bits of a word.
#[allow(clippy::unnecessary_cast, reason = "a word may have more of them")]
pub const fn low(word: Word) -> u32 {
    word as u32
}

/// A thread's registers as if it had just made a system call.
pub fn set_arguments(thread: &mut Thread, arguments: [Word; 5]) {
    arch_host::set_arguments::<HostRegisters>(thread, arguments);
}

/// The registers that a system call's results are in.
pub fn results(thread: &Thread) -> [Word; 5] {
    arch_host::results::<HostRegisters>(thread)
}

/// What a receive has found.
pub fn delivery(thread: &Thread) -> Delivery {
    Delivery(low(results(thread)[0]))
}

/// The tag of a message, as an argument.
pub const fn tag(op: Op, words: u32, caps: u32) -> Word {
    Tag::new(op, words, caps).0 as Word
}

/// Makes a system call to its end: status and results, or what a delivery has in these registers.
pub fn call(kernel: &mut Kernel<Host>, op: Op, args: [Word; 4]) -> [Word; 5] {
    call_with(kernel, op, args, &[])
}

/// A system call that must succeed.
pub fn succeeds(kernel: &mut Kernel<Host>, op: Op, args: [Word; 4]) -> [Word; 5] {
    let answer = call(kernel, op, args);
    assert_eq!(answer[0], 0, "{op:?} {args:?}");
    answer
}

/// A capability of a space's table.
pub fn slot_of(kernel: &Kernel<Host>, space: Ref<Space>, selector: Word) -> Slot {
    kernel.pool[Space::slot(space, low(selector))]
}

/// The object that a capability of a space's table names.
pub fn named<T>(kernel: &Kernel<Host>, space: Ref<Space>, selector: Word) -> Ref<T> {
    slot_of(kernel, space, selector).object()
}

/// The same in the pool of any kernel.
pub fn named_in<T>(pool: &Pool, space: Ref<Space>, selector: Word) -> Ref<T> {
    pool[Space::slot(space, low(selector))].object()
}

/// Begins a system call in which an interrupt waits at each look; whether it is to be carried on.
pub fn begin(kernel: &mut Kernel<Host>, op: Op, args: [Word; 4]) -> bool {
    let me = kernel.current().expect("somebody runs");
    set_arguments(&mut kernel.pool[me], [tag(op, 0, 0), args[0], args[1], args[2], args[3]]);
    kernel.port.pending = true;
    !kernel.system_call()
}

/// Makes a system call to its end, with words in the UTCB.
pub fn call_with(
    kernel: &mut Kernel<Host>,
    op: Op,
    args: [Word; 4],
    words: &[(u32, Word)],
) -> [Word; 5] {
    let me = kernel.current().expect("somebody runs");
    for (index, word) in words {
        set_words(kernel, me, *index, &[*word]);
    }
    call_tag(kernel, tag(op, 0, 0), args)
}

/// The same with a tag.
pub fn call_tag(kernel: &mut Kernel<Host>, tag: Word, args: [Word; 4]) -> [Word; 5] {
    let me = kernel.current().expect("somebody runs");
    set_arguments(&mut kernel.pool[me], [tag, args[0], args[1], args[2], args[3]]);
    kernel.system_call();
    while kernel.carry_on() {}
    results(&kernel.pool[me])
}

/// Writes words of the message in a thread's UTCB.
pub fn set_words(kernel: &mut Kernel<Host>, thread: Ref<Thread>, first: u32, words: &[Word]) {
    let at = kernel.pool[thread].utcb + first * WORD_BYTES;
    let bytes = bytemuck::cast_slice(words);
    kernel.pool.bytes_mut(at, bytes.len() as u32).copy_from_slice(bytes);
}

/// A part of a Memory that the root server's Quota pays for: the status.
pub fn derive(
    kernel: &mut Kernel<Host>,
    memory: Word,
    offset: Word,
    bytes: Word,
    to: Word,
) -> Word {
    call_with(kernel, Op::DeriveMemory, [memory, offset, bytes, to], &[(3, slot::QUOTA)])[0]
}

/// A record of `map` that takes away.
pub fn unmap(owner: Word, address: Word, length: Word) -> MapRecord {
    MapRecord::new(MapRecord::UNMAP, owner, address, 0, 0, length, Rights::NONE)
}

/// A record of `map` that changes rights.
pub fn protect(owner: Word, address: Word, length: Word, rights: Rights) -> MapRecord {
    MapRecord::new(MapRecord::PROTECT, owner, address, 0, 0, length, rights)
}

/// `map` of one record: the status.
pub fn map(kernel: &mut Kernel<Host>, record: MapRecord) -> Word {
    let me = kernel.current().expect("somebody runs");
    set_words(kernel, me, 0, &record.0);
    call(kernel, Op::Map, [1, 0, 0, 0])[0]
}

/// `map` of this many pages from the start of a memory.
pub fn record(owner: Word, address: Word, memory: Word, pages: Word) -> MapRecord {
    MapRecord::new(
        MapRecord::MAP,
        owner,
        address,
        memory,
        0,
        pages * PAGE_SIZE,
        servers::READ_WRITE,
    )
}

/// Does something that another thread would do in between.
pub fn aside<T>(kernel: &mut Kernel<Host>, f: impl FnOnce(&mut Kernel<Host>) -> T) -> T {
    let me = kernel.current().expect("the root server runs");
    let (context, flags, progress) =
        (kernel.pool[me].context, kernel.pool[me].flags, kernel.pool[me].progress);
    let work = kernel.pool[me].work;
    let words = kernel.pool.bytes_at(kernel.pool[me].utcb, 512).to_vec();
    kernel.pool[me].flags &= !(kcore::thread::flag::AGAIN | kcore::thread::flag::WORKS);
    kernel.pool[me].progress = 0;
    kernel.pool[me].work = Default::default();
    let pending = std::mem::replace(&mut kernel.port.pending, false);
    let done = f(kernel);
    let utcb = kernel.pool[me].utcb;
    kernel.pool.bytes_mut(utcb, 512).copy_from_slice(&words);
    let t = &mut kernel.pool[me];
    (t.context, t.flags, t.progress, t.work) = (context, flags, progress, work);
    kernel.port.pending = pending;
    done
}

/// Ends what was begun as `stop` does.
pub fn stop(kernel: &mut Kernel<Host>) {
    let me = kernel.current().expect("the root server runs");
    kernel.pool[me].flags &= !kcore::thread::flag::AGAIN;
    kernel.pool[me].progress = 0;
    kernel.port.pending = false;
}

/// Carries on what was begun, with a look at it between all steps; it must succeed.
pub fn finish(kernel: &mut Kernel<Host>, mut look: impl FnMut(&Kernel<Host>)) {
    let mut steps = 0;
    while kernel.carry_on() {
        look(kernel);
        steps += 1;
        assert!(steps < 500, "it does not end");
    }
    kernel.port.pending = false;
    let me = kernel.current().expect("the root server runs");
    assert_eq!(results(&kernel.pool[me])[0], 0);
}

/// Begins a `map` of one record; whether it is to be carried on.
pub fn begin_map(kernel: &mut Kernel<Host>, record: MapRecord) -> bool {
    let me = kernel.current().expect("the root server runs");
    set_words(kernel, me, 0, &record.0);
    begin(kernel, Op::Map, [1, 0, 0, 0])
}

/// Bytes that are charged to the root server's Quota.
pub fn used(kernel: &mut Kernel<Host>) -> u32 {
    low(succeeds(kernel, Op::QuotaInfo, [slot::QUOTA, 0, 0, 0])[1])
}

/// Some of the rights to a page, at least one, by a random number.
pub const fn some_rights(number: Word) -> Rights {
    Rights(1 + low(number % Rights::RWX.0 as Word))
}

/// Tables above the leaf table that a space needs for an address, but the highest: of each the
/// level, and which it is.
pub fn upper_tables(address: Word) -> impl Iterator<Item = (u32, Word)> {
    let entries = HostFormat::ENTRIES as Word;
    (1..HostFormat::LEVELS - 1).map(move |level| (level, address / TABLE_SPAN / entries.pow(level)))
}

/// The same steps each time, unless MACADAMIA_SEED asks for others.
pub fn seed() -> u64 {
    std::env::var("MACADAMIA_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

/// A page as a processor would find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    pub address: UserAddr,
    pub physical: PhysAddr,
    pub rights: Rights,
    /// Whether an entry of a directory maps it, with its neighbours.
    pub large: bool,
    /// Whether that entry, or one on the way to its table, is a copy of another's.
    pub shared: bool,
}

/// All that an owner's tables map, by walking them as a processor does: in memory, where only what
/// the port was told of is written.
pub fn leaves_of(kernel: &Kernel<Host>, owner: Owner) -> Vec<Found> {
    let mut found = Vec::new();
    let top = kernel.pool[owner.region()].top.get().expect("an owner has tables");
    let level = match owner {
        Owner::Space(_) => HostFormat::LEVELS - 1,
        Owner::Segment(_) => 1,
    };
    walk(kernel, top, level, 0, (Rights::RWX, false), &mut found);
    if let Owner::Space(space) = owner {
        check_tops(kernel, space);
    }
    found
}

/// Who keeps copies of the entries that name a space's leaf tables, and hears of them by
/// `directory_written`, has them as they are.
fn check_tops(kernel: &Kernel<Host>, space: Ref<Space>) {
    let top = kernel.pool[space].region.top.get().expect("a space has tables");
    let mut entries = BTreeMap::new();
    note_tops(kernel, top, HostFormat::LEVELS - 1, 0, &mut entries);
    let copies =
        kernel.port.tops.iter().filter(|((of, _), entry)| *of == space.address() && **entry != 0);
    assert_eq!(
        copies.map(|((_, index), entry)| (*index, *entry)).collect::<BTreeMap<_, _>>(),
        entries,
        "copies and entries"
    );
}

/// Notes the entries of the owner's own directories that a table of this level leads to.
fn note_tops(
    kernel: &Kernel<Host>,
    table: Ref<Table>,
    level: u32,
    first: usize,
    found: &mut BTreeMap<usize, Entry>,
) {
    for (i, entry) in kernel.pool[table]
        .entries::<HostFormat>()
        .iter()
        .enumerate()
        .filter(|(_, entry)| **entry != 0)
    {
        let index = first + i * HostFormat::tables_of_entry(level);
        if level == 1 {
            found.insert(index, *entry);
        } else if let Some((physical, false)) = HostFormat::decode_table(*entry) {
            note_tops(
                kernel,
                Ref::new(kernel.port.pool_address(physical)),
                level - 1,
                index,
                found,
            );
        }
    }
}

type Entry = <HostFormat as Format>::Entry;

/// What a processor would find in a space that the user may use. Below it is what the kernel maps:
/// information page and UTCBs.
pub fn pages_of(kernel: &Kernel<Host>, space: Ref<Space>) -> Vec<Found> {
    let mut found = leaves_of(kernel, Owner::Space(space));
    found.retain(|page| page.address.0 >= AREA_END && page.rights != Rights::NONE);
    found
}

/// Notes what is found by way of a table of this level that begins with leaf table `first`. The
/// entry for the table gives at most these rights, and is a copy of another's or not.
fn walk(
    kernel: &Kernel<Host>,
    table: Ref<Table>,
    level: u32,
    first: usize,
    (most, shared): (Rights, bool),
    found: &mut Vec<Found>,
) {
    let entries = kernel.port.walker[&table.address()].entries::<HostFormat>().iter();
    for (i, entry) in entries.enumerate().filter(|(_, entry)| **entry != 0) {
        let index = first + i * if level == 0 { 0 } else { HostFormat::tables_of_entry(level) };
        let start = HostFormat::table_start(index);
        let mut note = |page: usize, leaf: Leaf, large, shared| {
            let (address, rights) =
                (start + page as Word * PAGE_SIZE, leaf.rights.intersection(most));
            found.push(Found { address, physical: leaf.physical, rights, large, shared });
        };
        if level == 0 {
            note(i, HostFormat::decode(*entry).expect("a page"), false, shared);
        } else if let Some((leaf, is_copy)) = HostFormat::decode_large(*entry) {
            for page in 0..HostFormat::ENTRIES {
                note(
                    page,
                    Leaf { physical: leaf.physical + page as Word * PAGE_SIZE, ..leaf },
                    true,
                    shared || is_copy,
                );
            }
        } else if let Some((physical, is_copy)) = HostFormat::decode_table(*entry) {
            let below = Ref::new(kernel.port.pool_address(physical));
            walk(
                kernel,
                below,
                level - 1,
                index,
                (most.intersection(HostFormat::table_rights(*entry)), shared || is_copy),
                found,
            );
        }
    }
}

/// What is where, and what may be done with it.
pub type Seen = BTreeMap<UserAddr, (PhysAddr, Rights)>;

/// What is found, to be compared.
pub fn seen(pages: &[Found]) -> Seen {
    pages.iter().map(|found| (found.address, (found.physical, found.rights))).collect()
}

/// What was in a space's tables and is not there any more, or gives less, was announced and has
/// been flushed: all of a span whose form has changed.
pub fn check_flushes(kernel: &Kernel<Host>, space: Ref<Space>, before: &[Found], after: &[Found]) {
    check_flushes_of(kernel, &[space.address()], before, after);
}

/// The same of a space that shows a server: what is flushed of that counts, too.
pub fn check_flushes_of(kernel: &Kernel<Host>, spaces: &[u32], before: &[Found], after: &[Found]) {
    let flushed = |start: UserAddr, bytes: Word| {
        let mut here = kernel.port.invalidated.iter().filter(|(of, _)| spaces.contains(of));
        here.any(|(_, range)| range.start <= start && start + bytes <= range.end)
    };
    let announced = |old: &Found, stays: Option<Rights>| {
        let here = |(of, range): &Part| spaces.contains(of) && range.contains(&old.address);
        kernel.port.announced.iter().filter(|(at, _)| at.as_ref().is_none_or(here)).any(
            |(_, change)| match change {
                Change::Remove | Change::Replace => true,
                // One without any right is not found.
                Change::Protect(most) => stays
                    .map_or(old.rights.intersection(*most) == Rights::NONE, |rights| {
                        most.contains(rights)
                    }),
            },
        )
    };
    let now: BTreeMap<UserAddr, &Found> =
        after.iter().map(|found| (found.address, found)).collect();
    for old in before {
        let kept = now
            .get(&old.address)
            .is_some_and(|new| new.physical == old.physical && new.rights.contains(old.rights));
        assert!(kept || flushed(old.address, PAGE_SIZE), "{:?} may be in a TLB", old.address);
        let stays =
            now.get(&old.address).filter(|new| new.physical == old.physical).map(|new| new.rights);
        assert!(kept || announced(old, stays), "{:?} may be in a cache", old.address);
        let same_form = now.get(&old.address).is_none_or(|new| new.large == old.large);
        assert!(
            same_form || flushed(old.address.align_down(TABLE_SPAN), TABLE_SPAN),
            "{:?} changed its form",
            old.address
        );
    }
}

/// `lookup` tells of an address what a processor would find there: `pages`. The space and the
/// memory are given by their slots, and the memory's first page.
pub fn check_lookup(
    kernel: &mut Kernel<Host>,
    space: Word,
    pages: &[Found],
    (memory, base): (Word, PhysAddr),
    address: UserAddr,
) {
    let [_, rights, bytes, offset, _] = succeeds(kernel, Op::Lookup, [space, address.0, memory, 0]);
    match pages.iter().find(|found| found.address == address.align_down(PAGE_SIZE)) {
        Some(found) => {
            let size = if found.large { TABLE_SPAN } else { PAGE_SIZE };
            let told = [found.rights.0 as Word, size, found.physical - base];
            assert_eq!([rights, bytes, offset], told, "{address:?}");
        }
        None => {
            assert_eq!(rights, 0, "{address:?}");
            let hole = address.align_down(bytes);
            let is_in = |found: &Found| found.address.offset_from(hole) < bytes;
            assert!(!pages.iter().any(is_in), "{bytes:#x} bytes at {address:?} are not empty");
        }
    }
}
