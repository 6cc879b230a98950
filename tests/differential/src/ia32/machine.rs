// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes the kernel's entry code as it was built, instruction by instruction, on a copy of the
//! memory that it accesses. It knows the instructions that occur there; any other is an error.

use super::code::Code;
use crate::memory::Words;
use anyhow::{Context, Result, bail, ensure};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// Where the code ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// To user mode by `sysexit`.
    Sysexit,
    /// To user mode by `iret`.
    Iret,
    /// To this address outside of the code.
    Left(u32),
}

/// Indices of general registers.
pub mod reg {
    /// As the processor numbers them.
    pub const EAX: usize = 0;
    /// See `EAX`.
    pub const ECX: usize = 1;
    /// See `EAX`.
    pub const EDX: usize = 2;
    /// See `EAX`.
    pub const EBX: usize = 3;
    /// See `EAX`.
    pub const ESP: usize = 4;
    /// See `EAX`.
    pub const EBP: usize = 5;
    /// See `EAX`.
    pub const ESI: usize = 6;
    /// See `EAX`.
    pub const EDI: usize = 7;
}

/// A processor and the memory it sees.
pub struct Machine<'a> {
    /// General registers.
    pub regs: [u32; 8],
    /// ES, CS, SS, DS, FS, GS.
    pub segments: [u16; 6],
    /// The descriptors that these cached when they were loaded, in the same order: two words, where
    /// a descriptor is known.
    pub hidden: [Option<[u32; 2]>; 6],
    gdt: u32,
    /// Address of a page fault.
    pub cr2: u32,
    /// The time-stamp counter.
    pub tsc: u64,
    /// The last value written to CR3.
    pub cr3: Option<u32>,
    /// The flags on a return by `sysexit`.
    pub eflags: u32,
    /// Addresses whose translations were dropped.
    pub dropped: Vec<u32>,
    /// The memory.
    pub words: Words<'a>,
    /// The conditional jumps that were executed, by number.
    pub tests: Vec<usize>,
    /// The instructions that were executed, and whether they jumped, if they have a condition.
    pub steps: Vec<(u32, bool)>,
    carry: bool,
    zero: bool,
}

/// Index of DS in `Machine::segments`.
pub const DS: usize = 3;
/// Index of ES.
pub const ES: usize = 0;
/// Index of FS.
pub const FS: usize = 4;
/// Index of GS.
pub const GS: usize = 5;

/// More than this is a loop.
const MOST_STEPS: u32 = 400;

impl<'a> Machine<'a> {
    /// A processor in front of `memory`, which gives the word at an address; with the segment
    /// descriptors at `gdt`.
    pub fn new(memory: &'a dyn Fn(u32) -> Option<u32>, gdt: u32) -> Self {
        Self {
            regs: [0; 8],
            segments: [0; 6],
            hidden: [None; 6],
            gdt,
            cr2: 0,
            tsc: 0,
            cr3: None,
            eflags: 0,
            dropped: Vec::new(),
            words: Words::new(memory),
            tests: Vec::new(),
            steps: Vec::new(),
            carry: false,
            zero: false,
        }
    }

    /// The word at an address, a multiple of 4.
    pub fn word(&self, address: u32) -> Result<u32> {
        self.words.get(address).with_context(|| format!("a read at {address:#x}, where nothing is"))
    }

    /// The segment descriptor that a selector names, where it is known.
    pub fn descriptor(&self, selector: u16) -> Option<[u32; 2]> {
        let at = self.gdt + u32::from(selector & !7);
        Some([self.word(at).ok()?, self.word(at + 4).ok()?])
    }

    /// Loads a segment register: the processor reads the descriptor now, and not again.
    pub fn load_segment(&mut self, index: usize, selector: u16) {
        self.segments[index] = selector;
        self.hidden[index] = self.descriptor(selector);
    }

    fn load(&self, address: u32, bytes: usize) -> Result<u32> {
        let shift = address % 4 * 8;
        if shift / 8 + bytes as u32 > 4 {
            bail!("an access across words at {address:#x}");
        }
        let word = self.word(address & !3)? >> shift;
        Ok(if bytes == 4 { word } else { word & ((1 << (8 * bytes)) - 1) })
    }

    fn store(&mut self, address: u32, bytes: usize, value: u32) -> Result<()> {
        let shift = address % 4 * 8;
        if shift / 8 + bytes as u32 > 4 {
            bail!("an access across words at {address:#x}");
        }
        let mask = if bytes == 4 { u32::MAX } else { ((1 << (8 * bytes)) - 1) << shift };
        let word = self.word(address & !3)? & !mask | value << shift & mask;
        self.words.set(address & !3, word);
        Ok(())
    }

