// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes PowerPC's entry code as it was built, instruction by instruction: for the differential
//! test, and for that of the hashed table.
//!
//! It knows only the instructions that this code has (*Programming Environments for 32-bit
//! Microprocessors*, chapter 8). Bits are counted from the right. The code accesses only words, so
//! the order of bytes does not matter. It runs with translation off.
//!
//! It owns the registers and what an instruction does to them. It does not know the purpose of the
//! code.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use anyhow::{Context, Result, bail, ensure};

/// The memory that the code sees: words, at multiples of 4.
pub trait Memory {
    /// The word at an address; nothing if there is none.
    fn get(&self, address: u32) -> Option<u32>;

    /// Writes a word. False if there is none.
    fn set(&mut self, address: u32, value: u32) -> bool;
}

/// Registers of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// r0 to r31.
    pub gpr: [u32; 32],
    /// Link register.
    pub lr: u32,
    /// Count register.
    pub ctr: u32,
    /// Fixed-point exception register.
    pub xer: u32,
    /// Condition register.
    pub cr: u32,
    /// Program counter.
    pub pc: u32,
    /// Machine state.
    pub msr: u32,
}

/// The processor's state besides a user's registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct System {
    /// Segment registers.
    pub segments: [u32; 16],
    /// SPRG0 to SPRG3: the directory, the thread, and two that are free.
    pub sprg: [u32; 4],
    /// Why an access failed.
    pub dsisr: u32,
    /// The address of that access.
    pub dar: u32,
    /// Whether a word is reserved.
    pub reserved: bool,
    /// The time base.
    pub time_base: u64,
    /// The number that is added to it each time that one of its halves is read.
    pub passes: u64,
}

/// A processor in supervisor mode, and its memory.
pub struct Machine<M> {
    /// The user's registers; its program counter and machine state are SRR0 and SRR1.
    pub user: User,
    /// The others.
    pub system: System,
    /// The memory.
    pub memory: M,
}

/// How execution continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// At this address.
    At(u32),
    /// In user mode, or with translation on: `rfi`.
    Return,
}

/// In the fixed-point exception register: the carry.
const CARRY: u32 = 1 << 29;

/// A field of an instruction: its lowest bit, and how many there are.
const fn field(instruction: u32, low: u32, bits: u32) -> u32 {
    instruction >> low & ((1 << bits) - 1)
}

/// The immediate operand with its sign.
const fn signed(instruction: u32) -> u32 {
    (instruction as u16).cast_signed() as i32 as u32
}

/// The mask from one bit to another, counted from the left, which may wrap.
const fn mask(begin: u32, end: u32) -> u32 {
    let (from, to) = (u32::MAX >> begin, u32::MAX << (31 - end));
    if begin <= end { from & to } else { from | to }
}

/// Whether an instruction is a branch with a condition.
#[must_use]
pub const fn has_condition(instruction: u32) -> bool {
    instruction >> 26 == 16
}

/// Where a branch at an address goes if its condition is met.
#[must_use]
pub const fn target(instruction: u32, at: u32) -> u32 {
    at.wrapping_add(signed(instruction) & !3)
}

impl<M: Memory> Machine<M> {
    fn gpr(&mut self, number: u32) -> &mut u32 {
        &mut self.user.gpr[number as usize]
    }

    /// A register, or 0 in the place of r0.
    const fn base(&self, number: u32) -> u32 {
        if number == 0 { 0 } else { self.user.gpr[number as usize] }
    }

    fn load(&self, address: u32) -> Result<u32> {
        self.memory
            .get(address)
            .with_context(|| format!("a load of {address:#x}, where nothing is"))
    }

    fn store(&mut self, address: u32, value: u32) -> Result<()> {
        ensure!(self.memory.set(address, value), "a store to {address:#x}, where nothing is");
        Ok(())
    }

    /// Writes a field of the condition register.
    const fn set_condition(&mut self, field: u32, is_less: bool, is_greater: bool, is_equal: bool) {
        let value = (is_less as u32) << 3
            | (is_greater as u32) << 2
            | (is_equal as u32) << 1
            | self.user.xer >> 31;
        let shift = 28 - 4 * field;
        self.user.cr = self.user.cr & !(0xf << shift) | value << shift;
    }

