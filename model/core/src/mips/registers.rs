// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of the kernel's registers, as far as they follow from its code and from what it
//! loads.
//!
//! At an entry no register is known. An instruction's result is known if its operands are, and a
//! load's result is the value that was read. An instruction that the module does not understand
//! leaves its target unknown: so what is known is true.

use super::bits::Bits;
use super::instruction::{RETURN, WAIT};

/// The register in which a call stores its return address.
const LINK: usize = 31;
/// The bits of EntryHi below the page: the ASID, and bits that are always 0. An exception of the
/// TLB writes the bits above.
const LOWER: u64 = 0x1fff;
/// EntryHi, among the registers of coprocessor 0; and Index.
const ENTRY_HI: usize = 10;
const INDEX: usize = 0;

/// What an instruction does besides changing registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// `tlbp`: looks for an entry.
    Probe,
    /// `tlbwi`: writes the entry of Index.
    WriteIndexed,
    /// `tlbwr`: writes a random entry.
    WriteRandom,
    /// `eret`.
    Return,
    /// `wait`.
    Wait,
}

/// The registers.
#[derive(Clone, Debug)]
pub struct Registers {
    general: [Bits; 32],
    /// EntryHi: the pages, and the valid ASID.
    pub entry_hi: Bits,
    /// Index.
    pub index: Bits,
    /// Whether the next instruction is executed only if the last one branched.
    is_likely: bool,
}

impl Default for Registers {
    fn default() -> Self {
        Self {
            general: [Bits::UNKNOWN; 32],
            entry_hi: Bits::UNKNOWN,
            index: Bits::UNKNOWN,
            is_likely: false,
        }
    }
}

/// A field of five bits.
const fn field(word: u32, shift: u32) -> usize {
    (word >> shift & 31) as usize
}

impl Registers {
    /// The kernel is entered: nothing is known of the user's registers, nor of an address that was
    /// missed.
    pub fn enter(&mut self) {
        self.general = [Bits::UNKNOWN; 32];
        self.entry_hi = self.entry_hi.only(LOWER);
        self.is_likely = false;
    }

    /// A register; register 0 is 0.
    #[must_use]
    pub const fn get(&self, number: usize) -> Bits {
        if number == 0 { Bits::of(0) } else { self.general[number & 31] }
    }

    fn set(&mut self, number: usize, value: Bits) {
        self.general[number & 31] = value;
    }

    /// An instruction was executed that is no load, or is a load of which [`loaded`](Self::loaded)
    /// tells next.
    pub fn step(&mut self, word: u32) -> Option<Effect> {
        let was_likely = std::mem::take(&mut self.is_likely);
        let (target, value) = match word >> 26 {
            0 => (field(word, 11), self.register_form(word)),
            1 => {
                self.is_likely = word >> 17 & 1 != 0 && word >> 19 & 1 == 0;
                (if word >> 20 & 1 != 0 { LINK } else { 0 }, Bits::UNKNOWN)
            }
            3 => (LINK, Bits::UNKNOWN),
            2 | 4..=7 => (0, Bits::UNKNOWN),
            0x14..=0x17 => {
                self.is_likely = true;
                (0, Bits::UNKNOWN)
            }
            0x10 => return self.coprocessor(word),
            // Stores, but for those that say whether they were made.
            0x28..=0x2f | 0x3f => (0, Bits::UNKNOWN),
            _ => (field(word, 16), self.immediate_form(word)),
        };
        self.set(target, if was_likely { Bits::UNKNOWN } else { value });
        None
    }