    fn address(&self, i: &Instruction) -> u32 {
        let part = |r: Register| if r == Register::None { 0 } else { self.regs[r.number()] };
        part(i.memory_base())
            .wrapping_add(part(i.memory_index()).wrapping_mul(i.memory_index_scale()))
            .wrapping_add(i.memory_displacement32())
    }

    /// Bytes of an operand.
    fn bytes(i: &Instruction, operand: u32) -> usize {
        match i.op_kind(operand) {
            OpKind::Register => i.op_register(operand).size(),
            OpKind::Memory => i.memory_size().size(),
            _ => 4,
        }
    }

    fn get(&self, i: &Instruction, operand: u32) -> Result<u32> {
        Ok(match i.op_kind(operand) {
            OpKind::Register => {
                let r = i.op_register(operand);
                if r == Register::CR2 {
                    self.cr2
                } else if r.is_segment_register() {
                    u32::from(self.segments[r.number()])
                } else if r.is_gpr32() {
                    self.regs[r.number()]
                } else if r.is_gpr16() {
                    self.regs[r.number()] & 0xffff
                } else if r.is_gpr8() && r.number() < 4 {
                    self.regs[r.number()] & 0xff
                } else {
                    bail!("unknown register in {i}")
                }
            }
            OpKind::Memory => self.load(self.address(i), Self::bytes(i, operand))?,
            OpKind::NearBranch32 => i.near_branch32(),
            _ => i.immediate(operand) as u32,
        })
    }

    fn set(&mut self, i: &Instruction, operand: u32, value: u32) -> Result<()> {
        match i.op_kind(operand) {
            OpKind::Register => {
                let r = i.op_register(operand);
                if r.is_segment_register() {
                    self.load_segment(r.number(), value as u16);
                } else if r == Register::CR3 {
                    self.cr3 = Some(value);
                } else if r.is_gpr32() {
                    self.regs[r.number()] = value;
                } else if r.is_gpr16() {
                    self.regs[r.number()] = self.regs[r.number()] & 0xffff_0000 | value & 0xffff;
                } else if r.is_gpr8() && r.number() < 4 {
                    self.regs[r.number()] = self.regs[r.number()] & 0xffff_ff00 | value & 0xff;
                } else {
                    bail!("unknown register in {i}");
                }
                Ok(())
            }
            OpKind::Memory => self.store(self.address(i), Self::bytes(i, operand), value),
            _ => bail!("unknown operand in {i}"),
        }
    }

    fn push(&mut self, value: u32) -> Result<()> {
        self.regs[reg::ESP] = self.regs[reg::ESP].wrapping_sub(4);
        self.store(self.regs[reg::ESP], 4, value)
    }

    fn pop(&mut self) -> Result<u32> {
        let value = self.word(self.regs[reg::ESP])?;
        self.regs[reg::ESP] = self.regs[reg::ESP].wrapping_add(4);
        Ok(value)
    }

