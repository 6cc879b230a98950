// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the assembly that fills the hashed table of a 604 (`kernel/arch/powerpc/src/hash.S`)
//! with the portable function that is its specification. An interpreter executes the code of the
//! built kernel on random tables.

use crate::build;
use abi::UserAddr;
use anyhow::{Context, Result, ensure};
use interpreter::{Machine, Memory, Next, System, User};
use mmu::hash::{Group, LEAST, groups, insert, look_up, remove};
use mmu::powerpc::bits::{
    CHANGED, HELD, LARGE, MOST_WRITE, PRESENT, READ_ONLY, READ_WRITE, SEEN, SHARED,
};
use mmu::powerpc::seen;
use mmu::vsid::{of_address, vsid};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeMap;
use std::path::Path;

/// Where the tables are in the machine's memory.
const DIRECTORY: u32 = 0x0100_0000;
const LEAVES: u32 = 0x0200_0000;
const HASH: u32 = 0x0300_0000;
/// Bytes of the hashed table.
const BYTES: u32 = (LEAST * size_of::<Group>()) as u32;
/// Why it failed: no translation was found.
const NOT_FOUND: u32 = 1 << 30;
/// So many times a table is filled, by so many misses.
const TABLES: usize = 30;
const EVENTS: usize = 3000;
/// Instructions if the first place is free, and those of each place more.
const COST: (u32, u32) = (32, 3);

/// The kernel, as it lies in memory.
struct Kernel {
    words: BTreeMap<u32, u32>,
    data: u32,
    fetch: u32,
    /// Where it goes with what it does not put in.
    failed: [u32; 2],
    /// The same if there is a table, and no page in it.
    absent: [u32; 2],
    hand: u32,
}

impl Kernel {
    fn read(path: &Path) -> Result<Self> {
        let data = std::fs::read(path)?;
        let file = object::File::parse(&*data)?;
        let mut words = BTreeMap::new();
        for section in [".vectors", ".hot"] {
            let section = file
                .section_by_name(section)
                .with_context(|| format!("the kernel has no `{section}`"))?;
            let bytes = section.data()?.as_chunks().0.iter();
            words.extend(
                (section.address() as u32..)
                    .step_by(4)
                    .zip(bytes.map(|word| u32::from_be_bytes(*word))),
            );
        }
        let symbol = |name: &str| {
            let found = file.symbols().find(|symbol| {
                symbol
                    .name()
                    .is_ok_and(|its| its == name || its.starts_with("_R") && its.ends_with(name))
            });
            Ok::<_, anyhow::Error>(
                found.with_context(|| format!("the kernel has no `{name}`"))?.address() as u32,
            )
        };
        let [failed, absent] = [["data_failed", "fetch_failed"], ["data_absent", "fetch_absent"]];
        let [failed, absent] = [failed, absent]
            .map(|[data, fetch]| Ok::<_, anyhow::Error>([symbol(data)?, symbol(fetch)?]));
        let (failed, absent) = (failed?, absent?);
        let (reload, groups) = (symbol("6RELOAD")?, symbol("hash_groups")?);
        // After seven saved registers: what tells the group, and whose turn it is. Boot writes the
        // first, and where the table is.
        let mut kernel = Self {
            words,
            data: symbol("data_missed")?,
            fetch: symbol("fetch_missed_here")?,
            failed,
            absent,
            hand: reload + 32,
        };
        kernel.words.insert(reload + 28, BYTES - size_of::<Group>() as u32);
        *kernel.words.entry(groups).or_default() |= (BYTES - 1).leading_zeros() << 6;
        *kernel.words.entry(groups + 4).or_default() |= HASH >> 16;
        Ok(kernel)
    }
}

/// The kernel's memory. An access must be to a word of it.
struct Words<'a>(&'a mut BTreeMap<u32, u32>);

impl Memory for Words<'_> {
    fn get(&self, address: u32) -> Option<u32> {
        self.0.get(&address).copied()
    }

    fn set(&mut self, address: u32, value: u32) -> bool {
        self.0.get_mut(&address).map(|word| *word = value).is_some()
    }
}