    /// The result of an instruction with three registers.
    fn register_form(&self, word: u32) -> Bits {
        let (a, b) = (self.get(field(word, 21)), self.get(field(word, 16)));
        let amount = word >> 6 & 31;
        let by = |mask: u64| a.part(mask).map(|by| by as u32);
        match word & 0x3f {
            0x00 => b.left(amount).word(),
            0x02 => b.half().right(amount).word(),
            0x03 => b.word().right_signed(amount).word(),
            0x04 => by(31).map_or(Bits::UNKNOWN, |by| b.left(by).word()),
            0x06 => by(31).map_or(Bits::UNKNOWN, |by| b.half().right(by).word()),
            0x07 => by(31).map_or(Bits::UNKNOWN, |by| b.word().right_signed(by).word()),
            0x14 => by(63).map_or(Bits::UNKNOWN, |by| b.left(by)),
            0x16 => by(63).map_or(Bits::UNKNOWN, |by| b.right(by)),
            0x17 => by(63).map_or(Bits::UNKNOWN, |by| b.right_signed(by)),
            0x20 | 0x21 => a.plus(b).word(),
            0x22 | 0x23 => a.minus(b).word(),
            0x24 => a.and(b),
            0x25 => a.or(b),
            0x26 => a.xor(b),
            0x27 => a.or(b).not(),
            0x2a => less(a, b, |a, b| (a as i64) < b as i64),
            0x2b => less(a, b, |a, b| a < b),
            0x2c | 0x2d => a.plus(b),
            0x2e | 0x2f => a.minus(b),
            0x38 => b.left(amount),
            0x3a => b.right(amount),
            0x3b => b.right_signed(amount),
            0x3c => b.left(amount + 32),
            0x3e => b.right(amount + 32),
            0x3f => b.right_signed(amount + 32),
            _ => Bits::UNKNOWN,
        }
    }

    /// The result of an instruction with a constant; that of a load is not known yet.
    fn immediate_form(&self, word: u32) -> Bits {
        let a = self.get(field(word, 21));
        let (signed, plain) = (word as i16 as u64, u64::from(word & 0xffff));
        match word >> 26 {
            0x08 | 0x09 => a.plus(Bits::of(signed)).word(),
            0x0a => less(a, Bits::of(signed), |a, b| (a as i64) < b as i64),
            0x0b => less(a, Bits::of(signed), |a, b| a < b),
            0x0c => a.and(Bits::of(plain)),
            0x0d => a.or(Bits::of(plain)),
            0x0e => a.xor(Bits::of(plain)),
            0x0f => Bits::of(plain << 16).word(),
            0x18 | 0x19 => a.plus(Bits::of(signed)),
            _ => Bits::UNKNOWN,
        }
    }

    fn coprocessor(&mut self, word: u32) -> Option<Effect> {
        let (general, number) = (field(word, 16), field(word, 11));
        match (word >> 21 & 31, word & 0x3f) {
            (0 | 1, _) => {
                let value = match number {
                    ENTRY_HI => self.entry_hi,
                    INDEX => self.index,
                    _ => Bits::UNKNOWN,
                };
                self.set(general, if word >> 21 & 31 == 0 { value.word() } else { value });
            }
            (4 | 5, _) => {
                let value = self.get(general);
                match number {
                    ENTRY_HI => self.entry_hi = value,
                    INDEX => self.index = value,
                    _ => {}
                }
            }
            (16.., 1) => self.entry_hi = Bits::UNKNOWN,
            (16.., 2) => return Some(Effect::WriteIndexed),
            (16.., 6) => return Some(Effect::WriteRandom),
            (16.., 8) => {
                self.index = Bits::UNKNOWN;
                return Some(Effect::Probe);
            }
            _ if word == RETURN => return Some(Effect::Return),
            _ if word == WAIT => return Some(Effect::Wait),
            _ => {}
        }
        None
    }

    /// The last load has read this value. Loads of parts of an unaligned word leave their target
    /// unknown.
    pub fn loaded(&mut self, word: u32, value: u64) {
        let value = match word >> 26 {
            0x20 => value as i8 as u64,
            0x21 => value as i16 as u64,
            0x23 | 0x30 => value as i32 as u64,
            0x24 => u64::from(value as u8),
            0x25 => u64::from(value as u16),
            0x27 => u64::from(value as u32),
            0x34 | 0x37 => value,
            _ => return,
        };
        self.set(field(word, 16), Bits::of(value));
    }
}