    /// Runs from `entry` until the code is left. The conditional jump `turned`, by its number, does
    /// the opposite at first.
    pub fn run(&mut self, code: &Code, entry: u32, turned: Option<usize>) -> Result<Exit> {
        let mut at = entry;
        for _ in 0..MOST_STEPS {
            let Some((i, number)) = code.decoded.instruction(at) else { return Ok(Exit::Left(at)) };
            let i = *i;
            self.steps.push((at, true));
            at = i.next_ip32();
            match i.mnemonic() {
                Mnemonic::Mov | Mnemonic::Movzx => {
                    let value = self.get(&i, 1)?;
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
                    (self.carry, self.zero) = (false, value == 0);
                    if i.mnemonic() != Mnemonic::Test {
                        self.set(&i, 0, value)?;
                    }
                }
                Mnemonic::Add => {
                    let (value, carry) = self.get(&i, 0)?.overflowing_add(self.get(&i, 1)?);
                    (self.carry, self.zero) = (carry, value == 0);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Sub => {
                    let (value, carry) = self.get(&i, 0)?.overflowing_sub(self.get(&i, 1)?);
                    (self.carry, self.zero) = (carry, value == 0);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Cmp => {
                    let (a, b) = (self.get(&i, 0)?, self.get(&i, 1)?);
                    (self.carry, self.zero) = (a < b, a == b);
                }
                Mnemonic::Adc => {
                    let (value, carry) =
                        self.get(&i, 0)?.carrying_add(self.get(&i, 1)?, self.carry);
                    (self.carry, self.zero) = (carry, value == 0);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Sbb => {
                    let (value, borrow) =
                        self.get(&i, 0)?.borrowing_sub(self.get(&i, 1)?, self.carry);
                    (self.carry, self.zero) = (borrow, value == 0);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Neg => {
                    let value = self.get(&i, 0)?;
                    (self.carry, self.zero) = (value != 0, value == 0);
                    self.set(&i, 0, value.wrapping_neg())?;
                }
                Mnemonic::Mul => {
                    let product = u64::from(self.regs[reg::EAX]) * u64::from(self.get(&i, 0)?);
                    [self.regs[reg::EAX], self.regs[reg::EDX]] =
                        [product as u32, (product >> 32) as u32];
                }
                Mnemonic::Shrd | Mnemonic::Shld => {
                    let (here, other, count) =
                        (self.get(&i, 0)?, self.get(&i, 1)?, self.get(&i, 2)? & 31);
                    let value = if i.mnemonic() == Mnemonic::Shrd {
                        ((u64::from(other) << 32 | u64::from(here)) >> count) as u32
                    } else {
                        ((u64::from(here) << 32 | u64::from(other)) << count >> 32) as u32
                    };
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Rdtsc => {
                    [self.regs[reg::EAX], self.regs[reg::EDX]] =
                        [self.tsc as u32, (self.tsc >> 32) as u32]
                }
                Mnemonic::Bts | Mnemonic::Btr => {
                    let bit = self.get(&i, 1)?;
                    let at = self.address(&i).wrapping_add(bit / 32 * 4);
                    let word = self.word(at)?;
                    let value = if i.mnemonic() == Mnemonic::Bts {
                        word | 1 << (bit % 32)
                    } else {
                        word & !(1 << (bit % 32))
                    };
                    self.carry = word >> (bit % 32) & 1 != 0;
                    self.store(at, 4, value)?;
                }
                Mnemonic::Bsr => {
                    let value = self.get(&i, 1)?;
                    ensure!(value != 0, "the highest bit of 0");
                    self.zero = false;
                    self.set(&i, 0, value.ilog2())?;
                }
                Mnemonic::Shl => {
                    let value = self.get(&i, 0)? << (self.get(&i, 1)? & 31);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Shr => {
                    let value = self.get(&i, 0)? >> (self.get(&i, 1)? & 31);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Rol => {
                    let value = self.get(&i, 0)?.rotate_left(self.get(&i, 1)? & 31);
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Bswap => {
                    let value = self.get(&i, 0)?.swap_bytes();
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Push => {
                    let value = self.get(&i, 0)?;
                    self.push(value)?;
                }
                Mnemonic::Pop => {
                    let value = self.pop()?;
                    self.set(&i, 0, value)?;
                }
                Mnemonic::Pushad => {
                    let esp = self.regs[reg::ESP];
                    for register in 0..8 {
                        self.push(if register == reg::ESP { esp } else { self.regs[register] })?;
                    }
                }
                Mnemonic::Pushfd => self.push(2)?,
                Mnemonic::Popfd => self.eflags = self.pop()?,
                Mnemonic::Sti => self.eflags |= 1 << 9,
                Mnemonic::Nop => {}
                Mnemonic::Sysexit => return Ok(Exit::Sysexit),
                Mnemonic::Iretd => return Ok(Exit::Iret),
                Mnemonic::Xchg => {
                    let (a, b) = (self.get(&i, 0)?, self.get(&i, 1)?);
                    self.set(&i, 0, b)?;
                    self.set(&i, 1, a)?;
                }
                Mnemonic::Invlpg => self.dropped.push(self.address(&i)),
                Mnemonic::Jmp => at = self.get(&i, 0)?,
                jump => {
                    let taken = match jump {
                        Mnemonic::Je => self.zero,
                        Mnemonic::Jne => !self.zero,
                        Mnemonic::Jb => self.carry,
                        Mnemonic::Jae => !self.carry,
                        Mnemonic::Ja => !self.carry && !self.zero,
                        Mnemonic::Jbe => self.carry || self.zero,
                        _ => bail!("an instruction that this machine does not know: {i}"),
                    };
                    let number = number.context("a jump without a number")?;
                    let is_first = !self.tests.contains(&number);
                    if is_first {
                        self.tests.push(number);
                    }
                    if taken != (is_first && turned == Some(number)) {
                        at = i.near_branch32();
                    }
                }
            }
        }
        bail!("no end after {MOST_STEPS} instructions from {entry:#x}")
    }
}
