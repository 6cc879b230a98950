// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes the kernel's entry code as it was built, instruction by instruction, on a copy of the
//! memory that it accesses. It knows the instructions that occur there; any other is an error.

use super::code::{Code, ONES};
use crate::memory::Words;
use anyhow::{Context, Result, bail, ensure};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// Where the code ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// To user mode by `sysretq`.
    Sysret,
    /// To user mode by `iretq`.
    Iret,
    /// To this address outside of the code, its lower half.
    Left(u32),
}

/// Indices of general registers, as the processor numbers them.
pub mod reg {
    /// See above.
    pub const RAX: usize = 0;
    /// See above.
    pub const RDX: usize = 2;
    /// See above.
    pub const RCX: usize = 1;
    /// See above.
    pub const RBX: usize = 3;
    /// See above.
    pub const RSP: usize = 4;
    /// See above.
    pub const RBP: usize = 5;
    /// See above.
    pub const R11: usize = 11;
    /// See above.
    pub const R15: usize = 15;
}

/// A processor and the memory it sees.
pub struct Machine<'a> {
    /// General registers.
    pub regs: [u64; 16],
    /// ES, CS, SS, DS, FS, GS.
    pub segments: [u16; 6],
    /// The time-stamp counter.
    pub tsc: u64,
    /// The last value written to CR3.
    pub cr3: Option<u64>,
    /// Pages whose translations were dropped, of the space that was entered then.
    pub dropped: Vec<u64>,
    /// CR0.
    pub cr0: u64,
    /// The address of a page fault.
    pub cr2: u64,
    /// The base of FS.
    pub fs_base: u64,
    /// The memory: the kernel's, by lower halves of addresses.
    pub words: Words<'a>,
    /// The conditional jumps that were executed, by number.
    pub tests: Vec<usize>,
    /// The instructions that were executed, and whether they jumped, if they have a condition.
    pub steps: Vec<(u32, bool)>,
    carry: bool,
    zero: bool,
}

/// CR0: the FPU traps.
pub const TASK_SWITCHED: u64 = 1 << 3;
/// The number of the register that is the base of FS.
const FS_BASE: u64 = 0xc000_0100;
/// More than this is a loop.
const MOST_STEPS: u32 = 400;

/// The lowest bytes of a word, this many.
const fn low(value: u64, bytes: usize) -> u64 {
    if bytes == 8 { value } else { value & ((1 << (8 * bytes)) - 1) }
}

/// Extended by its sign.
const fn signed(value: u64, bytes: usize) -> u64 {
    let shift = 64 - 8 * bytes as u32;
    ((value << shift) as i64 >> shift) as u64
}

impl<'a> Machine<'a> {
    /// A processor in front of `memory`, which gives the 32-bit word at the lower half of an
    /// address.
    pub fn new(memory: &'a dyn Fn(u32) -> Option<u32>) -> Self {
        Self {
            regs: [0; 16],
            segments: [0; 6],
            tsc: 0,
            cr3: None,
            dropped: Vec::new(),
            cr0: 0,
            cr2: 0,
            fs_base: 0,
            words: Words::new(memory),
            tests: Vec::new(),
            steps: Vec::new(),
            carry: false,
            zero: false,
        }
    }

    /// This many bytes, in one word or two.
    pub fn load(&self, address: u64, bytes: usize) -> Result<u64> {
        let at = kernels(address)?;
        let word = |at: u32| {
            self.words
                .get(at)
                .map(u64::from)
                .with_context(|| format!("a read at {at:#x}, where nothing is"))
        };
        match bytes {
            8 => Ok(word(at)? | word(at + 4)? << 32),
            4 => word(at),
            1 => Ok(word(at & !3)? >> (8 * (at & 3)) & 0xff),
            _ => bail!("an access to {bytes} bytes at {at:#x}"),
        }
    }

    fn store(&mut self, address: u64, bytes: usize, value: u64) -> Result<()> {
        let at = kernels(address)?;
        let words = [value as u32, (value >> 32) as u32];
        ensure!(matches!(bytes, 4 | 8), "an access to {bytes} bytes at {at:#x}");
        for (at, word) in (at..).step_by(4).zip(&words[..bytes / 4]) {
            ensure!(self.words.set(at, *word), "a write at {at:#x}, where nothing is");
        }
        Ok(())
    }