    /// Writes a result, and the condition register if the instruction says so.
    fn set(&mut self, number: u32, value: u32, records: bool) {
        *self.gpr(number) = value;
        if records {
            let value = value.cast_signed();
            self.set_condition(0, value < 0, value > 0, value == 0);
        }
    }

    fn compare(&mut self, instruction: u32, a: u32, b: u32, is_signed: bool) {
        let order = if is_signed { a.cast_signed().cmp(&b.cast_signed()) } else { a.cmp(&b) };
        self.set_condition(field(instruction, 23, 3), order.is_lt(), order.is_gt(), order.is_eq());
    }

    /// A special-purpose register.
    fn special(&mut self, instruction: u32) -> Result<&mut u32> {
        Ok(match field(instruction, 16, 5) | field(instruction, 11, 5) << 5 {
            1 => &mut self.user.xer,
            8 => &mut self.user.lr,
            9 => &mut self.user.ctr,
            18 => &mut self.system.dsisr,
            19 => &mut self.system.dar,
            26 => &mut self.user.pc,
            27 => &mut self.user.msr,
            number @ 272..276 => &mut self.system.sprg[number as usize - 272],
            number => bail!("special-purpose register {number}, which this machine does not know"),
        })
    }

    /// A half of the time base, which then advances; nothing if the instruction does not read it.
    /// The assembler reads it as a special-purpose register.
    const fn time_base(&mut self, instruction: u32) -> Option<u32> {
        let shift = match field(instruction, 16, 5) | field(instruction, 11, 5) << 5 {
            268 => 0,
            269 => 32,
            _ => return None,
        };
        let half = (self.system.time_base >> shift) as u32;
        self.system.time_base = self.system.time_base.wrapping_add(self.system.passes);
        Some(half)
    }

    /// Writes the sum of two words and a carry, and the new carry.
    fn add(&mut self, number: u32, a: u32, b: u32, carry: u32, records: bool) {
        let sum = u64::from(a) + u64::from(b) + u64::from(carry);
        self.user.xer = self.user.xer & !CARRY | if sum >> 32 == 0 { 0 } else { CARRY };
        self.set(number, sum as u32, records);
    }

    /// Instructions of opcode 31.
    fn extended(&mut self, instruction: u32) -> Result<()> {
        let [d, a, b] = [21, 16, 11].map(|low| field(instruction, low, 5));
        let records = instruction & 1 != 0;
        let [of_d, of_a, of_b] = [d, a, b].map(|number| *self.gpr(number));
        let carry = u32::from(self.user.xer & CARRY != 0);
        // A shift by more than 31 gives 0.
        let distance = of_b & 0x3f;
        let product = u64::from(of_a) * u64::from(of_b);
        match field(instruction, 1, 10) {
            0 => self.compare(instruction, of_a, of_b, true),
            8 => self.add(d, !of_a, of_b, 1, records),
            10 => self.add(d, of_a, of_b, 0, records),
            11 => self.set(d, (product >> 32) as u32, records),
            19 => *self.gpr(d) = self.user.cr,
            24 => self.set(a, of_d.checked_shl(distance).unwrap_or(0), records),
            26 => self.set(a, of_d.leading_zeros(), records),
            28 => self.set(a, of_d & of_b, records),
            32 => self.compare(instruction, of_a, of_b, false),
            40 => self.set(d, of_b.wrapping_sub(of_a), records),
            60 => self.set(a, of_d & !of_b, records),
            136 => self.add(d, !of_a, of_b, carry, records),
            138 => self.add(d, of_a, of_b, carry, records),
            144 => {
                ensure!(
                    field(instruction, 12, 8) == 0xff,
                    "only a part of the condition register is written"
                );
                self.user.cr = of_d;
            }
            150 => {
                let address = self.base(a).wrapping_add(of_b);
                let is_reserved = std::mem::take(&mut self.system.reserved);
                if is_reserved {
                    self.store(address, of_d)?;
                } else {
                    self.load(address)?;
                }
                self.set_condition(0, false, false, is_reserved);
            }
            202 => self.add(d, of_a, 0, carry, records),
            210 => self.system.segments[field(instruction, 16, 4) as usize] = of_d,
            235 => self.set(d, product as u32, records),
            266 => self.set(d, of_a.wrapping_add(of_b), records),
            316 => self.set(a, of_d ^ of_b, records),
            339 => {
                *self.gpr(d) = match self.time_base(instruction) {
                    Some(half) => half,
                    None => *self.special(instruction)?,
                };
            }
            444 => self.set(a, of_d | of_b, records),
            536 => self.set(a, of_d.checked_shr(distance).unwrap_or(0), records),
            467 => *self.special(instruction)? = of_d,
            // `sync`: there is one processor.
            598 => {}
            659 => *self.gpr(d) = self.system.segments[field(of_b, 28, 4) as usize],
            number => bail!("opcode 31, {number}, which this machine does not know"),
        }
        Ok(())
    }

