// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction's encoding says about it (*Programming Environments for 32-bit
//! Microprocessors*, chapter 8; `tlbld` and `tlbli`: *PowerPC 603e User's Manual*, chapter 2).
//!
//! QEMU reports the accesses of loads and stores, whatever their form is. This module has the
//! instructions that do something else.

use crate::Marker;
use abi::arch::powerpc::marker::{BEGIN, BEGIN_FREE, END, decode};

/// The marker that is encoded as `bytes`, if it is one.
#[must_use]
pub fn marker(bytes: &[u8]) -> Option<Marker> {
    let (kind, id) = decode(word(bytes)?)?;
    let id = id as u16;
    Some(match kind {
        BEGIN => Marker::Begin(id),
        END => Marker::End(id),
        BEGIN_FREE => Marker::BeginFree(id),
        _ => Marker::Case,
    })
}

/// An instruction as a number.
#[must_use]
pub fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// Instructions that the counter treats in a special way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Any other.
    Plain,
    /// `rfi`.
    Return,
    /// `lwarx`: reserves.
    Reserve,
    /// `stwcx.`: ends a reservation.
    Release,
    /// It reads the decrementer: this kernel does so to check for interrupts.
    Look,
    /// It changes translations or caches, or operates on a line. User mode may execute some of
    /// these.
    System(Operation),
}

/// What a system instruction does. The address is (rA|0) + rB, the value is rS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `mtsr` writes this segment register, `mtsrin` that of the address.
    WriteSegment(Option<u8>),
    /// `mtspr` writes this register.
    WriteSpecial(u16),
    /// `mtmsr`.
    WriteState,
    /// `tlbie`: both TLBs forget the set of an address.
    FlushEntry,
    /// `tlbia`: they forget all. Neither the 603 nor the 604 has it.
    FlushTlb,
    /// `tlbli` or `tlbld`: the instruction or the data TLB gets what RPA has for an address.
    Load {
        /// The instruction TLB.
        code: bool,
    },
    /// `dcbst`: writes a line back.
    CleanLine,
    /// `dcbf`: writes it back and drops it.
    FlushLine,
    /// `dcbi`: drops it.
    InvalidateLine,
    /// `dcbz`: makes a line of zeros without reading memory.
    AllocateLine,
    /// `dcbt`, `dcbtst`: prefetches a line.
    TouchLine,
    /// `icbi`: drops a line of code.
    DropCodeLine,
    /// `sync`: waits until all writes are visible.
    Drain,
    /// `isync`, `eieio`: orders only.
    Order,
}

/// Numbers of special registers.
pub mod special {
    /// Decrementer.
    pub const DECREMENTER: u16 = 22;
    /// The hashed table's place and size.
    pub const HASH: u16 = 25;
    /// SPRG0: in this kernel the physical address of the directory of the space whose VSIDs are
    /// loaded.
    pub const DIRECTORY: u16 = 272;
    /// The first of eight registers of instruction BATs; those of data BATs follow.
    pub const BATS: u16 = 528;
    /// What follows the last BAT register.
    pub const BATS_END: u16 = 544;
    /// RPA, the second word of an entry that `tlbld` loads (603).
    pub const LOADED: u16 = 982;
    /// HID0.
    pub const HID0: u16 = 1008;
}

impl Class {
    /// The class of the instruction that is encoded as `bytes`.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        word(bytes).map_or(Self::Plain, Self::of)
    }

    /// The class of an instruction that is given as a number.
    #[must_use]
    pub const fn of(word: u32) -> Self {
        let special = (word >> 16 & 31 | (word >> 11 & 31) << 5) as u16;
        let operation = match (word >> 26, word >> 1 & 0x3ff) {
            (19, 50) => return Self::Return,
            (31, 20) => return Self::Reserve,
            (31, 150) => return Self::Release,
            (31, 339) if special == special::DECREMENTER => return Self::Look,
            (19, 150) | (31, 854) => Operation::Order,
            (31, 210) => Operation::WriteSegment(Some((word >> 16 & 15) as u8)),
            (31, 242) => Operation::WriteSegment(None),
            (31, 467) => Operation::WriteSpecial(special),
            (31, 146) => Operation::WriteState,
            (31, 306) => Operation::FlushEntry,
            (31, 370) => Operation::FlushTlb,
            (31, 978) => Operation::Load { code: false },
            (31, 1010) => Operation::Load { code: true },
            (31, 54) => Operation::CleanLine,
            (31, 86) => Operation::FlushLine,
            (31, 470) => Operation::InvalidateLine,
            (31, 1014) => Operation::AllocateLine,
            (31, 246 | 278) => Operation::TouchLine,
            (31, 982) => Operation::DropCodeLine,
            (31, 598) => Operation::Drain,
            _ => return Self::Plain,
        };
        Self::System(operation)
    }
}

