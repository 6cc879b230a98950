// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction's encoding says about it (*MIPS R4000 Microprocessor User's Manual*,
//! appendix A).

use crate::Marker;
use abi::arch::mips::marker::{BEGIN, BEGIN_FREE, CASE, END, decode};

/// `syscall`, without its code, which is not used.
pub const CALL: u32 = 0xc;
/// `eret`.
pub const RETURN: u32 = 0x4200_0018;
/// `wait`, which the R4600 has.
pub const WAIT: u32 = 0x4200_0020;

/// An instruction as a number.
#[must_use]
pub fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// The marker that is encoded as `bytes`, if it is one.
#[must_use]
pub fn marker(bytes: &[u8]) -> Option<Marker> {
    let (kind, id) = decode(word(bytes)?)?;
    let number = id as u16;
    Some(match kind {
        BEGIN => Marker::Begin(number),
        END => Marker::End(number),
        BEGIN_FREE => Marker::BeginFree(number),
        CASE => Marker::Case,
        kind => Marker::Unknown(kind as u8, number),
    })
}

/// Whether two instructions after the marker of a case load the first and the last byte of its
/// name: `lbu $0` each.
#[must_use]
pub const fn case(word: u32) -> bool {
    word & 0xfc1f_0000 == 0x24 << 26
}

/// Whether the kernel reads Cause: this kernel does so to check for interrupts, except where it is
/// entered.
#[must_use]
pub const fn is_look(word: u32) -> bool {
    word & 0xffe0_ffff == 0x4000_6800
}

/// Whether the kernel saves the tag of a system call: `sd $2` to an address in $27, a register that
/// no Rust code of the kernel uses.
#[must_use]
pub const fn saves_tag(word: u32) -> bool {
    word >> 16 == 0x3f << 10 | 27 << 5 | 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::arch::mips::marker::instruction;

    #[test]
    fn markers_are_those_of_the_contract() {
        let decode = |kind, id| marker(&instruction(kind, id).to_be_bytes());
        for id in [0, 1, 0x123, 0xfff] {
            assert_eq!(decode(BEGIN, id.into()), Some(Marker::Begin(id)));
            assert_eq!(decode(END, id.into()), Some(Marker::End(id)));
            assert_eq!(decode(BEGIN_FREE, id.into()), Some(Marker::BeginFree(id)));
        }
        assert_eq!(decode(CASE, 0), Some(Marker::Case));
        assert_eq!(decode(9, 7), Some(Marker::Unknown(9, 7)));
        // nop; xori $2, $0, 1; ori $0, $0, 1.
        for word in [0, 0x3802_0001_u32, 0x3400_0001] {
            assert_eq!(marker(&word.to_be_bytes()), None, "{word:08x}");
        }
    }

    /// Encodings by LLVM's assembler (`llvm-mc --triple=mips64 --mcpu=mips3`).
    #[test]
    fn encodings_are_those_of_the_assembler() {
        // lbu $0, 0($4); lbu $2, 0($4); lb $0, 0($4).
        assert_eq!([0x9080_0000, 0x9082_0000, 0x8080_0000].map(case), [true, false, false]);
        // mfc0 $2, $13; mfc0 $26, $13; mtc0 $2, $13; mfc0 $2, $12.
        let found = [0x4002_6800, 0x401a_6800, 0x4082_6800, 0x4002_6000].map(is_look);
        assert_eq!(found, [true, true, false, false]);
        // sd $2, -304($27); sd $3, -304($27); sd $2, 8($29); ld $2, -304($27).
        let found = [0xff62_fed0, 0xff63_fed0, 0xffa2_0008, 0xdf62_fed0].map(saves_tag);
        assert_eq!(found, [true, false, false, false]);
    }
}
