// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes the kernel's entry code on a copy of the memory that it accesses.
//!
//! The crate `armv4t_emu` executes the instructions (MIT, maintained; it needs only `log`, and has
//! the banked registers of all modes): the entry code needs nothing of ARMv5. The crate knows
//! neither the system-control coprocessor nor the flag Q of a status, so this module executes
//! instructions that use these. The crate takes some instructions that it does not know for others:
//! so this module lets only known ones pass.

use super::code::{CARRY, Code, TESTS, ZERO};
use crate::memory::Words;
use anyhow::{Result, bail, ensure};
use armv4t_emu::{Cpu, Memory, Mode, reg};
use mmu::fass::client;
use std::ops::Range;

/// More than this is a loop.
const MOST_STEPS: u32 = 2000;
/// Registers of a user: r0 to r12, sp, lr, pc, cpsr.
pub const REGISTERS: usize = 17;
/// Where the status is among them.
pub const CPSR: usize = 16;

/// Where the code ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// To user mode.
    User,
    /// To this address outside of the code.
    Left(u32),
}

/// The memory, and which domains of it are open.
struct Guarded<'a> {
    words: Words<'a>,
    /// An access where nothing is, or whose domain is closed.
    missing: Option<u32>,
    /// Ranges with their own domains, and the domain access register. All other memory is the
    /// kernel's.
    frames: &'a [(Range<u32>, u32)],
    open: u32,
}

impl Guarded<'_> {
    fn is_closed(&self, address: u32) -> bool {
        self.frames
            .iter()
            .any(|(range, domain)| range.contains(&address) && self.open & client(*domain) == 0)
    }

    fn miss(&mut self, address: u32) {
        self.missing.get_or_insert(address);
    }
}

// The code accesses nothing but words.
impl Memory for Guarded<'_> {
    fn r8(&mut self, address: u32) -> u8 {
        self.miss(address);
        0
    }
    fn r16(&mut self, address: u32) -> u16 {
        self.miss(address);
        0
    }
    fn r32(&mut self, address: u32) -> u32 {
        self.words.get(address).filter(|_| !self.is_closed(address)).unwrap_or_else(|| {
            self.miss(address);
            0
        })
    }
    fn w8(&mut self, address: u32, _: u8) {
        self.miss(address);
    }
    fn w16(&mut self, address: u32, _: u16) {
        self.miss(address);
    }
    fn w32(&mut self, address: u32, value: u32) {
        if self.is_closed(address) || !self.words.set(address, value) {
            self.miss(address);
        }
    }
}

/// Whether an instruction of ARMv4 that this kind of code may use.
const fn is_known(instruction: u32) -> bool {
    const WRITES_BACK: u32 = 1 << 21;
    let is_misc = instruction & 0x0190_0000 == 0x0100_0000;
    let mrs_spsr = instruction & 0x0fff_0fff == 0x014f_0000;
    match instruction >> 25 & 7 {
        // No multiplication, and no extra load or store.
        0 => mrs_spsr || !is_misc && instruction & 0x90 != 0x90,
        1 => !is_misc,
        // Words, by an immediate or a register, without a change of the base.
        2 => instruction & (1 << 24 | 1 << 22 | WRITES_BACK) == 1 << 24,
        3 => instruction & (1 << 24 | 1 << 22 | WRITES_BACK | 1 << 4) == 1 << 24,
        // And not of a register that is stored.
        4 => instruction & WRITES_BACK == 0 || instruction >> (instruction >> 16 & 15) & 1 == 0,
        5 => true,
        _ => false,
    }
}

/// An operation on caches or TLB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maintenance {
    /// A line of data is written back.
    Clean,
    /// A line of data is invalidated.
    Drop,
    /// A line of instructions is invalidated.
    DropCode,
    /// The branch predictor is invalidated.
    DropBranches,
    /// The write buffer is drained.
    Drain,
    /// A translation of data is dropped.
    Flush,
    /// A translation of instructions is dropped.
    FlushCode,
}

