// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes the kernel's entry code as it was built, instruction by instruction, on a copy of the
//! memory that it accesses. It knows the instructions that occur there; any other is an error.
//!
//! On the host the lower half of 64 bits comes first. The code never loads one half of a word, so
//! it finds the right value.

use super::code::{Code, ONES};
use crate::memory::Words;
use anyhow::{Context, Result, bail, ensure};

/// Where the code ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// To user mode by `eret`.
    Return,
    /// To this address outside of the code, its lower half.
    Left(u32),
}

/// The registers of coprocessor 0 that the code accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct System {
    /// The cause of the exception.
    pub cause: u32,
    /// The address to which it returns.
    pub epc: u64,
    /// The ASID whose TLB entries are valid.
    pub entry_hi: u64,
    /// The address that could not be accessed.
    pub bad: u64,
    /// EntryLo0 and EntryLo1.
    pub pair: [u64; 2],
    /// The values of these that were written to the TLB.
    pub filled: Option<[u64; 2]>,
}

/// A processor and the memory it sees.
pub struct Machine<'a> {
    /// General registers.
    pub r: [u64; 32],
    /// The others.
    pub system: System,
    /// The memory: the kernel's, by lower halves of addresses.
    pub words: Words<'a>,
    /// The tests that were made, by number.
    pub tests: Vec<usize>,
    /// The instructions that were executed, and whether they branched, if they have a condition.
    pub steps: Vec<(u32, bool)>,
}

/// More than this is a loop.
const MOST_STEPS: usize = 400;

/// Numbers of registers of coprocessor 0.
const ENTRY_LO: [u32; 2] = [2, 3];
const BAD: u32 = 8;
const ENTRY_HI: u32 = 10;
const CAUSE: u32 = 13;
const EPC: u32 = 14;

/// 32 bits as in a register, extended by their sign.
const fn extended(value: u32) -> u64 {
    value as i32 as u64
}

