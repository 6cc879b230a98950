// SPDX-License-Identifier: MIT OR Apache-2.0
//! The assembly that fills the hashed table of a 604 (`kernel/arch/powerpc/src/hash.S`) against the portable function that says what it is to
//! do. The code of the built kernel is executed instruction by instruction, on random tables.

use crate::build;
use abi::UserAddr;
use anyhow::{Context, Result, bail, ensure};
use mmu::hash::{Group, LEAST, groups, insert, look_up, remove};
use mmu::powerpc::bits::{CHANGED, HELD, LARGE, MOST_WRITE, PRESENT, READ_ONLY, READ_WRITE, SEEN, SHARED};
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
/// Numbers of special registers.
const DSISR: u32 = 18;
const DAR: u32 = 19;
const SRR0: u32 = 26;
const SRR1: u32 = 27;
const SPRG0: u32 = 272;
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
    slow: [u32; 2],
    hand: u32,
}

impl Kernel {
    fn read(path: &Path) -> Result<Self> {
        let data = std::fs::read(path)?;
        let file = object::File::parse(&*data)?;
        let mut words = BTreeMap::new();
        for section in [".vectors", ".hot"] {
            let section = file.section_by_name(section).with_context(|| format!("the kernel has no `{section}`"))?;
            let bytes = section.data()?.as_chunks().0.iter();
            words.extend((section.address() as u32..).step_by(4).zip(bytes.map(|word| u32::from_be_bytes(*word))));
        }
        let symbol = |name: &str| {
            let found =
                file.symbols().find(|symbol| symbol.name().is_ok_and(|its| its == name || its.starts_with("_R") && its.ends_with(name)));
            Ok::<_, anyhow::Error>(found.with_context(|| format!("the kernel has no `{name}`"))?.address() as u32)
        };
        let slow = [symbol("data_slow")?, symbol("fetch_slow")?];
        let (reload, groups) = (symbol("6RELOAD")?, symbol("hash_groups")?);
        // After seven saved registers: what tells the group, and whose turn it is. Boot writes the first, and where the table is.
        let mut kernel = Self { words, data: symbol("data_missed")?, fetch: symbol("fetch_missed_here")?, slow, hand: reload + 32 };
        kernel.words.insert(reload + 28, BYTES - size_of::<Group>() as u32);
        *kernel.words.entry(groups).or_default() |= (BYTES - 1).leading_zeros() << 6;
        *kernel.words.entry(groups + 4).or_default() |= HASH >> 16;
        Ok(kernel)
    }
}

/// A processor with translation off. Condition registers other than the first one are as they were.
struct Machine<'a> {
    words: &'a mut BTreeMap<u32, u32>,
    r: [u32; 32],
    cr: u32,
    special: BTreeMap<u32, u32>,
    segments: [u32; 16],
}

/// Ones from one bit to another, counted from the highest, around the end if need be.
const fn mask(first: u32, last: u32) -> u32 {
    let (from, to) = (u32::MAX >> first, u32::MAX << (31 - last));
    if first <= last { from & to } else { from | to }
}

