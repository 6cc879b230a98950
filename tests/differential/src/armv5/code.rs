// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code and the exit code, as they were built, and the tests in them.

use crate::elf::Elf;
use crate::processor::{Executed, Places};
use anyhow::{Result, ensure};

/// Flags in CPSR.
pub const ZERO: u32 = 1 << 30;
/// See [`ZERO`].
pub const CARRY: u32 = 1 << 29;

/// The instructions that set flags between `swi_entry` and `slower`, in their order: the name of a
/// test, and the flags with which it would be passed. The last ones of T9 and R3 compare partner
/// and handler. Some are no tests: they decide whether the process identifier is written, in which
/// direction a tree is searched, whether an alien executes Thumb, and (A1) whether A3 has to be
/// tested, which no other thread passes.
pub const TESTS: [Option<(&str, u32)>; 128] = [
    Some(("T1", ZERO)),
    Some(("T2 of call", ZERO)),
    Some(("T3", 0)),
    Some(("T4", 0)),
    Some(("T5", ZERO)),
    Some(("T6 of call", ZERO)),
    None,
    None,
    Some(("R1", ZERO)),
    Some(("T2 of reply_wait", ZERO)),
    Some(("T8", ZERO)),
    Some(("T9", ZERO)),
    Some(("T9, partner", ZERO)),
    Some(("T10", ZERO)),
    Some(("T6 of reply_wait", ZERO)),
    Some(("M1 of map_reply_wait", ZERO)),
    Some(("T8 of map_reply_wait", ZERO)),
    Some(("T9 of map_reply_wait", ZERO)),
    Some(("T9 of map_reply_wait, partner", ZERO)),
    Some(("T10 of map_reply_wait", ZERO)),
    Some(("T6 of map_reply_wait", ZERO)),
    Some(("M2", 0)),
    Some(("M3, none", 0)),
    Some(("M3", ZERO)),
    Some(("M4", ZERO)),
    Some(("M4, start", CARRY)),
    Some(("M4, end", 0)),
    Some(("M4, page", ZERO)),
    Some(("M5", 0)),
    // M5: a Space it may be, or a Segment.
    None,
    Some(("M5, kind", ZERO)),
    Some(("M5, right", 0)),
    Some(("M5, dying", ZERO)),
    // M6: the simulated port has no tables of UTCBs there.
    None,
    Some(("M6, table", ZERO)),
    Some(("M7", 0)),
    None,
    // M8: the simulated port has no copies. Whether it is written to, and whether it is cached.
    None,
    None,
    None,
    // M1: it may be one page. M9: nothing is there; then what ends the way, and the search in the
    // tree.
    None,
    None,
    None,
    None,
    None,
    Some(("M3, uncached", ZERO)),
    Some(("M3, none but uncached", 0)),
    Some(("M1, bytes", 0)),
    // For several pages: more than these would take too long.
    None,
    Some(("M6, end", 0)),
    Some(("M9, several", ZERO)),
    None,
    None,
    None,
    // Replacing a page: of a Segment, and its places.
    None,
    Some(("M9, attached", 0)),
    None,
    None,
    None,
    Some(("M9, one address", ZERO)),
    None,
    None,
    None,
    // The same entry, the same page, which can be written, and the loops.
    None,
    None,
    None,
    None,
    None,
    Some(("M1 of map_run", ZERO)),
    Some(("M1 of map_run, count", ZERO)),
    Some(("R3 of map_run", ZERO)),
    Some(("R3 of map_run, handle", ZERO)),
    Some(("R3 of map_run, partner", ZERO)),
    Some(("R3 of map_run, handler", ZERO)),
    Some(("R4 of map_run", ZERO)),
    Some(("R5 of map_run", ZERO)),
    Some(("M1 of map", ZERO)),
    Some(("M1 of map, count", ZERO)),
    Some(("C1", ZERO)),
    Some(("C2", 0)),
    Some(("C3", ZERO)),
    Some(("C3, right", 0)),
    Some(("C4, overflow", 0)),
    Some(("C4, end", 0)),
    Some(("C4, page", ZERO)),
    Some(("C5", ZERO)),
    // Whether it is relocated, which operation it is, and what ends the loop.
    None,
    None,
    None,
    None,
    // P1: as M6.
    None,
    Some(("P2", 0)),
    Some(("P3", ZERO)),
    Some(("F1", ZERO)),
    Some(("F2", 0)),
    None,
    Some(("F3", 0)),
    None,
    Some(("F4", ZERO)),
    Some(("F4, helper", 0)),
    Some(("F5", ZERO)),
    None,
    None,
    Some(("F6", ZERO)),
    Some(("F7", 0)),
    Some(("F8", ZERO)),
    Some(("F9", ZERO)),
    Some(("A2 of a fault", 0)),
    Some(("A3 of a fault", ZERO)),
    Some(("A3 of a fault, partner", ZERO)),
    Some(("A4 of a fault", ZERO)),
    Some(("R3", ZERO)),
    Some(("R3, handle", ZERO)),
    Some(("R3, partner", ZERO)),
    Some(("R3, handler", ZERO)),
    Some(("R4", ZERO)),
    Some(("R5", ZERO)),
    None,
    None,
    None,
    None,
    Some(("A2", 0)),
    Some(("A3", ZERO)),
    Some(("A3, partner", ZERO)),
    Some(("A3, ARM", ZERO)),
    Some(("A4", ZERO)),
    None,
    None,
];