impl Machine<'_> {
    /// Executes from an address on. The test `turned` finds the opposite.
    pub fn run(&mut self, code: &Code, start: u32, turned: Option<usize>) -> Result<Exit> {
        let (mut at, mut next) = (start, start + 4);
        loop {
            let Some(word) = code.instruction(at) else { return Ok(Exit::Left(at)) };
            ensure!(self.steps.len() < MOST_STEPS, "the code does not end");
            let number = code.test(at);
            let mut target = next + 4;
            let mut met = false;
            if word == RETURN {
                self.steps.push((at, false));
                return Ok(Exit::Return);
            }
            if let Some(branch) = self.branch(word) {
                met = branch != (number.is_some() && number == turned);
                self.tests.extend(number);
                if met {
                    target = at.wrapping_add(4).wrapping_add(extended_offset(word) << 2);
                }
            } else if word >> 26 == JUMP {
                target = at & 0xf000_0000 | (word & 0x03ff_ffff) << 2;
            } else {
                self.execute(word).with_context(|| format!("{word:#010x} at {at:#x}"))?;
            }
            self.steps.push((at, met));
            (at, next) = (next, target);
        }
    }

    /// Whether a branch's condition is met; nothing if it is none.
    const fn branch(&self, word: u32) -> Option<bool> {
        let (s, t) = (self.r[(word >> 21 & 31) as usize], self.r[(word >> 16 & 31) as usize]);
        match (word >> 26, word >> 16 & 31) {
            (1, 0) => Some((s as i64) < 0),
            (1, 1) => Some((s as i64) >= 0),
            (4, _) => Some(s == t),
            (5, _) => Some(s != t),
            _ => None,
        }
    }

    /// An instruction that is no branch.
    fn execute(&mut self, word: u32) -> Result<()> {
        let [s, t, d, amount] = [21, 16, 11, 6].map(|shift| (word >> shift & 31) as usize);
        let immediate = u64::from(word & 0xffff);
        let signed = extended_offset(word) as i32 as u64;
        let (a, b) = (self.r[s], self.r[t]);
        let address = a.wrapping_add(signed);
        let (to, value) = match (word >> 26, word & 0x3f) {
            (0, 0x00) => (d, extended((b as u32) << amount)),
            (0, 0x02) => (d, extended(b as u32 >> amount)),
            (0, 0x04) => (d, extended((b as u32) << (a & 31))),
            (0, 0x21) => (d, extended((a as u32).wrapping_add(b as u32))),
            (0, 0x24) => (d, a & b),
            (0, 0x25) => (d, a | b),
            (0, 0x26) => (d, a ^ b),
            (0, 0x2b) => (d, u64::from(a < b)),
            (0, 0x2d) => (d, a.wrapping_add(b)),
            (0, 0x3a) => (d, b >> amount),
            (0, 0x3e) => (d, b >> (amount + 32)),
            (0x09, _) => (t, extended((a as u32).wrapping_add(signed as u32))),
            (0x0b, _) => (t, u64::from(a < signed)),
            (0x0c, _) => (t, a & immediate),
            (0x0d, _) => (t, a | immediate),
            (0x0e, _) => (t, a ^ immediate),
            (0x0f, _) => (t, extended(word << 16)),
            (0x19, _) => (t, a.wrapping_add(signed)),
            (0x10, 0) => return self.system(word, t, d as u32),
            _ if word == FILL => {
                self.system.filled = Some(self.system.pair);
                return Ok(());
            }
            (0x23, _) => (t, extended(self.load(address)?)),
            (0x27, _) => (t, u64::from(self.load(address)?)),
            (0x37, _) => (t, self.load_wide(address)?),
            (0x2b, _) => return self.store(address, b as u32),
            (0x3f, _) => {
                self.store(address, b as u32)?;
                return self.store(address + 4, (b >> 32) as u32);
            }
            _ => bail!("an instruction that is not known"),
        };
        // $0 stays what it is.
        if to != 0 {
            self.r[to] = value;
        }
        Ok(())
    }

    /// A register of coprocessor 0 is read or written.
    fn system(&mut self, word: u32, general: usize, number: u32) -> Result<()> {
        const READ: u32 = 0;
        const READ_WIDE: u32 = 1;
        const WRITE: u32 = 4;
        const WRITE_WIDE: u32 = 5;
        if let (WRITE, Some(at)) =
            (word >> 21 & 31, ENTRY_LO.iter().position(|entry| *entry == number))
        {
            self.system.pair[at] = self.r[general];
            return Ok(());
        }
        match (word >> 21 & 31, number) {
            (READ, CAUSE) => self.r[general] = extended(self.system.cause),
            (READ_WIDE, EPC) => self.r[general] = self.system.epc,
            (READ_WIDE, BAD) => self.r[general] = self.system.bad,
            (WRITE_WIDE, EPC) => self.system.epc = self.r[general],
            (WRITE_WIDE, ENTRY_HI) => self.system.entry_hi = self.r[general],
            _ => bail!("a register that is not known"),
        }
        Ok(())
    }

    /// The lower half of an address of the kernel.
    fn lower(address: u64) -> Result<u32> {
        ensure!(address & ONES == ONES, "{address:#x} is no address of the kernel's");
        Ok(address as u32)
    }

    /// 32 bits at an address.
    pub fn load(&self, address: u64) -> Result<u32> {
        let at = Self::lower(address)?;
        self.words.get(at).with_context(|| format!("there is nothing at {at:#x}"))
    }

    /// 64 bits at an address, which is aligned to them.
    pub fn load_wide(&self, address: u64) -> Result<u64> {
        ensure!(address.is_multiple_of(8), "{address:#x} is not aligned");
        Ok(u64::from(self.load(address + 4)?) << 32 | u64::from(self.load(address)?))
    }

    fn store(&mut self, address: u64, value: u32) -> Result<()> {
        let at = Self::lower(address)?;
        ensure!(self.words.set(at, value), "there is nothing at {at:#x}");
        Ok(())
    }
}

/// `eret`.
const RETURN: u32 = 0x4200_0018;
/// `tlbwr`.
const FILL: u32 = 0x4200_0006;
/// `j`.
const JUMP: u32 = 2;

/// The lower 16 bits of an instruction, extended by their sign.
const fn extended_offset(word: u32) -> u32 {
    word as i16 as u32
}
