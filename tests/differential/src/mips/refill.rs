// SPDX-License-Identifier: MIT OR Apache-2.0
//! The handler of TLB misses, as built, at random addresses with random tables. It must write the
//! tables' entry to the TLB, or go to the kernel if it cannot follow the tables. It must read
//! nothing else, and leave nothing in registers.

use super::code::{Code, ONES};
use super::entry::KERNELS;
use super::machine::{Exit, Machine, System};
use crate::memory::Words;
use abi::{PAGE_SIZE, PhysAddr, Rights, USER_END, UserAddr};
use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use kcore::Cpu;
use mmu::mips::{Mips as Tables, bits, pair};
use mmu::{Attributes, Format, Leaf};
use std::collections::BTreeMap;

/// How many misses are tried.
const MISSES: usize = 100_000;
/// The most instructions of a miss that the handler fills.
const MOST: usize = 31;
/// Physical addresses of the three tables, from the highest on.
const TABLES: [u32; 3] = [0x0080_3000, 0x0081_5000, 0x0081_2000];
/// The ways that the handler can take.
const WAYS: [&str; 4] = ["no user's address", "no directory", "no leaf table", "filled"];
/// Each of these is taken at least once in so many misses.
const RAREST: usize = 50;
/// The offset of the low half in a table's entry.
const LOW: u32 = 4;

/// A page's entry, or none.
fn leaf(rng: &mut Rng) -> Leaf {
    let all = [Rights::NONE, Rights::READ, Rights::READ.union(Rights::WRITE)];
    Leaf {
        physical: PhysAddr((rng.u64(..1 << 36)) & !(PAGE_SIZE - 1)),
        rights: all[rng.usize(..all.len())],
        most: Rights::RWX,
        attributes: [Attributes::Cached, Attributes::Uncached, Attributes::Device][rng.usize(..3)],
        global: false,
    }
}

/// An entry of a higher table, which leads to the next one or does not.
fn entry(rng: &mut Rng, next: u32, is_directory: bool) -> u64 {
    let table = Tables::table(PhysAddr(next.into()));
    match rng.u32(..16) {
        0 => Tables::empty(),
        1 => Tables::shared(Tables::empty(), Rights::READ),
        2 => Tables::shared(table, Rights::READ),
        3 if is_directory => Tables::large(leaf(rng)),
        4 => Tables::shared(table, Rights::RWX),
        _ => table,
    }
}

/// A miss: the tables that lead to it, and the expected result.
struct Miss {
    address: u64,
    memory: BTreeMap<u32, u32>,
    way: usize,
    pair: Option<[u32; 2]>,
}

impl Miss {
    fn random(rng: &mut Rng, top: u32) -> Self {
        // Most are in the users' part of the address space, some just below or above its end.
        let address = match rng.u32(..8) {
            0 => rng.u64(..),
            1 => (USER_END - 1).wrapping_add(rng.u64(..0x2_0000)).wrapping_sub(0x1_0000),
            _ => rng.u64(..USER_END),
        };
        let number = Tables::table_index(UserAddr(address));
        let upper = [entry(rng, TABLES[1], false), entry(rng, TABLES[2], true)];
        let leaves = [(); 2]
            .map(|()| if rng.u32(..4) == 0 { Tables::empty() } else { Tables::leaf(leaf(rng)) });
        let even = Tables::leaf_index(UserAddr(address)) & !1;
        let places = [
            (TABLES[0], number / Tables::ENTRIES % Tables::ENTRIES, upper[0]),
            (TABLES[1], number % Tables::ENTRIES, upper[1]),
            (TABLES[2], even, leaves[0]),
            (TABLES[2], even + 1, leaves[1]),
        ];
        let mut memory = BTreeMap::from([(top, reached(TABLES[0]))]);
        for (table, index, entry) in places {
            let at = reached(table) + (index * size_of::<u64>()) as u32;
            memory.extend([(at, (entry >> 32) as u32), (at + LOW, entry as u32)]);
        }
        let way = if address >= USER_END {
            0
        } else {
            1 + upper.iter().take_while(|entry| **entry & bits::FOLLOWED != 0).count()
        };
        let pair = (way + 1 == WAYS.len()).then(|| pair(upper[1], leaves, address));
        Self { address, memory, way, pair }
    }
}

/// Where a physical address is in kseg0.
const fn reached(physical: u32) -> u32 {
    physical | 1 << 31
}

/// Generates misses and lets the handler fill them.
pub fn check(code: &Code, rng: &mut Rng) -> Result<()> {
    let top = code.places.cpu + size_of::<Cpu>() as u32;
    let mut counts = [0; WAYS.len()];
    for number in 0..MISSES {
        let miss = Miss::random(rng, top);
        answered(code, &miss, rng).with_context(|| {
            format!("miss {number}, at {:#x}: {}", miss.address, WAYS[miss.way])
        })?;
        counts[miss.way] += 1;
    }
    let text: Vec<String> =
        WAYS.iter().zip(counts).map(|(way, count)| format!("{count} {way}")).collect();
    println!("# {MISSES} misses: {}", text.join(", "));
    ensure!(
        counts.iter().all(|count| *count > MISSES / RAREST),
        "the misses are not the right ones"
    );
    Ok(())
}

/// One of them.
fn answered(code: &Code, miss: &Miss, rng: &mut Rng) -> Result<()> {
    let mut r = [(); 32].map(|()| rng.u64(..));
    (r[0], r[KERNELS[0]], r[KERNELS[1]]) = (0, 0, 0);
    let system = System { bad: miss.address, entry_hi: rng.u64(..), ..System::default() };
    let memory = |address: u32| miss.memory.get(&address).copied();
    let mut machine =
        Machine { r, system, words: Words::new(&memory), tests: Vec::new(), steps: Vec::new() };
    let exit = machine.run(code, code.symbols.misses, None)?;
    ensure!(machine.words.order.is_empty(), "something was written");
    let expected = match miss.pair {
        None => {
            ensure!(exit == Exit::Left(code.symbols.slow), "the code ended by {exit:x?}");
            system
        }
        Some([even, odd]) => {
            ensure!(exit == Exit::Return, "the code ended by {exit:x?}");
            ensure!(machine.steps.len() <= MOST, "{} instructions", machine.steps.len());
            let extended = |half: u32| if half >> 31 == 0 { 0 } else { ONES } | u64::from(half);
            let pair = [even, odd].map(extended);
            System { pair, filled: Some(pair), ..system }
        }
    };
    ensure!(machine.system == expected, "the processor has {:x?}", machine.system);
    let kept = |register: &usize| miss.pair.is_some() || !KERNELS.contains(register);
    for register in (0..r.len()).filter(kept) {
        let (value, before) = (machine.r[register], r[register]);
        ensure!(value == before, "${register} has {value:#x}, and had {before:#x}");
    }
    Ok(())
}