/// An operation that was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Maintained {
    /// Which.
    pub what: Maintenance,
    /// An address of the line or the page.
    pub address: u32,
    /// How many words were written before.
    pub writes: usize,
}

/// A processor in supervisor mode, and the memory it sees.
pub struct Machine<'a> {
    cpu: Cpu,
    memory: Guarded<'a>,
    /// The domain access register, if it was written.
    pub dacr: Option<u32>,
    /// The process identifier.
    pub pid: u32,
    /// How often the process identifier was written.
    pub pid_writes: u32,
    /// Status and address of a fault.
    pub fault: [u32; 2],
    /// What was done to caches and TLB.
    pub maintained: Vec<Maintained>,
    /// The tests that were made, by their number.
    pub tests: Vec<usize>,
    /// The instructions that were executed, and whether their conditions were met.
    pub steps: Vec<(u32, bool)>,
    /// Whether the domain of an alien's frame was not open.
    pub found_closed: bool,
}

impl<'a> Machine<'a> {
    /// One that has just entered by `swi` from these registers, with the process identifier `pid`
    /// and the supervisor's stack pointer `stack`. `before` gives the word at an address.
    pub fn new(
        before: &'a dyn Fn(u32) -> Option<u32>,
        user: &[u32; REGISTERS],
        pid: u32,
        stack: u32,
    ) -> Self {
        let mut cpu = Cpu::new();
        (0..)
            .zip(&user[..15])
            .for_each(|(register, value)| cpu.reg_set(Mode::User, register, *value));
        cpu.reg_set(Mode::Supervisor, reg::SP, stack);
        cpu.reg_set(Mode::Supervisor, reg::LR, user[15]);
        cpu.reg_set(Mode::Supervisor, reg::SPSR, user[CPSR]);
        let memory = Guarded { words: Words::new(before), missing: None, frames: &[], open: 0 };
        Self {
            cpu,
            memory,
            dacr: None,
            pid,
            pid_writes: 0,
            fault: [0; 2],
            maintained: Vec::new(),
            tests: Vec::new(),
            steps: Vec::new(),
            found_closed: false,
        }
    }

    /// With these ranges of addresses, each with its domain, and this domain access register.
    pub fn with_domains(mut self, frames: &'a [(Range<u32>, u32)], open: u32) -> Self {
        (self.memory.frames, self.memory.open) = (frames, open);
        self
    }

