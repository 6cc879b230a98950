// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction's encoding says about it (DDI 0100, A3 and B2; for operations of the cache
//! also the cores' manuals).

use crate::Marker;
use abi::arch::armv5::marker::{BEGIN, BEGIN_FREE, END, decode};

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

fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Instructions that the counter treats in a special way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Any other.
    Plain,
    /// It restores the status, too: a return from an exception.
    Return,
    /// Its accesses have the rights of user mode (`ldrt`, `strt`).
    AsUser,
    /// It writes a register of the system control coprocessor, or has it do something.
    System(Operation),
}

impl Class {
    /// The class of the instruction that is encoded as `bytes`: of two if it is a Thumb
    /// instruction, of which all are plain.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        let Some(word) = word(bytes) else { return Self::Plain };
        const UNCONDITIONAL: u32 = 15;
        const PC: u32 = 15;
        let (load, to_pc) = (word & 1 << 20 != 0, word >> 12 & 15 == PC);
        match word >> 25 & 7 {
            _ if word >> 28 == UNCONDITIONAL => Self::Plain,
            // Data processing with S to the PC; `tst` and the like have no destination,
            // multiplications and the like no such form.
            0 | 1
                if load
                    && to_pc
                    && word >> 23 & 3 != 2
                    && (word & 1 << 25 != 0 || word & 0x90 != 0x90) =>
            {
                Self::Return
            }
            // Post-indexed with W.
            2 if word >> 21 & 9 == 1 => Self::AsUser,
            3 if word >> 21 & 9 == 1 && word & 1 << 4 == 0 => Self::AsUser,
            // `ldm ^` with the PC.
            4 if load && word & 1 << 22 != 0 && word & 1 << 15 != 0 => Self::Return,
            7 if word & 0x0f00_0010 == 0x0e00_0010 && word >> 8 & 15 == 15 => {
                Operation::decode(word).map_or(Self::Plain, Self::System)
            }
            _ => Self::Plain,
        }
    }
}

/// What an `mcr` or `mrc` of coprocessor 15 does besides moving a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Writes the control register.
    WriteControl,
    /// Writes the translation table base.
    WriteRoot,
    /// Writes the domain access control.
    WriteDomains,
    /// Writes the process identifier.
    WriteProcess,
    /// Invalidates caches.
    InvalidateCaches(Which),
    /// Invalidates the line of an address in a cache.
    InvalidateLine(Which),
    /// Writes the line of an address back; with the flag, invalidates it.
    CleanLine(bool),
    /// ARM926: writes one line back and tells whether there is another dirty one; with the flag,
    /// invalidates all lines when there is none.
    TestClean(bool),
    /// XScale: makes a line for an address without reading memory.
    AllocateLine,
    /// XScale: makes lines of data that are allocated from now on locked, or not.
    LockLines,
    /// XScale: unlocks all lines of data.
    UnlockLines,
    /// Waits until what was written is in memory.
    Drain,
    /// Flushes branch predictions.
    FlushBranches,
    /// Invalidates TLBs.
    FlushTlb(Which),
    /// Invalidates the entry of an address in TLBs.
    FlushEntry(Which),
    /// XScale: walks the tables for an address, and locks what is found in a TLB (Intel XScale Core
    /// Developer's Manual, section 3.4.3).
    LockEntry(Which),
}

/// The cache or TLB of code, of data, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Code's.
    Code,
    /// Data's.
    Data,
    /// Both.
    Both,
}

impl Which {
    /// Whether it includes code's.
    #[must_use]
    pub const fn code(self) -> bool {
        !matches!(self, Self::Data)
    }

    /// Whether it includes data's.
    #[must_use]
    pub const fn data(self) -> bool {
        !matches!(self, Self::Code)
    }
}