/// Registers of an instruction in X form: rS, rA unless it is 0, which stands for the number 0, and
/// rB.
#[must_use]
pub const fn registers(word: u32) -> (u8, Option<u8>, u8) {
    let [s, a, b] = [(word >> 21 & 31) as u8, (word >> 16 & 31) as u8, (word >> 11 & 31) as u8];
    (s, if a == 0 { None } else { Some(a) }, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::arch::powerpc::marker::{CASE, instruction};

    #[test]
    fn markers_are_those_of_the_contract() {
        let decode = |kind, id| marker(&instruction(kind, id).to_be_bytes());
        for id in 0..0x400 {
            assert_eq!(decode(BEGIN, id.into()), Some(Marker::Begin(id)));
            assert_eq!(decode(END, id.into()), Some(Marker::End(id)));
        }
        assert_eq!(decode(BEGIN_FREE, 1), Some(Marker::BeginFree(1)));
        assert_eq!(decode(CASE, 0), Some(Marker::Case));
        // rlwimi 28, 28, 1, 0, 31; rlwimi. 28, 28, 0, 0, 31; rlwimi 27, 27, 0, 0, 31.
        for word in [0x539c_083e_u32, 0x539c_003f, 0x537b_003e] {
            assert_eq!(marker(&word.to_be_bytes()), None, "{word:08x}");
        }
    }

    /// Encodings by LLVM's assembler (`llvm-mc --triple=powerpc --mcpu=603`).
    #[test]
    fn classes_are_those_of_the_assembler() {
        use Operation::*;
        for (text, word, expected) in ENCODED {
            assert_eq!(Class::decode(&word.to_be_bytes()), expected, "{text}");
        }
        const ENCODED: [(&str, u32, Class); 31] = [
            ("rfi", 0x4c00_0064, Class::Return),
            ("sc", 0x4400_0002, Class::Plain),
            ("lwarx 3, 4, 5", 0x7c64_2828, Class::Reserve),
            ("stwcx. 26, 0, 20", 0x7f40_a12d, Class::Release),
            ("mfspr 3, 22", 0x7c76_02a6, Class::Look),
            ("mfspr 3, 26", 0x7c7a_02a6, Class::Plain),
            ("mtsr 1, 17", 0x7e21_01a4, Class::System(WriteSegment(Some(1)))),
            ("mtsrin 3, 4", 0x7c60_21e4, Class::System(WriteSegment(None))),
            ("mtspr 25, 3", 0x7c79_03a6, Class::System(WriteSpecial(special::HASH))),
            ("mtspr 272, 22", 0x7ed0_43a6, Class::System(WriteSpecial(special::DIRECTORY))),
            ("mtspr 528, 3", 0x7c70_83a6, Class::System(WriteSpecial(special::BATS))),
            ("mtspr 982, 1", 0x7c36_f3a6, Class::System(WriteSpecial(special::LOADED))),
            ("mtspr 1008, 3", 0x7c70_fba6, Class::System(WriteSpecial(special::HID0))),
            ("mtmsr 3", 0x7c60_0124, Class::System(WriteState)),
            ("tlbie 3", 0x7c00_1a64, Class::System(FlushEntry)),
            ("tlbia", 0x7c00_02e4, Class::System(FlushTlb)),
            ("tlbld 3", 0x7c00_1fa4, Class::System(Load { code: false })),
            ("tlbli 3", 0x7c00_1fe4, Class::System(Load { code: true })),
            ("dcbst 3, 4", 0x7c03_206c, Class::System(CleanLine)),
            ("dcbf 0, 4", 0x7c00_20ac, Class::System(FlushLine)),
            ("dcbi 3, 4", 0x7c03_23ac, Class::System(InvalidateLine)),
            ("dcbz 3, 4", 0x7c03_27ec, Class::System(AllocateLine)),
            ("dcbt 3, 4", 0x7c03_222c, Class::System(TouchLine)),
            ("dcbtst 3, 4", 0x7c03_21ec, Class::System(TouchLine)),
            ("icbi 0, 4", 0x7c00_27ac, Class::System(DropCodeLine)),
            ("sync", 0x7c00_04ac, Class::System(Drain)),
            ("eieio", 0x7c00_06ac, Class::System(Order)),
            ("isync", 0x4c00_012c, Class::System(Order)),
            ("lwz 3, 8(4)", 0x8064_0008, Class::Plain),
            ("lmw 13, 0(3)", 0xb9a3_0000, Class::Plain),
            ("lfd 1, 8(3)", 0xc823_0008, Class::Plain),
        ];
    }

    #[test]
    fn registers_of_an_instruction() {
        assert_eq!(registers(0x7c64_2828), (3, Some(4), 5));
        assert_eq!(registers(0x7f40_a12d), (26, None, 20));
    }
}