/// Whether one is less than the other, if both are known.
fn less(a: Bits, b: Bits, is: fn(u64, u64) -> bool) -> Bits {
    Bits::truth(a.all().zip(b.all()).map(|(a, b)| is(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodings by LLVM's assembler (`llvm-mc --triple=mips64 --mcpu=mips3`), executed one after
    /// the other: what is in $2 then. $4 was loaded, $5 is not known.
    fn after(code: &[u32]) -> Option<u64> {
        let mut registers = Registers::default();
        registers.step(0x8c64_0000);
        registers.loaded(0x8c64_0000, 0x8123_4567);
        code.iter().for_each(|word| _ = registers.step(*word));
        registers.get(2).all()
    }

    #[test]
    fn results_follow_from_operands() {
        for (text, word, expected) in [
            ("sll $2, $4, 4", 0x0004_1100, Some(0x1234_5670)),
            ("srl $2, $4, 4", 0x0004_1102, Some(0x0812_3456)),
            ("sra $2, $4, 4", 0x0004_1103, Some(0xffff_ffff_f812_3456)),
            ("dsll $2, $4, 4", 0x0004_1138, Some(0xffff_fff8_1234_5670)),
            ("dsrl $2, $4, 4", 0x0004_113a, Some(0x0fff_ffff_f812_3456)),
            ("dsrl32 $2, $4, 0", 0x0004_103e, Some(0xffff_ffff)),
            ("dsra $2, $4, 4", 0x0004_113b, Some(0xffff_ffff_f812_3456)),
            ("addiu $2, $4, -1", 0x2482_ffff, Some(0xffff_ffff_8123_4566)),
            ("daddiu $2, $0, -1", 0x6402_ffff, Some(!0)),
            ("andi $2, $4, 0xff", 0x3082_00ff, Some(0x67)),
            ("andi $2, $5, 0xff", 0x30a2_00ff, None),
            ("ori $2, $0, 0x8000", 0x3402_8000, Some(0x8000)),
            ("xori $2, $4, 7", 0x3882_0007, Some(0xffff_ffff_8123_4560)),
            ("lui $2, 0x8000", 0x3c02_8000, Some(0xffff_ffff_8000_0000)),
            ("daddu $2, $4, $0", 0x0080_102d, Some(0xffff_ffff_8123_4567)),
            ("daddu $2, $4, $5", 0x0085_102d, None),
            ("subu $2, $0, $4", 0x0004_1023, Some(0x7edc_ba99)),
            ("nor $2, $4, $0", 0x0080_1027, Some(0x7edc_ba98)),
            ("sltu $2, $0, $4", 0x0004_102b, Some(1)),
            ("slt $2, $0, $4", 0x0004_102a, Some(0)),
            ("sltiu $2, $4, 9", 0x2c82_0009, Some(0)),
            ("mflo $2", 0x0000_1012, None),
            ("mfc0 $2, $8", 0x4002_4000, None),
        ] {
            assert_eq!(after(&[word]), expected, "{text}");
        }
    }

    #[test]
    fn coprocessor_0_is_followed() {
        // dmtc0 $4, $10; dmfc0 $2, $10.
        assert_eq!(after(&[0x40a4_5000, 0x4022_5000]), Some(0xffff_ffff_8123_4567));
        let mut registers = Registers::default();
        registers.step(0x40a0_5000);
        assert_eq!(registers.entry_hi.all(), Some(0));
        registers.enter();
        assert_eq!((registers.entry_hi.all(), registers.entry_hi.part(0xff)), (None, Some(0)));
        for (word, effect) in [
            (0x4200_0008, Some(Effect::Probe)),
            (0x4200_0002, Some(Effect::WriteIndexed)),
            (0x4200_0006, Some(Effect::WriteRandom)),
            (RETURN, Some(Effect::Return)),
            (WAIT, Some(Effect::Wait)),
            (0, None),
        ] {
            assert_eq!(registers.step(word), effect, "{word:x}");
        }
        // mtc0 $0, $0, and what `tlbp` makes of it.
        registers.step(0x4080_0000);
        assert_eq!(registers.index.all(), Some(0));
        registers.step(0x4200_0008);
        assert_eq!(registers.index.all(), None);
    }

    /// `beql $4, $5, 1f` executes what follows only if it branches, and `beq` in any case.
    #[test]
    fn after_a_likely_branch_nothing_is_certain() {
        let constant = 0x2402_0001;
        assert_eq!(after(&[0x1085_0001, constant]), Some(1));
        assert_eq!(after(&[0x5085_0001, constant]), None);
        assert_eq!(after(&[0x5085_0001, 0, constant]), Some(1));
    }
}