    fn address(&self, i: &Instruction) -> u64 {
        let part = |r: Register| if r == Register::None { 0 } else { self.regs[r.number()] };
        part(i.memory_base())
            .wrapping_add(part(i.memory_index()).wrapping_mul(i.memory_index_scale().into()))
            .wrapping_add(i.memory_displacement64())
    }

    /// Bytes of an operand.
    fn bytes(i: &Instruction, operand: u32) -> usize {
        match i.op_kind(operand) {
            OpKind::Register => i.op_register(operand).size(),
            OpKind::Memory => i.memory_size().size(),
            _ => 8,
        }
    }

    fn get(&self, i: &Instruction, operand: u32) -> Result<u64> {
        Ok(match i.op_kind(operand) {
            OpKind::Register => {
                let r = i.op_register(operand);
                if r.is_segment_register() {
                    self.segments[r.number()].into()
                } else if r == Register::CR0 {
                    self.cr0
                } else if r == Register::CR2 {
                    self.cr2
                } else if r.is_gpr64()
                    || r.is_gpr32()
                    || matches!(r, Register::BL | Register::CL | Register::SI)
                {
                    low(self.regs[r.number()], r.size())
                } else {
                    bail!("unknown register in {i}")
                }
            }
            OpKind::Memory => self.load(self.address(i), Self::bytes(i, operand))?,
            OpKind::NearBranch64 => i.near_branch64(),
            _ => i.immediate(operand),
        })
    }

    fn set(&mut self, i: &Instruction, operand: u32, value: u64) -> Result<()> {
        match i.op_kind(operand) {
            OpKind::Register => {
                let r = i.op_register(operand);
                if r == Register::CR3 {
                    self.cr3 = Some(value);
                } else if r == Register::CR0 {
                    self.cr0 = value;
                } else if r.is_gpr64() || r.is_gpr32() {
                    // The upper half becomes zero.
                    self.regs[r.number()] = low(value, r.size());
                } else {
                    bail!("unknown register in {i}");
                }
                Ok(())
            }
            OpKind::Memory => self.store(self.address(i), Self::bytes(i, operand), value),
            _ => bail!("unknown operand in {i}"),
        }
    }

    fn push(&mut self, value: u64) -> Result<()> {
        self.regs[reg::RSP] = self.regs[reg::RSP].wrapping_sub(8);
        self.store(self.regs[reg::RSP], 8, value)
    }