    /// Executes the instruction that is at an address.
    ///
    /// # Errors
    /// If the instruction is not known, or accesses a missing word.
    pub fn execute(&mut self, instruction: u32, at: u32) -> Result<Next> {
        let [d, a, b] = [21, 16, 11].map(|low| field(instruction, low, 5));
        let (immediate, upper) = (instruction & 0xffff, instruction << 16);
        let [of_d, of_a] = [d, a].map(|number| *self.gpr(number));
        let place = self.base(a).wrapping_add(signed(instruction));
        let rotated = |register: u32| {
            let [begin, end] = [6, 1].map(|low| field(instruction, low, 5));
            (register.rotate_left(b), mask(begin, end))
        };
        match instruction >> 26 {
            8 => self.add(d, !of_a, signed(instruction), 1, false),
            10 => self.compare(instruction, of_a, immediate, false),
            11 => self.compare(instruction, of_a, signed(instruction), true),
            14 => *self.gpr(d) = place,
            15 => *self.gpr(d) = self.base(a).wrapping_add(upper),
            16 if self.is_met(instruction)? => return Ok(Next::At(target(instruction, at))),
            16 => {}
            18 => {
                ensure!(instruction & 3 == 0, "a branch that this machine does not know");
                return Ok(Next::At(at.wrapping_add_signed((instruction << 6).cast_signed() >> 6)));
            }
            19 => {
                ensure!(
                    field(instruction, 1, 10) == 50,
                    "opcode 19, which this machine does not know"
                );
                // It ignores the others.
                self.user.pc &= !3;
                return Ok(Next::Return);
            }
            20 => {
                let (value, mask) = rotated(of_d);
                self.set(a, value & mask | of_a & !mask, instruction & 1 != 0);
            }
            21 => {
                let (value, mask) = rotated(of_d);
                self.set(a, value & mask, instruction & 1 != 0);
            }
            24 => *self.gpr(a) = of_d | immediate,
            25 => *self.gpr(a) = of_d | upper,
            26 => *self.gpr(a) = of_d ^ immediate,
            27 => *self.gpr(a) = of_d ^ upper,
            28 => self.set(a, of_d & immediate, true),
            29 => self.set(a, of_d & upper, true),
            31 => self.extended(instruction)?,
            32 => *self.gpr(d) = self.load(place)?,
            36 => self.store(place, of_d)?,
            46 => {
                for (number, address) in (d..32).zip((place..).step_by(4)) {
                    *self.gpr(number) = self.load(address)?;
                }
            }
            47 => {
                for (number, address) in (d..32).zip((place..).step_by(4)) {
                    let value = *self.gpr(number);
                    self.store(address, value)?;
                }
            }
            number => bail!("opcode {number}, which this machine does not know"),
        }
        Ok(Next::At(at.wrapping_add(4)))
    }