/// Executes from an address to the way back, or to one of the others. Which that was, if one, and
/// how many instructions it took.
fn run(machine: &mut Machine<Words<'_>>, from: u32, until: &[u32]) -> Result<(Option<u32>, u32)> {
    let (mut at, mut count) = (from, 0);
    while !until.contains(&at) {
        let instruction =
            machine.memory.get(at).with_context(|| format!("nothing is at {at:#x}"))?;
        count += 1;
        match machine
            .execute(instruction, at)
            .with_context(|| format!("{at:#x}: {instruction:#010x}"))?
        {
            Next::Return => return Ok((None, count)),
            Next::At(next) => at = next,
        }
    }
    Ok((Some(at), count))
}

/// Numbers without a pattern (Marsaglia 2003).
struct Random(u32);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn of<const N: usize>(&mut self, all: [u32; N]) -> u32 {
        all[self.word() as usize % N]
    }
}

/// How often each kind of miss came.
#[derive(Default, Debug)]
struct Seen {
    slow: usize,
    put: usize,
    evicted: usize,
    cheap: usize,
}

/// The built kernel's assembly does what `mmu::hash::insert` does, and leaves registers and all
/// else as they were.
pub fn random() -> Result<()> {
    let built = build::system(Path::new("tests/zombies/zombies.toml"))?;
    let mut kernel = Kernel::read(&built.kernel)?;
    let (mut random, mut hand, mut seen) = (Random(0x2545_f491), 0, Seen::default());
    for _ in 0..TABLES {
        let mut table = vec![Group::default(); LEAST];
        kernel.words.extend((HASH..HASH + BYTES).step_by(4).map(|at| (at, 0)));
        for _ in 0..EVENTS {
            miss(&mut kernel, &mut random, &mut table, &mut hand, &mut seen)?;
        }
        same(&kernel, &table, 0..LEAST)?;
    }
    println!("# {seen:?}");
    ensure!(
        [seen.slow, seen.put, seen.evicted, seen.cheap]
            .into_iter()
            .all(|count| count > EVENTS / 10),
        "not all came: {seen:?}"
    );
    Ok(())
}

/// What can be there of a page: entries of the directory and of the leaf table.
fn entries(random: &mut Random, leaf_table: u32) -> [u32; 2] {
    let page = random.word() & !0xfff | HELD | CHANGED | random.of([0, MOST_WRITE]);
    let table = leaf_table | PRESENT;
    let directory = match random.word() % 16 {
        0 => 0,
        1 => table | READ_ONLY | SHARED,
        2 => page & !0x003f_ffff | PRESENT | LARGE | random.of([READ_ONLY, READ_WRITE]),
        3 => page & !0x003f_ffff | LARGE | READ_ONLY,
        _ => table | READ_WRITE | random.of([0, SHARED]),
    };
    let leaf = match random.word() % 16 {
        0 => 0,
        1 => page | READ_ONLY,
        _ => page | PRESENT | random.of([READ_ONLY, READ_WRITE]),
    };
    [directory, leaf]
}