/// Addresses of the kernel that its entry code uses.
pub struct Symbols {
    /// Entries by `swi`, and by a fault of an access and of a fetch.
    pub entries: [u32; 3],
    /// The way out of the portable kernel.
    pub leave: u32,
    /// Where it goes if it leaves an event to the portable kernel.
    pub slow: u32,
    /// The caching page directory, and the size of its words in bytes: one of them records the open
    /// domains.
    pub directory: (u32, u32),
    /// The bits of a handle that are an index.
    pub index_mask: u32,
    /// The word by which an address in the pool becomes a physical one.
    pub pool_offset: u32,
    /// How many coarse tables have copies.
    pub copies: u32,
    /// The instructions that access an alien's frame first, with their address registers; and where
    /// the code continues if the frame's domain is not open (`from_kernel`).
    pub frames: [(u32, u8); 2],
    /// See `frames`.
    pub slower: u32,
}

/// The code, from `swi_entry` to where exceptions enter.
pub struct Code {
    start: u32,
    words: Vec<u32>,
    /// For each word, whether it is data.
    data: Vec<bool>,
    /// Addresses of what [`TESTS`] lists.
    tests: Vec<u32>,
    /// Addresses that it uses.
    pub symbols: Symbols,
    /// The words that each port has.
    pub places: Places,
}

/// Whether an instruction sets flags for those after it.
const fn sets_flags(instruction: u32) -> bool {
    instruction >> 26 & 3 == 0 && instruction & 1 << 20 != 0 && instruction >> 12 & 15 != 15
}

impl Code {
    /// Reads it from the kernel's file.
    pub fn read(elf: &Elf) -> Result<Self> {
        let at = |name: &str| elf.symbol(name);
        let (start, end, slower) = (at("swi_entry")?, at("undefined_entry")?, at("slower")?);
        let directory = elf.find("5space9DIRECTORY")?;
        // Mapping symbols (ELF for the ARM Architecture, 5.5.5) say where data and instructions
        // begin.
        let marks = elf.symbols().iter().filter(|symbol| matches!(&*symbol.name, "$a" | "$d"));
        let mut marks: Vec<(u32, bool)> =
            marks.map(|symbol| (symbol.address, symbol.name == "$d")).collect();
        marks.sort_unstable();
        let is_data = |at: u32| {
            marks.iter().rev().find(|(mark, _)| *mark <= at).is_some_and(|(_, is_data)| *is_data)
        };
        let mut code = Self {
            start,
            words: elf
                .bytes(start, end)?
                .chunks_exact(4)
                .map(bytemuck::pod_read_unaligned)
                .collect(),
            data: (start..end).step_by(4).map(is_data).collect(),
            tests: Vec::new(),
            symbols: Symbols {
                entries: [start, at("data_fault")?, at("fetch_fault")?],
                leave: at("leave_kernel")?,
                slow: at("trap5enter")?,
                directory: (directory.address, directory.bytes),
                // `PoolPlace`: the offset, and the bits of a handle that are an index.
                index_mask: at("10POOL_PLACE")? + 4,
                pool_offset: at("10POOL_PLACE")?,
                copies: at("6shadow6COPIES")?,
                frames: [(at("frame_read")?, 11), (at("frame_write")?, 10)],
                slower,
            },
            places: Places { cpu: at("6layout3CPU")?, scheduler: at("8contract6KERNEL")? },
        };
        code.tests = (start..slower)
            .step_by(4)
            .filter(|at| code.instruction(*at).is_some_and(sets_flags))
            .collect();
        ensure!(
            code.tests.len() == TESTS.len(),
            "the fast path has {} tests, not those that are known",
            code.tests.len()
        );
        Ok(code)
    }

    /// The number of the test at an address.
    pub fn test(&self, at: u32) -> Option<usize> {
        self.tests.binary_search(&at).ok()
    }

    /// The word at an address of the code, of whatever kind.
    pub fn word(&self, at: u32) -> Option<u32> {
        self.words
            .get((at.wrapping_sub(self.start) / 4) as usize)
            .copied()
            .filter(|_| at.is_multiple_of(4))
    }

    /// The instruction at an address.
    pub fn instruction(&self, at: u32) -> Option<u32> {
        let word = self.word(at)?;
        let is_data = self.data[(at - self.start) as usize / 4];
        (!is_data).then_some(word)
    }

    /// Instructions that were never executed, or, if they have a condition, not both ways. Those
    /// that do nothing are left out.
    pub fn missed(&self, executed: &Executed) -> Vec<String> {
        let all = (self.start..).step_by(4).take(self.words.len());
        all.filter_map(|at| {
            let instruction = self.instruction(at)?;
            let [met, not_met] = executed.get(&at).copied().unwrap_or_default();
            let has_condition = instruction >> 28 != 14;
            (met == 0 || has_condition && not_met == 0)
                .then(|| format!("{instruction:#010x} at {at:#x}: {met} and {not_met}"))
        })
        .collect()
    }
}