    /// Whether the condition of a branch is met.
    ///
    /// # Errors
    /// If it is of an unknown kind.
    pub fn is_met(&self, instruction: u32) -> Result<bool> {
        let (how, bit) = (field(instruction, 21, 5), field(instruction, 16, 5));
        ensure!(
            instruction & 3 == 0 && how & 0b10100 == 0b00100,
            "a condition that this machine does not know"
        );
        Ok((self.user.cr >> (31 - bit) & 1) == how >> 3 & 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, Memory, Next, System, User};
    use std::collections::BTreeMap;

    struct Words(BTreeMap<u32, u32>);

    impl Memory for Words {
        fn get(&self, address: u32) -> Option<u32> {
            self.0.get(&address).copied()
        }

        fn set(&mut self, address: u32, value: u32) -> bool {
            self.0.insert(address, value).is_some()
        }
    }

    fn machine() -> Machine<Words> {
        Machine {
            user: User::default(),
            system: System::default(),
            memory: Words([(0x100, 7), (0x104, 8)].into()),
        }
    }

    #[test]
    fn masks_go_round() {
        let mut machine = machine();
        machine.user.gpr[3] = 0x1234_5678;
        // rlwinm 4, 3, 4, 28, 3
        machine.execute(0x5464_2706, 0).unwrap();
        assert_eq!(machine.user.gpr[4], 0x2000_0001);
        // rlwimi 4, 3, 0, 8, 15
        machine.execute(0x5064_021e, 0).unwrap();
        assert_eq!(machine.user.gpr[4], 0x2034_0001);
    }

    #[test]
    fn branches_go_where_the_condition_says() {
        let mut machine = machine();
        machine.user.gpr[3] = u32::MAX;
        // cmpwi 3, 0; bge- . - 8; blt- . + 8
        machine.execute(0x2c03_0000, 0).unwrap();
        assert_eq!(machine.execute(0x4080_fff8, 0x100).unwrap(), Next::At(0x104));
        assert_eq!(machine.execute(0x4180_0008, 0x100).unwrap(), Next::At(0x108));
        // cmplwi 3, 0: without a sign it is greater.
        machine.execute(0x2803_0000, 0).unwrap();
        assert!(!machine.is_met(0x4180_0008).unwrap());
    }

    #[test]
    fn a_store_to_what_was_reserved_happens_once() {
        let mut machine = machine();
        (machine.user.gpr[4], machine.user.gpr[5], machine.system.reserved) = (0x100, 9, true);
        // stwcx. 5, 0, 4
        for (is_done, value) in [(2, 9), (0, 9)] {
            machine.execute(0x7ca0_212d, 0).unwrap();
            assert_eq!((machine.user.cr >> 28, machine.memory.0[&0x100]), (is_done, value));
            machine.user.gpr[5] = 10;
        }
    }

    #[test]
    fn sums_and_products_have_two_words() {
        let mut machine = machine();
        machine.user.gpr[3..7].copy_from_slice(&[u32::MAX, 3, 5, 1]);
        // addc 7, 3, 6; adde 8, 4, 5; addze 9, 4; subfc 7, 3, 6; subfe 8, 5, 4; subfic 9, 4, 32
        for (instruction, result) in [
            (0x7ce3_3014, 0),
            (0x7d04_2914, 9),
            (0x7d24_0194, 3),
            (0x7ce3_3010, 2),
            (0x7d05_2110, u32::MAX - 2),
            (0x2124_0020, 29),
        ] {
            machine.execute(instruction, 0).unwrap();
            assert_eq!(
                machine.user.gpr[(instruction >> 21 & 31) as usize],
                result,
                "{instruction:#x}"
            );
        }
        // mulhwu 7, 3, 4; mullw 8, 3, 4; slw 9, 3, 5; srw 10, 3, 5
        for (instruction, result) in [
            (0x7ce3_2016, 2),
            (0x7d03_21d6, u32::MAX - 2),
            (0x7c69_2830, u32::MAX << 5),
            (0x7c6a_2c30, u32::MAX >> 5),
        ] {
            machine.execute(instruction, 0).unwrap();
            let number = if matches!(instruction >> 1 & 0x3ff, 24 | 536) {
                instruction >> 16
            } else {
                instruction >> 21
            };
            assert_eq!(machine.user.gpr[(number & 31) as usize], result, "{instruction:#x}");
        }
        machine.user.gpr[5] = 32;
        machine.execute(0x7c69_2830, 0).unwrap();
        assert_eq!(machine.user.gpr[9], 0);
    }

    #[test]
    fn the_time_base_goes_on_while_it_is_read() {
        let mut machine = machine();
        (machine.system.time_base, machine.system.passes) = (0x1_ffff_ffff, 1);
        // mftbu 3; mftb 4
        machine.execute(0x7c6d_42a6, 0).unwrap();
        machine.execute(0x7c8c_42a6, 0).unwrap();
        assert_eq!(machine.user.gpr[3..5], [1, 0]);
    }

    #[test]
    fn what_it_does_not_know_it_refuses() {
        // lwarx 3, 0, 4; a load where nothing is
        assert!(
            machine().execute(0x7c60_2028, 0).is_err()
                && machine().execute(0x8060_0200, 0).is_err()
        );
    }
}