/// A miss: by assembly, and by the portable function.
fn miss(
    kernel: &mut Kernel,
    random: &mut Random,
    table: &mut [Group],
    hand: &mut usize,
    count: &mut Seen,
) -> Result<()> {
    // Pages that differ in the upper bits only meet in few groups, which are full soon.
    let (context, address) = (1 + random.word() % 10, random.word() & 0x1fc0_1fff);
    let (at, number) = (UserAddr(address), of_address(context, UserAddr(address)));
    let groups = groups(number, at, table.len());
    let [directory, leaf] = entries(random, LEAVES);
    kernel.words.insert(DIRECTORY + (address >> 22) * 4, directory);
    kernel.words.insert(LEAVES + (address >> 12 & 0x3ff) * 4, leaf);
    // What the processor finds it does not miss.
    if look_up(table, number, at).is_some() {
        remove(table, number, at);
        for group in groups {
            kernel.words.extend(places(group).zip(table[group].as_flattened().iter().copied()));
        }
    }
    let (is_fetch, is_found) = (random.word().is_multiple_of(4), random.word().is_multiple_of(16));
    let why = if is_found { 1 << 27 } else { NOT_FOUND };
    let status = random.word() & 0x0000_ffff;
    let (gpr, cr) = (std::array::from_fn(|_| random.word()), random.word());
    let user = User { gpr, cr, ..User::default() };
    // Where it goes on, its machine state, why it failed, and where.
    let (user, [dsisr, dar]) = if is_fetch {
        (User { pc: address & !3, msr: status | why, ..user }, [random.word(), random.word()])
    } else {
        (
            User { pc: random.word() & !3, msr: status, ..user },
            [why | random.word() & 1 << 25, address],
        )
    };
    let segments = std::array::from_fn(|segment| vsid(context, segment as u32));
    let system = System { segments, sprg: [DIRECTORY, 0, 0, 0], dsisr, dar, ..System::default() };
    let mut machine = Machine { user, system, memory: Words(&mut kernel.words) };
    let until = [kernel.failed, kernel.absent].concat();
    let (end, cost) = run(&mut machine, if is_fetch { kernel.fetch } else { kernel.data }, &until)?;
    let User { gpr, cr, .. } = &mut machine.user;
    if end.is_some() {
        // They are saved, and CR.
        ensure!(gpr[25] == user.cr, "CR is {:#x}", gpr[25]);
        gpr[25..].copy_from_slice(&user.gpr[25..]);
        *cr = user.cr;
    }
    ensure!(machine.user == user && machine.system == system, "registers are not as they were");

    let is_usual = directory & (PRESENT | LARGE | READ_ONLY) == PRESENT | READ_WRITE;
    match seen(directory, leaf, address).filter(|_| is_usual && !is_found) {
        None => {
            let to = if is_usual && !is_found { kernel.absent } else { kernel.failed };
            ensure!(
                end == Some(to[usize::from(is_fetch)]),
                "{address:#x}, {directory:#x}, {leaf:#x}: to {end:x?}"
            );
            count.slow += 1;
        }
        Some(page) => {
            ensure!(end.is_none(), "{address:#x}, {directory:#x}, {leaf:#x}: not put in");
            let turn = *hand;
            insert(table, number, at, page, hand);
            let place = table[groups[0]]
                .iter()
                .position(|pte| pte[1] == page && pte[0] >> 7 & 0xff_ffff == number);
            count.put += 1;
            count.evicted += usize::from(turn != *hand);
            if let Some(place) = place.filter(|_| turn == *hand) {
                // The other places are reached by a branch.
                let most = COST.0 + place as u32 * COST.1 + u32::from(place != 0);
                ensure!(cost == most, "place {place} takes {cost} instructions, and not {most}");
                count.cheap += usize::from(place == 0);
            }
        }
    }
    ensure!(kernel.words[&kernel.hand] as usize == *hand, "it is another one's turn");
    same(kernel, table, groups)
}

/// Where a group's words are in the machine's memory.
fn places(group: usize) -> impl Iterator<Item = u32> {
    (HASH + (group * size_of::<Group>()) as u32..).step_by(4).take(size_of::<Group>() / 4)
}

/// Holds some groups in the machine's memory against the others. What the processor does not look
/// at may differ.
fn same(kernel: &Kernel, table: &[Group], groups: impl IntoIterator<Item = usize>) -> Result<()> {
    for group in groups {
        for (at, (index, wanted)) in
            places(group).zip(table[group].as_flattened().iter().enumerate())
        {
            let (word, mask) = (kernel.words[&at], if index % 2 == 0 { u32::MAX } else { SEEN });
            ensure!(word & mask == wanted & mask, "{at:#x}: {word:#x} and not {wanted:#x}");
        }
    }
    Ok(())
}