    /// The memory.
    pub const fn words(&self) -> &Words<'a> {
        &self.memory.words
    }

    fn maintain(&mut self, what: Maintenance, register: u8) {
        let address = self.cpu.reg_get(Mode::Supervisor, register);
        self.maintained.push(Maintained { what, address, writes: self.memory.words.order.len() });
    }

    /// The user's registers.
    pub fn user(&self) -> [u32; REGISTERS] {
        std::array::from_fn(|index| self.cpu.reg_get(Mode::User, index as u8))
    }

    /// Whether the condition of an instruction is met.
    fn is_met(&self, instruction: u32) -> Result<bool> {
        let flags = self.cpu.reg_get(Mode::Supervisor, reg::CPSR);
        let (zero, carry) = (flags & ZERO != 0, flags & CARRY != 0);
        Ok(match instruction >> 28 {
            0 => zero,
            1 => !zero,
            2 => carry,
            3 => !carry,
            8 => carry && !zero,
            9 => !carry || zero,
            14 => true,
            _ => bail!("a condition that this machine does not know: {instruction:#010x}"),
        })
    }

    /// Carries out what `armv4t_emu` does not know. False if that is not one of these.
    fn special(&mut self, instruction: u32) -> bool {
        let (rd, rm) = ((instruction >> 12 & 15) as u8, (instruction & 15) as u8);
        let value = |cpu: &Cpu, register| cpu.reg_get(Mode::Supervisor, register);
        match instruction & 0x0fff_0fff {
            // mcr p15, 0, rd, c3, c0, 0
            0x0e03_0f10 => {
                self.memory.open = value(&self.cpu, rd);
                self.dacr = Some(self.memory.open);
            }
            // mcr p15, 0, rd, c13, c0, 0
            0x0e0d_0f10 => {
                (self.pid, self.pid_writes) = (value(&self.cpu, rd), self.pid_writes + 1)
            }
            // mrc p15, 0, rd, c13, c0, 0
            0x0e1d_0f10 => self.cpu.reg_set(Mode::Supervisor, rd, self.pid),
            // mrc p15, 0, rd, c5, c0, 0
            0x0e15_0f10 => self.cpu.reg_set(Mode::Supervisor, rd, self.fault[0]),
            // mrc p15, 0, rd, c6, c0, 0
            0x0e16_0f10 => self.cpu.reg_set(Mode::Supervisor, rd, self.fault[1]),
            // mcr p15, 0, rd, ...: c7, c10, 1; c7, c6, 1; c7, c5, 1; c7, c5, 6; c7, c10, 4; c8, c6,
            // 1; c8, c5, 1
            0x0e07_0f3a => self.maintain(Maintenance::Clean, rd),
            0x0e07_0f36 => self.maintain(Maintenance::Drop, rd),
            0x0e07_0f35 => self.maintain(Maintenance::DropCode, rd),
            0x0e07_0fd5 => self.maintain(Maintenance::DropBranches, rd),
            0x0e07_0f9a => self.maintain(Maintenance::Drain, rd),
            0x0e08_0f36 => self.maintain(Maintenance::Flush, rd),
            0x0e08_0f35 => self.maintain(Maintenance::FlushCode, rd),
            // msr spsr_cxsf, rm
            _ if instruction & 0x0fff_fff0 == 0x016f_f000 => {
                let status = value(&self.cpu, rm);
                self.cpu.reg_set(Mode::Supervisor, reg::SPSR, status);
            }
            _ => return false,
        }
        true
    }

    /// Executes from an address on. The test `turned`, by its number, counts as passed whatever it
    /// finds.
    ///
    /// # Errors
    /// An instruction that is not known, an access where nothing is, or no end.
    pub fn run(&mut self, code: &Code, from: u32, turned: Option<usize>) -> Result<Exit> {
        self.cpu.reg_set(Mode::Supervisor, reg::PC, from);
        for _ in 0..MOST_STEPS {
            let at = self.cpu.reg_get(Mode::Supervisor, reg::PC);
            if self.cpu.mode() == Mode::User {
                return Ok(Exit::User);
            }
            let Some(instruction) = code.instruction(at) else { return Ok(Exit::Left(at)) };
            let is_met = self.is_met(instruction)?;
            self.steps.push((at, is_met));
            let frame = code.symbols.frames.iter().find(|(access, _)| *access == at);
            if frame.is_some_and(|(_, by)| {
                self.memory.is_closed(self.cpu.reg_get(Mode::Supervisor, *by))
            }) {
                self.found_closed = true;
                self.cpu.reg_set(Mode::Supervisor, reg::PC, code.symbols.slower);
                continue;
            }
            if !is_met || self.special(instruction) {
                self.cpu.reg_set(Mode::Supervisor, reg::PC, at + 4);
            } else {
                ensure!(
                    is_known(instruction),
                    "an instruction that this machine does not know: {instruction:#010x} at {at:#x}"
                );
                ensure!(
                    self.cpu.step(&mut self.memory),
                    "undefined: {instruction:#010x} at {at:#x}"
                );
            }
            if let Some(address) = self.memory.missing {
                bail!(
                    "an access to {address:#x}, where nothing is, or by a domain that is closed, by {instruction:#010x} at {at:#x}"
                );
            }
            if let Some(number) = code.test(at).filter(|_| is_met) {
                if !self.tests.contains(&number) {
                    self.tests.push(number);
                }
                if let Some((_, flags)) = TESTS[number].filter(|_| turned == Some(number)) {
                    let status =
                        self.cpu.reg_get(Mode::Supervisor, reg::CPSR) & !(ZERO | CARRY) | flags;
                    self.cpu.reg_set(Mode::Supervisor, reg::CPSR, status);
                }
            }
        }
        bail!("no end after {MOST_STEPS} instructions from {from:#x}")
    }
}