impl Operation {
    /// What `mcr p15, 0, Rd, CRn, CRm, op2` does, or `mrc`; the word is one of them.
    fn decode(word: u32) -> Option<Self> {
        use Which::{Both, Code, Data};
        let reads = word & 1 << 20 != 0;
        let (first, second, register, operation) =
            (word >> 21 & 7, word >> 5 & 7, word >> 16 & 15, word & 15);
        Some(match (register, operation, second) {
            _ if first != 0 => return None,
            (7, 10, 3) if reads => Self::TestClean(false),
            (7, 14, 3) if reads => Self::TestClean(true),
            _ if reads => return None,
            (1, 0, 0) => Self::WriteControl,
            (2, 0, 0) => Self::WriteRoot,
            (3, 0, 0) => Self::WriteDomains,
            (13, 0, 0) => Self::WriteProcess,
            (7, 7, 0) => Self::InvalidateCaches(Both),
            (7, 5, 0) => Self::InvalidateCaches(Code),
            (7, 6, 0) => Self::InvalidateCaches(Data),
            (7, 5, 1) => Self::InvalidateLine(Code),
            (7, 6, 1) => Self::InvalidateLine(Data),
            (7, 10, 1) => Self::CleanLine(false),
            (7, 14, 1) => Self::CleanLine(true),
            (7, 2, 5) => Self::AllocateLine,
            (9, 2, 0) => Self::LockLines,
            (9, 2, 1) => Self::UnlockLines,
            (7, 10, 4) => Self::Drain,
            (7, 5, 6) => Self::FlushBranches,
            (8, 7, 0) => Self::FlushTlb(Both),
            (8, 5, 0) => Self::FlushTlb(Code),
            (8, 6, 0) => Self::FlushTlb(Data),
            (8, 7, 1) => Self::FlushEntry(Both),
            (8, 5, 1) => Self::FlushEntry(Code),
            (8, 6, 1) => Self::FlushEntry(Data),
            (10, 4, 0) => Self::LockEntry(Code),
            (10, 8, 0) => Self::LockEntry(Data),
            _ => return None,
        })
    }

    /// The number of the register whose value is moved, in an instruction.
    #[must_use]
    pub const fn register(word: u32) -> u8 {
        (word >> 12 & 15) as u8
    }
}

