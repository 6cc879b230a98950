// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that say something of the kernel's entries and exits.

use abi::arch::alpha::marker::CASE;

/// Bits of an instruction that are its operation.
const OPERATION: u32 = 63 << 26;
/// Operations: a load and a store at a physical address, and the return from PALcode.
const LOAD: u32 = 0x29 << 26;
const RETURN: u32 = 0x1e << 26;

/// The store of `$0`, which has a system call's tag, into the caller's saved registers: the
/// register that is stored, the one with the address, and the operation.
pub const SAVES_TAG: (u32, u32) = (0xffff_0000, 0x1f << 26 | 8 << 16);

/// An instruction from its bytes, if these are all.
#[must_use]
pub fn word(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_le_bytes)
}

/// Whether it is the marker of a case, which the accesses after it name.
#[must_use]
pub const fn is_case(word: u32) -> bool {
    word == CASE
}

/// Whether it goes on with other code, of any mode, in PALcode.
#[must_use]
pub const fn returns(word: u32) -> bool {
    word & OPERATION == RETURN
}

/// Whether it is a load of a quadword without an offset, as the kernel's are of a device's
/// register.
#[must_use]
pub const fn may_look(word: u32) -> bool {
    word & (OPERATION | 0xffff) == LOAD
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodings by Debian's assembler (`alpha-linux-gnu-as -m21264`).
    #[test]
    fn encodings_are_those_of_the_assembler() {
        // lda $31, 3($31); lda $31, 2($31); lda $1, 3($31).
        assert_eq!([0x23ff_0003, 0x23ff_0002, 0x203f_0003].map(is_case), [true, false, false]);
        // hw_ret ($9); ret $31, ($26), 1.
        assert_eq!([0x7be9_8000, 0x6bfa_8001].map(returns), [true, false]);
        // ldq $0, 0($16); ldq $0, 8($16); ldl $0, 0($16).
        assert_eq!([0xa410_0000, 0xa410_0008, 0xa010_0000].map(may_look), [true, false, false]);
        // hw_stq/p $0, 0($8); hw_stq/p $1, 8($8); hw_stq/p $0, 0($9); hw_ldq/p $0, 0($8).
        let saves = |word| word & SAVES_TAG.0 == SAVES_TAG.1;
        let of = [0x7c08_1000, 0x7c28_1008, 0x7c09_1000, 0x6c08_1000].map(saves);
        assert_eq!(of, [true, false, false, false]);
    }
}
