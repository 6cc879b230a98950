// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a MIPS does with an instruction that follows another one too closely, and QEMU does not: a
//! look at the kernel's code, as built, in the order in which it lies there. The distances are those
//! of `kernel/arch/mips/src/regs.rs`.

use super::tally::{Test, on_malta, test};
use crate::build;
use anyhow::{Result, bail, ensure};
use object::{Object, ObjectSection, SectionKind};
use std::path::Path;

/// All of them.
pub const ALL: &[Test] = &[test("malta.hazards", || on_malta(kernels))];

/// Registers of coprocessor 0.
const INDEX: u32 = 0;
const ENTRY_LO: [u32; 2] = [2, 3];
const PAGE_MASK: u32 = 5;
const ENTRY_HI: u32 = 10;
const STATUS: u32 = 12;
const EPC: u32 = 14;

/// An instruction of coprocessor 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instruction {
    /// `mfc0` or `dmfc0` of a register.
    Read(u32),
    /// `mtc0` or `dmtc0` of it.
    Write(u32),
    /// `tlbwi` or `tlbwr`.
    WriteEntry,
    /// `tlbp`.
    Probe,
    /// `eret`.
    Return,
}

impl Instruction {
    fn of(word: u32) -> Option<Self> {
        const COPROCESSOR: u32 = 16;
        const TLBWI: u32 = 2;
        const TLBWR: u32 = 6;
        const TLBP: u32 = 8;
        const ERET: u32 = 24;
        if word >> 26 != COPROCESSOR {
            return None;
        }
        let register = word >> 11 & 31;
        match (word >> 21 & 31, word & 63) {
            (0 | 1, _) => Some(Self::Read(register)),
            (4 | 5, _) => Some(Self::Write(register)),
            (16, TLBWI | TLBWR) => Some(Self::WriteEntry),
            (16, TLBP) => Some(Self::Probe),
            (16, ERET) => Some(Self::Return),
            _ => None,
        }
    }

    /// How many instructions have to be between this one and a later one.
    fn between(self, later: Self) -> usize {
        let is_of_entry = |register| {
            ENTRY_LO.contains(&register) || [INDEX, PAGE_MASK, ENTRY_HI].contains(&register)
        };
        match (self, later) {
            (Self::Write(_), Self::Read(_)) => 1,
            (Self::Write(register), Self::WriteEntry) if is_of_entry(register) => 1,
            (Self::Write(PAGE_MASK | ENTRY_HI), Self::Probe) => 3,
            (Self::Probe, Self::Read(INDEX)) => 2,
            (Self::Write(STATUS | EPC), Self::Return) => 2,
            (Self::WriteEntry, Self::Return) => 3,
            _ => 0,
        }
    }
}

/// The most that has to be between two.
const MOST: usize = 3;

/// Which instructions come too early, by their indices, and after what.
fn early(words: &[u32]) -> Vec<(usize, Instruction, Instruction)> {
    let all: Vec<_> = words.iter().map(|word| Instruction::of(*word)).collect();
    let mut found = Vec::new();
    for (at, later) in all.iter().enumerate() {
        let Some(later) = *later else { continue };
        for (between, earlier) in all[..at].iter().rev().take(MOST).enumerate() {
            if let Some(earlier) = earlier.filter(|earlier| earlier.between(later) > between) {
                found.push((at, earlier, later));
            }
        }
    }
    found
}

/// Nothing in the kernel comes too early, which has instructions of each kind.
fn kernels() -> Result<()> {
    let built = build::system(Path::new("systems/hello.toml"))?;
    let data = std::fs::read(&built.kernel)?;
    let file = object::File::parse(&*data)?;
    let mut kinds = Vec::new();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let words: Vec<u32> =
            section.data()?.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
        let name = section.name()?;
        if let Some((at, earlier, later)) = early(&words).first() {
            let address = section.address() + 4 * *at as u64;
            bail!("{name}, {address:#x}: {later:?} comes too soon after {earlier:?}");
        }
        kinds.extend(words.iter().filter_map(|word| Instruction::of(*word)));
    }
    for kind in [
        Instruction::Read(INDEX),
        Instruction::Write(ENTRY_HI),
        Instruction::Write(EPC),
        Instruction::WriteEntry,
        Instruction::Probe,
        Instruction::Return,
    ] {
        ensure!(kinds.contains(&kind), "the kernel has no {kind:?}");
    }
    println!("# {} instructions of coprocessor 0", kinds.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOP: u32 = 0;
    const TLBWI: u32 = 0x4200_0002;
    const TLBWR: u32 = 0x4200_0006;
    const TLBP: u32 = 0x4200_0008;
    const ERET: u32 = 0x4200_0018;
    /// `mfc0 $26, $0`, `dmfc0 $26, $8`; `mtc0 $26, $2`, `dmtc0 $26, $10`, `dmtc0 $26, $14`,
    /// `mtc0 $26, $12`.
    const READ_INDEX: u32 = 0x401a_0000;
    const READ_BAD: u32 = 0x403a_4000;
    const WRITE_EVEN: u32 = 0x409a_1000;
    const WRITE_HIGH: u32 = 0x40ba_5000;
    const WRITE_PC: u32 = 0x40ba_7000;
    const WRITE_STATUS: u32 = 0x409a_6000;

    #[test]
    fn what_comes_too_early_is_found_and_one_more_between_is_enough() {
        for (earlier, later, between) in [
            (WRITE_EVEN, TLBWR, 1),
            (WRITE_HIGH, TLBWI, 1),
            (WRITE_HIGH, TLBP, 3),
            (TLBP, READ_INDEX, 2),
            (WRITE_PC, ERET, 2),
            (WRITE_STATUS, ERET, 2),
            (TLBWR, ERET, 3),
            (WRITE_STATUS, READ_BAD, 1),
        ] {
            for count in 0..=between {
                let words = [&[earlier][..], &vec![NOP; count], &[later]].concat();
                let found: Vec<usize> = early(&words).iter().map(|(at, ..)| *at).collect();
                let expected = if count < between { vec![count + 1] } else { Vec::new() };
                assert_eq!(found, expected, "{earlier:#x}, {count} between, {later:#x}");
            }
        }
        // Others need nothing.
        assert_eq!(early(&[READ_BAD, WRITE_PC, WRITE_STATUS, TLBP, TLBWR]), []);
    }
}