/// Whether the condition of the ARM instruction `word` holds with this status: emulators report the
/// instruction in any case.
#[must_use]
pub const fn condition(word: u32, status: u32) -> bool {
    let (n, z, c, v) =
        (status >> 31 != 0, status >> 30 & 1 != 0, status >> 29 & 1 != 0, status >> 28 & 1 != 0);
    let holds = match word >> 29 {
        0 => z,
        1 => c,
        2 => n,
        3 => v,
        4 => c && !z,
        5 => n == v,
        6 => n == v && !z,
        _ => return true,
    };
    holds == (word >> 28 & 1 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::arch::armv5::marker::{CASE, instruction};

    fn class(word: u32) -> Class {
        Class::decode(&word.to_le_bytes())
    }

    #[test]
    fn markers_are_those_of_the_contract() {
        let decode = |kind, id| marker(&instruction(kind, id).to_le_bytes());
        for id in 0..0x1000 {
            assert_eq!(decode(BEGIN, id.into()), Some(Marker::Begin(id)));
            assert_eq!(decode(END, id.into()), Some(Marker::End(id)));
        }
        assert_eq!(decode(BEGIN_FREE, 1), Some(Marker::BeginFree(1)));
        assert_eq!(decode(CASE, 0), Some(Marker::Case));
        for (text, word) in [
            ("pld [lr]", 0xf5de_f000_u32),
            ("pld [ip, #-7]", 0xf55c_f007),
            ("pld [ip, r7]", 0xf7dc_f007),
            ("pld [r1, -r2]", 0xf751_f002),
            ("pld [r1, r2, lsl #2]", 0xf7d1_f102),
            ("ldrb pc, [r1, -r2, asr #1]", 0xe751_f0c2),
        ] {
            assert_eq!(marker(&word.to_le_bytes()), None, "{text}");
        }
        assert_eq!(marker(&[0x50, 0xf7]), None, "a Thumb instruction");
    }

    /// Encodings by the GNU assembler (`arm-linux-gnueabi-as -march=armv5te`).
    #[test]
    fn classes_are_those_of_the_assembler() {
        use Which::{Both, Code, Data};
        for (text, word, expected) in [
            ("movs pc, lr", 0xe1b0_f00e, Class::Return),
            ("subs pc, lr, #4", 0xe25e_f004, Class::Return),
            ("ldm sp, {r0-pc}^", 0xe8dd_ffff, Class::Return),
            ("ldmia sp!, {r0, pc}^", 0xe8fd_8001, Class::Return),
            ("moveqs pc, lr", 0x01b0_f00e, Class::Return),
            ("ldm sp, {r0-lr}^", 0xe8dd_7fff, Class::Plain),
            ("ldm sp, {pc}", 0xe89d_8000, Class::Plain),
            ("mov pc, lr", 0xe1a0_f00e, Class::Plain),
            ("cmp r0, r1", 0xe150_0001, Class::Plain),
            ("tstp r0, r1", 0xe110_f001, Class::Plain),
            ("ldrsh r1, [r2]", 0xe1d2_10f0, Class::Plain),
            ("smulbb r0, r1, r2", 0xe160_0281, Class::Plain),
            ("ldrt r0, [r1]", 0xe4b1_0000, Class::AsUser),
            ("strbt r0, [r1], #4", 0xe4e1_0004, Class::AsUser),
            ("ldrt r0, [r1], r2", 0xe6b1_0002, Class::AsUser),
            ("ldr r0, [r1], #4", 0xe491_0004, Class::Plain),
            ("ldr r0, [r1, #4]!", 0xe5b1_0004, Class::Plain),
            ("swi 0", 0xef00_0000, Class::Plain),
            ("mcr p15, 0, r0, c1, c0, 0", 0xee01_0f10, Class::System(Operation::WriteControl)),
            ("mcr p15, 0, r0, c2, c0, 0", 0xee02_0f10, Class::System(Operation::WriteRoot)),
            ("mcrne p15, 0, r3, c3, c0, 0", 0x1e03_3f10, Class::System(Operation::WriteDomains)),
            ("mcr p15, 0, r0, c13, c0, 0", 0xee0d_0f10, Class::System(Operation::WriteProcess)),
            ("mrc p15, 0, r0, c3, c0, 0", 0xee13_0f10, Class::Plain),
            ("mrc p15, 0, r0, c5, c0, 0", 0xee15_0f10, Class::Plain),
            (
                "mcr p15, 0, r0, c7, c7, 0",
                0xee07_0f17,
                Class::System(Operation::InvalidateCaches(Both)),
            ),
            (
                "mcr p15, 0, r0, c7, c5, 0",
                0xee07_0f15,
                Class::System(Operation::InvalidateCaches(Code)),
            ),
            (
                "mcr p15, 0, r0, c7, c5, 1",
                0xee07_0f35,
                Class::System(Operation::InvalidateLine(Code)),
            ),
            ("mcr p15, 0, r0, c7, c5, 6", 0xee07_0fd5, Class::System(Operation::FlushBranches)),
            (
                "mcr p15, 0, r0, c7, c6, 1",
                0xee07_0f36,
                Class::System(Operation::InvalidateLine(Data)),
            ),
            ("mcr p15, 0, r0, c7, c10, 1", 0xee07_0f3a, Class::System(Operation::CleanLine(false))),
            ("mcr p15, 0, r0, c7, c14, 1", 0xee07_0f3e, Class::System(Operation::CleanLine(true))),
            ("mcr p15, 0, r0, c7, c10, 4", 0xee07_0f9a, Class::System(Operation::Drain)),
            ("mcr p15, 0, r0, c7, c2, 5", 0xee07_0fb2, Class::System(Operation::AllocateLine)),
            ("mcr p15, 0, r0, c9, c2, 0", 0xee09_0f12, Class::System(Operation::LockLines)),
            (
                "mcr p15, 0, r0, c10, c8, 0",
                0xee0a_0f18,
                Class::System(Operation::LockEntry(Which::Data)),
            ),
            ("mcr p15, 0, r0, c9, c2, 1", 0xee09_0f32, Class::System(Operation::UnlockLines)),
            (
                "mrc p15, 0, r15, c7, c10, 3",
                0xee17_ff7a,
                Class::System(Operation::TestClean(false)),
            ),
            ("mrc p15, 0, r15, c7, c14, 3", 0xee17_ff7e, Class::System(Operation::TestClean(true))),
            ("mcr p15, 0, r0, c8, c7, 0", 0xee08_0f17, Class::System(Operation::FlushTlb(Both))),
            ("mcr p15, 0, r0, c8, c5, 1", 0xee08_0f35, Class::System(Operation::FlushEntry(Code))),
            ("mcr p15, 0, r0, c8, c6, 1", 0xee08_0f36, Class::System(Operation::FlushEntry(Data))),
            ("mcr p14, 0, r0, c7, c7, 0", 0xee07_0e17, Class::Plain),
            ("cdp p15, 0, c0, c1, c0", 0xee01_0f00, Class::Plain),
            ("pld [r12, #1]", 0xf5dc_f001, Class::Plain),
        ] {
            assert_eq!(class(word), expected, "{text}");
        }
        assert_eq!(Class::decode(&[0x00, 0xdf]), Class::Plain, "Thumb's swi");
        assert_eq!(Operation::register(0x1e03_3f10), 3);
    }

    #[test]
    fn conditions_follow_the_flags() {
        for flags in 0..16_u32 {
            let (n, z, c, v) = (flags & 8 != 0, flags & 4 != 0, flags & 2 != 0, flags & 1 != 0);
            let expected = [
                z,
                !z,
                c,
                !c,
                n,
                !n,
                v,
                !v,
                c && !z,
                !c || z,
                n == v,
                n != v,
                !z && n == v,
                z || n != v,
                true,
                true,
            ];
            for (code, expected) in (0..16_u32).zip(expected) {
                assert_eq!(
                    condition(code << 28, flags << 28),
                    expected,
                    "condition {code} with flags {flags:04b}"
                );
            }
        }
    }
}