impl Machine<'_> {
    fn load(&self, address: u32) -> Result<u32> {
        ensure!(address.is_multiple_of(4), "an access to {address:#x}");
        self.words.get(&address).copied().with_context(|| format!("nothing is at {address:#x}"))
    }

    fn store(&mut self, address: u32, value: u32) -> Result<()> {
        self.load(address)?;
        self.words.insert(address, value);
        Ok(())
    }

    fn compare(&mut self, value: u32, with: i32) {
        let field = match (value as i32).cmp(&with) {
            std::cmp::Ordering::Less => 8,
            std::cmp::Ordering::Greater => 4,
            std::cmp::Ordering::Equal => 2,
        };
        self.cr = self.cr & 0x0fff_ffff | field << 28;
    }

    /// Executes from an address to the way back, or to one of the others. Which that was, if one, and how many instructions it took.
    fn run(&mut self, from: u32, until: [u32; 2]) -> Result<(Option<u32>, u32)> {
        let (mut pc, mut count) = (from, 0);
        while !until.contains(&pc) {
            let instruction = self.load(pc)?;
            count += 1;
            match self.step(instruction).with_context(|| format!("{pc:#x}: {instruction:#010x}"))? {
                None => return Ok((None, count)),
                Some(offset) => pc = pc.wrapping_add(offset as u32),
            }
        }
        Ok((Some(pc), count))
    }

    /// Executes an instruction. How far the next one is; nothing after `rfi`.
    fn step(&mut self, code: u32) -> Result<Option<i32>> {
        let field = |first: u32, bits: u32| code << first >> (32 - bits);
        let [d, a, b] = [6, 11, 16].map(|first| field(first, 5) as usize);
        let (near, low) = (i32::from(code as u16 as i16), code & 0xffff);
        let at = if a == 0 { 0 } else { self.r[a] }.wrapping_add(near as u32);
        let special = (b as u32) << 5 | a as u32;
        match (code >> 26, code >> 1 & 0x3ff) {
            (11, _) => self.compare(self.r[a], near),
            (14, _) => self.r[d] = at,
            (16, _) => {
                // The two lowest bits of the kind are a hint.
                let is_set = self.cr & 1 << (31 - a) != 0;
                let goes = match d & !3 {
                    4 => !is_set,
                    12 => is_set,
                    other => bail!("a branch of kind {other}"),
                };
                return Ok(Some(if goes { near & !3 } else { 4 }));
            }
            (18, _) => return Ok(Some((code << 6) as i32 >> 6 & !3)),
            (19, 50) => return Ok(None),
            (20, _) => {
                let mask = mask(field(21, 5), field(26, 5));
                self.r[a] = self.r[d].rotate_left(b as u32) & mask | self.r[a] & !mask;
            }
            (21, _) => self.r[a] = self.r[d].rotate_left(b as u32) & mask(field(21, 5), field(26, 5)),
            (24, _) => self.r[a] = self.r[d] | low,
            (25, _) => self.r[a] = self.r[d] | low << 16,
            (28, _) => self.r[a] = self.r[d] & low,
            (29, _) => self.r[a] = self.r[d] & low << 16,
            (31, 19) => self.r[d] = self.cr,
            (31, 144) if field(12, 8) == 0xff => self.cr = self.r[d],
            (31, 266) => self.r[d] = self.r[a].wrapping_add(self.r[b]),
            (31, 316) => self.r[a] = self.r[d] ^ self.r[b],
            (31, 339) => self.r[d] = *self.special.get(&special).context("a special register")?,
            (31, 598) => {}
            (31, 659) => self.r[d] = self.segments[(self.r[b] >> 28) as usize],
            (32, _) => self.r[d] = self.load(at)?,
            (36, _) => self.store(at, self.r[d])?,
            (46, _) => (d..32).zip((at..).step_by(4)).try_for_each(|(to, at)| self.load(at).map(|word| self.r[to] = word))?,
            (47, _) => (d..32).zip((at..).step_by(4)).try_for_each(|(from, at)| self.store(at, self.r[from]))?,
            _ => bail!("the assembly uses an instruction that this test does not know"),
        }
        // These set the condition always; `rlwinm` if it says so.
        if matches!(code >> 26, 28 | 29) || code >> 26 == 21 && code & 1 != 0 {
            self.compare(self.r[a], 0);
        }
        Ok(Some(4))
    }
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

/// The built kernel's assembly does what `mmu::hash::insert` does, and leaves registers and all else as they were.
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
    ensure!([seen.slow, seen.put, seen.evicted, seen.cheap].into_iter().all(|count| count > EVENTS / 10), "not all came: {seen:?}");
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
fn miss(kernel: &mut Kernel, random: &mut Random, table: &mut [Group], hand: &mut usize, count: &mut Seen) -> Result<()> {
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
    let special = if is_fetch {
        [(DSISR, random.word()), (DAR, random.word()), (SRR0, address & !3), (SRR1, status | why)]
    } else {
        [(DSISR, why | random.word() & 1 << 25), (DAR, address), (SRR0, random.word() & !3), (SRR1, status)]
    };
    let special = special.into_iter().chain([(SPRG0, DIRECTORY)]).collect();
    let segments = std::array::from_fn(|segment| vsid(context, segment as u32));
    let (before, cr) = (std::array::from_fn(|_| random.word()), random.word());
    let mut machine = Machine { words: &mut kernel.words, r: before, cr, special, segments };
    let (end, cost) = machine.run(if is_fetch { kernel.fetch } else { kernel.data }, kernel.slow)?;
    ensure!(machine.r == before && machine.cr == cr, "registers are not as they were");

    let is_usual = directory & (PRESENT | LARGE | READ_ONLY) == PRESENT | READ_WRITE;
    match seen(directory, leaf, address).filter(|_| is_usual && !is_found) {
        None => {
            ensure!(end == Some(kernel.slow[usize::from(is_fetch)]), "{address:#x}, {directory:#x}, {leaf:#x}: to {end:x?}");
            count.slow += 1;
        }
        Some(page) => {
            ensure!(end.is_none(), "{address:#x}, {directory:#x}, {leaf:#x}: not put in");
            let turn = *hand;
            insert(table, number, at, page, hand);
            let place = table[groups[0]].iter().position(|pte| pte[1] == page && pte[0] >> 7 & 0xff_ffff == number);
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

/// Holds some groups in the machine's memory against the others. What the processor does not look at may differ.
fn same(kernel: &Kernel, table: &[Group], groups: impl IntoIterator<Item = usize>) -> Result<()> {
    for group in groups {
        for (at, (index, wanted)) in places(group).zip(table[group].as_flattened().iter().enumerate()) {
            let (word, mask) = (kernel.words[&at], if index % 2 == 0 { u32::MAX } else { SEEN });
            ensure!(word & mask == wanted & mask, "{at:#x}: {word:#x} and not {wanted:#x}");
        }
    }
    Ok(())
}