    /// Runs from `entry` until the code is left. The conditional jump `turned`, by its number, does
    /// the opposite at first.
    pub fn run(&mut self, code: &Code, entry: u32, turned: Option<usize>) -> Result<Exit> {
        let mut at = entry;
        for _ in 0..MOST_STEPS {
            let Some((i, number)) = code.decoded.instruction(at) else { return Ok(Exit::Left(at)) };
            let i = *i;
            self.steps.push((at, true));
            at = i.next_ip() as u32;
            let bytes = Self::bytes(&i, 0);
            match i.mnemonic() {
                Mnemonic::Mov | Mnemonic::Movzx => {
                    let value = self.get(&i, 1)?;
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Movsxd => {
                    let value = signed(self.get(&i, 1)?, Self::bytes(&i, 1));
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Lea => self.regs[i.op0_register().number()] = self.address(&i),
                Mnemonic::Or | Mnemonic::And | Mnemonic::Xor | Mnemonic::Test => {
                    let (a, b) = (self.get(&i, 0)?, self.get(&i, 1)?);
                    let value = match i.mnemonic() {
                        Mnemonic::Or => a | b,
                        Mnemonic::Xor => a ^ b,
                        _ => a & b,
                    };
                    (self.carry, self.zero) = (false, low(value, bytes) == 0);
                    if i.mnemonic() != Mnemonic::Test {
                        self.set(&i, 0, value)?;
                    }
                }
                Mnemonic::Add => {
                    let value = self.get(&i, 0)?.wrapping_add(self.get(&i, 1)?);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Cmp => {
                    let (a, b) = (self.get(&i, 0)?, low(self.get(&i, 1)?, bytes));
                    (self.carry, self.zero) = (a < b, a == b);
                }
                Mnemonic::Sub => {
                    let (a, b) = (self.get(&i, 0)?, low(self.get(&i, 1)?, bytes));
                    (self.carry, self.zero) = (a < b, a == b);
                    self.set(&i, 0, a.wrapping_sub(b))?;
                }
                Mnemonic::Rdtsc => {
                    self.regs[reg::RAX] = low(self.tsc, 4);
                    self.regs[reg::RDX] = self.tsc >> 32;
                }
                Mnemonic::Mul => {
                    let product = u128::from(self.regs[reg::RAX]) * u128::from(self.get(&i, 0)?);
                    self.regs[reg::RAX] = product as u64;
                    self.regs[reg::RDX] = (product >> 64) as u64;
                }
                Mnemonic::Shrd => {
                    let (here, other) = (self.get(&i, 0)?, self.get(&i, 1)?);
                    let count = self.regs[reg::RCX] & 63;
                    let both = u128::from(other) << 64 | u128::from(here);
                    self.set(&i, 0, (both >> count) as u64)?;
                }
                Mnemonic::Bts | Mnemonic::Btr => {
                    let bit = self.get(&i, 1)?;
                    let at = self.address(&i).wrapping_add(bit / 32 * 4);
                    let (word, mask) = (self.load(at, 4)?, 1 << (bit % 32));
                    let is_set = i.mnemonic() == Mnemonic::Bts;
                    self.store(at, 4, if is_set { word | mask } else { word & !mask })?;
                }
                Mnemonic::Bsr => {
                    let value = self.get(&i, 1)?;
                    ensure!(value != 0, "the highest bit of 0");
                    self.set(&i, 0, value.ilog2().into())?;
                }
                Mnemonic::Shl => {
                    let value = self.get(&i, 0)? << self.get(&i, 1)?;
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Shr => {
                    let value = self.get(&i, 0)? >> self.get(&i, 1)?;
                    self.zero = value == 0;
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Push => {
                    let value = self.get(&i, 0)?;
                    self.push(value)?;
                }
                Mnemonic::Pop => {
                    let value = self.load(self.regs[reg::RSP], 8)?;
                    self.regs[reg::RSP] = self.regs[reg::RSP].wrapping_add(8);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Cmovne => {
                    let value = self.get(&i, if self.zero { 0 } else { 1 })?;
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Invlpg => self.dropped.push(self.address(&i) & !(abi::PAGE_SIZE - 1)),
                Mnemonic::Clts => self.cr0 &= !TASK_SWITCHED,
                Mnemonic::Wrmsr => {
                    ensure!(self.regs[reg::RCX] == FS_BASE, "another register than the base of FS");
                    let [high, low] = [reg::RDX, reg::RAX].map(|at| low(self.regs[at], 4));
                    self.fs_base = high << 32 | low;
                }
                Mnemonic::Sysretq => return Ok(Exit::Sysret),
                Mnemonic::Iretq => return Ok(Exit::Iret),
                Mnemonic::Jmp => at = self.get(&i, 0)? as u32,
                jump => {
                    let taken = match jump {
                        Mnemonic::Je => self.zero,
                        Mnemonic::Jne => !self.zero,
                        Mnemonic::Jb => self.carry,
                        Mnemonic::Jbe => self.carry || self.zero,
                        Mnemonic::Jae => !self.carry,
                        Mnemonic::Ja => !self.carry && !self.zero,
                        _ => bail!("an instruction that this machine does not know: {i}"),
                    };
                    let number = number.context("a jump without a number")?;
                    let is_first = !self.tests.contains(&number);
                    if is_first {
                        self.tests.push(number);
                    }
                    if taken != (is_first && turned == Some(number)) {
                        at = i.near_branch64() as u32;
                    }
                }
            }
        }
        bail!("no end after {MOST_STEPS} instructions from {entry:#x}")
    }
}

/// The lower half of an address, which is the kernel's.
fn kernels(address: u64) -> Result<u32> {
    ensure!(
        address & ONES == ONES,
        "an access at {address:#x}, which is no address of the kernel's"
    );
    Ok(address as u32)
}
