// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes the fast path as it was assembled for QEMU, instruction by instruction, in PALmode. It
//! knows the instructions that occur there; any other is an error.

use super::code::Code;
use crate::memory::Words;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;

/// More than this is a loop.
const MOST_STEPS: usize = 200;

/// Where the code ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// To user mode, at this address.
    User(u64),
    /// To this address outside of the code.
    Left(u32),
}

/// Registers of QEMU's that only PALmode reads and writes.
pub mod special {
    /// The address from which PALmode was entered.
    pub const EXC_ADDR: u32 = 6;
    /// The translation tables.
    pub const PTBR: u32 = 8;
    /// A write of any value empties the TLB.
    pub const TBIA: u32 = 255;
    /// The port's five words, in the order of `ipc.S`.
    pub const KEPT: u32 = 40;
    /// Two that replace the tags' registers.
    pub const TAGS: [u32; 2] = [48, 49];
}

/// A processor in PALmode, and the memory it sees.
pub struct Machine<'a> {
    /// The user's registers; the last one is zero.
    pub user: [u64; 32],
    /// PALmode's own.
    shadows: [u64; 32],
    /// The registers of [`special`].
    pub special: BTreeMap<u32, u64>,
    /// The memory, by physical addresses.
    pub words: Words<'a>,
    /// The conditional branches that were executed, by number.
    pub tests: Vec<usize>,
    /// The instructions that were executed, and whether they branched, if they have a condition.
    pub steps: Vec<(u32, bool)>,
}

/// Whether PALmode has its own register of this number.
const fn is_shadow(number: usize) -> bool {
    matches!(number, 8..=14 | 25)
}

/// The lowest bits of a word, extended by their sign.
const fn signed(word: u32, bits: u32) -> u64 {
    ((word << (32 - bits)) as i32 >> (32 - bits)) as i64 as u64
}

impl<'a> Machine<'a> {
    /// A processor that enters with these registers, in front of `memory`, which gives the 32-bit
    /// word at an address.
    pub fn new(
        user: [u64; 32],
        special: BTreeMap<u32, u64>,
        memory: &'a dyn Fn(u32) -> Option<u32>,
    ) -> Self {
        Self {
            user,
            // Values that are left from before.
            shadows: [0x5a5a_5a5a_a5a5_a5a5; 32],
            special,
            words: Words::new(memory),
            tests: Vec::new(),
            steps: Vec::new(),
        }
    }

    const fn get(&self, number: u32) -> u64 {
        let number = number as usize & 31;
        if number == 31 {
            0
        } else if is_shadow(number) {
            self.shadows[number]
        } else {
            self.user[number]
        }
    }

    const fn set(&mut self, number: u32, value: u64) {
        let number = number as usize & 31;
        if number == 31 {
        } else if is_shadow(number) {
            self.shadows[number] = value;
        } else {
            self.user[number] = value;
        }
    }

    fn address(address: u64, bytes: u64) -> Result<u32> {
        ensure!(address.is_multiple_of(bytes), "an access of {bytes} bytes at {address:#x}");
        u32::try_from(address).with_context(|| format!("an access at {address:#x}"))
    }

    fn load(&self, address: u64, is_quad: bool) -> Result<u64> {
        let at = Self::address(address, if is_quad { 8 } else { 4 })?;
        let word = |at: u32| {
            self.words.get(at).with_context(|| format!("a read at {at:#x}, where nothing is"))
        };
        if is_quad {
            return Ok(u64::from(word(at)?) | u64::from(word(at + 4)?) << 32);
        }
        Ok(signed(word(at)?, 32))
    }

    fn store(&mut self, address: u64, is_quad: bool, value: u64) -> Result<()> {
        let at = Self::address(address, if is_quad { 8 } else { 4 })?;
        for (at, word) in [(at, value as u32), (at + 4, (value >> 32) as u32)]
            .into_iter()
            .take(if is_quad { 2 } else { 1 })
        {
            ensure!(self.words.set(at, word), "a write at {at:#x}, where nothing is");
        }
        Ok(())
    }

    /// An instruction that calculates.
    fn operate(&self, word: u32) -> Result<u64> {
        let a = self.get(word >> 21);
        let b =
            if word >> 12 & 1 != 0 { u64::from(word >> 13 & 255) } else { self.get(word >> 16) };
        Ok(match (word >> 26, word >> 5 & 127) {
            (0x10, 0x1d) => u64::from(a < b),
            (0x10, 0x20) => a.wrapping_add(b),
            (0x10, 0x29) => a.wrapping_sub(b),
            (0x10, 0x3d) => u64::from(a <= b),
            (0x11, 0x00) => a & b,
            (0x11, 0x08) => a & !b,
            (0x11, 0x20) => a | b,
            (0x11, 0x40) => a ^ b,
            (0x12, 0x31) => {
                let kept = (0..8).filter(|byte| b >> byte & 1 != 0);
                kept.fold(0, |all, byte| all | a & 255 << (8 * byte))
            }
            (0x12, 0x34) => a >> (b & 63),
            (0x12, 0x39) => a << (b & 63),
            _ => bail!("an unknown operation {word:08x}"),
        })
    }

    /// Runs until the code is left. The conditional branch `turned`, by its number, does the
    /// opposite.
    pub fn run(&mut self, code: &Code, turned: Option<usize>) -> Result<Exit> {
        let mut at = code.entry;
        while let Some((word, number)) = code.instruction(at) {
            ensure!(self.steps.len() < MOST_STEPS, "it does not end");
            self.steps.push((at, true));
            at += 4;
            let (a, b) = (word >> 21, self.get(word >> 16));
            let opcode = word >> 26;
            match opcode {
                0x08 => self.set(a, b.wrapping_add(signed(word, 16))),
                0x09 => self.set(a, b.wrapping_add(signed(word, 16) << 16)),
                0x10..=0x12 => {
                    let value = self.operate(word)?;
                    self.set(word, value);
                }
                0x19 => {
                    let found = self.special.get(&(word & 0xffff)).copied();
                    self.set(a, found.with_context(|| format!("it reads register {word:08x}"))?);
                }
                0x1d => {
                    self.special.insert(word & 0xffff, b);
                }
                // Only by physical addresses.
                0x1b if word >> 13 & 7 == 0 => {
                    let value = self.load(b.wrapping_add(signed(word, 12)), word >> 12 & 1 != 0)?;
                    self.set(a, value);
                }
                0x1f if word >> 13 & 7 == 0 => {
                    let value = self.get(a);
                    self.store(b.wrapping_add(signed(word, 12)), word >> 12 & 1 != 0, value)?;
                }
                0x1e => return Ok(Exit::User(b)),
                0x39 | 0x3a | 0x3d => {
                    let value = self.get(a);
                    let holds = match opcode {
                        0x39 => value == 0,
                        0x3a => (value as i64) < 0,
                        _ => value != 0,
                    };
                    self.tests.extend(number);
                    let branches = holds != (turned.is_some() && turned == number);
                    if let Some(step) = self.steps.last_mut() {
                        step.1 = branches;
                    }
                    if branches {
                        at = at.wrapping_add((signed(word, 21) as u32) << 2);
                    }
                }
                _ => bail!("an unknown instruction {word:08x}"),
            }
        }
        Ok(Exit::Left(at))
    }
}
