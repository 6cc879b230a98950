// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction's encoding says about it.

use crate::Privilege;
use abi::marker::{BEGIN, END, MAGIC, OPCODE};

/// A marker instruction, `test eax, imm32` with the immediate of
/// [`abi::marker::immediate`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marker {
    /// The interval with this number begins.
    Begin(u16),
    /// The interval with this number ends.
    End(u16),
    /// A kind that this version does not know, and the interval's number.
    Unknown(u8, u16),
}

impl Marker {
    /// The marker that is encoded as `bytes`, if it is one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let &[OPCODE, a, b, c, d] = bytes else { return None };
        Self::from_immediate(u32::from_le_bytes([a, b, c, d]))
    }

    /// The immediate that it has: [`from_immediate`](Self::from_immediate) makes it again.
    #[must_use]
    pub const fn immediate(self) -> u32 {
        match self {
            Self::Begin(id) => abi::marker::immediate(BEGIN, id as u32),
            Self::End(id) => abi::marker::immediate(END, id as u32),
            Self::Unknown(kind, id) => abi::marker::immediate(kind as u32, id as u32),
        }
    }

    /// The marker with this immediate, if it is one.
    #[must_use]
    pub fn from_immediate(immediate: u32) -> Option<Self> {
        if immediate >> 16 != MAGIC {
            return None;
        }
        let id = (immediate & 0xfff) as u16;
        Some(match (immediate >> 12) & 15 {
            BEGIN => Self::Begin(id),
            END => Self::End(id),
            kind => Self::Unknown(kind as u8, id),
        })
    }
}

/// Instructions that the counter treats in a special way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    /// Any other.
    Plain = 0,
    /// `mov cr3, r32`.
    WriteCr3 = 1,
    /// `invlpg m`.
    Invlpg = 2,
    /// `iret` and far `ret`: they may return to user mode, as the CS value
    /// that they pop says.
    FarReturn = 3,
    /// `sysexit`: it returns to user mode.
    Sysexit = 4,
}

impl Class {
    /// The class of the 32-bit instruction that is encoded as `bytes`.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        let prefixes = bytes.iter().take_while(|&&byte| is_prefix(byte)).count();
        match bytes[prefixes..] {
            [0x0f, 0x22, modrm, ..] if modrm >> 3 & 7 == 3 => Self::WriteCr3,
            [0x0f, 0x01, modrm, ..] if modrm >> 3 & 7 == 7 && modrm >> 6 != 3 => Self::Invlpg,
            [0xcf | 0xca | 0xcb, ..] => Self::FarReturn,
            [0x0f, 0x35, ..] => Self::Sysexit,
            _ => Self::Plain,
        }
    }

    const fn from_bits(bits: u64) -> Self {
        match bits {
            1 => Self::WriteCr3,
            2 => Self::Invlpg,
            3 => Self::FarReturn,
            4 => Self::Sysexit,
            _ => Self::Plain,
        }
    }
}

/// Operand size, address size, segment, lock and repeat prefixes.
const fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3)
}

/// An instruction in a translation block: all that is known when the block is
/// translated. Small enough to be passed in a pointer's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Who executes it.
    pub privilege: Privilege,
    /// What it is.
    pub class: Class,
    /// Bytes from the block's start.
    pub offset: u16,
    /// Bytes of its encoding, 1 to 15.
    pub bytes: u8,
    /// Whether it belongs to the watched server: a user program with a place of its own.
    pub server: bool,
}

impl Site {
    /// As one word.
    #[must_use]
    pub const fn pack(self) -> u64 {
        (self.server as u64) << 29
            | (self.privilege as u64) << 28
            | (self.class as u64) << 24
            | (self.bytes as u64) << 16
            | self.offset as u64
    }

    /// From the word that [`pack`](Self::pack) made.
    #[must_use]
    pub const fn unpack(word: u64) -> Self {
        let privilege = if word >> 28 & 1 == Privilege::Kernel as u64 { Privilege::Kernel } else { Privilege::User };
        let class = Class::from_bits(word >> 24 & 15);
        Self { privilege, class, bytes: (word >> 16) as u8, offset: word as u16, server: word >> 29 & 1 != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Code, Decoder, DecoderOptions, Mnemonic};

    #[test]
    fn markers_are_those_of_the_contract() {
        let encode = |immediate: u32| {
            let mut bytes = vec![OPCODE];
            bytes.extend(immediate.to_le_bytes());
            bytes
        };
        assert_eq!(Marker::decode(&encode(abi::marker::immediate(BEGIN, 0xabc))), Some(Marker::Begin(0xabc)));
        assert_eq!(Marker::decode(&encode(abi::marker::immediate(END, 7))), Some(Marker::End(7)));
        assert_eq!(Marker::decode(&encode(abi::marker::immediate(9, 7))), Some(Marker::Unknown(9, 7)));
        for marker in [Marker::Begin(0xabc), Marker::End(7), Marker::Unknown(9, 7)] {
            assert_eq!(Marker::from_immediate(marker.immediate()), Some(marker));
        }
        assert_eq!(Marker::decode(&encode(0x4d40_1001)), None, "other magic");
        let marker = encode(abi::marker::immediate(BEGIN, 1));
        assert_eq!(Marker::decode(&marker[..3]), None, "16-bit form");
        let mut other = marker;
        other[0] = 0xa8;
        assert_eq!(Marker::decode(&other), None, "other instruction");
    }

    /// What an independent decoder says.
    fn expected(instruction: &iced_x86::Instruction) -> Class {
        match instruction.code() {
            Code::Mov_cr_r32 if instruction.op0_register() == iced_x86::Register::CR3 => return Class::WriteCr3,
            Code::Sysexitd => return Class::Sysexit,
            Code::Invlpg_m => return Class::Invlpg,
            _ => {}
        }
        match instruction.mnemonic() {
            Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Retf => Class::FarReturn,
            _ => Class::Plain,
        }
    }

    #[test]
    fn classes_agree_with_another_decoder() {
        let mut found = [0_u32; 5];
        let mut check = |bytes: &[u8]| {
            let instruction = Decoder::new(32, bytes, DecoderOptions::NONE).decode();
            if instruction.is_invalid() {
                return;
            }
            let class = Class::decode(&bytes[..instruction.len()]);
            assert_eq!(class, expected(&instruction), "{bytes:02x?}");
            found[class as usize] += 1;
        };
        for prefix in [None, Some(0x66), Some(0x67), Some(0x2e), Some(0x64)] {
            for first in 0..=255_u8 {
                for second in 0..=255_u8 {
                    for third in [0, 0x05, 0x18, 0x1b, 0x38, 0x3c, 0x78, 0xb8, 0xd8, 0xdb, 0xe0, 0xf8, 0xff] {
                        let body = [first, second, third, 0x24, 0, 0, 0, 0, 0, 0, 0, 0];
                        let bytes: Vec<u8> = prefix.into_iter().chain(body).collect();
                        check(&bytes);
                    }
                }
            }
        }
        assert!(found.iter().all(|&count| count > 0), "every class occurs: {found:?}");
    }

    #[test]
    fn sites_survive_packing() {
        for privilege in [Privilege::Kernel, Privilege::User] {
            for class in [Class::Plain, Class::WriteCr3, Class::Invlpg, Class::FarReturn, Class::Sysexit] {
                for server in [false, true] {
                    let site = Site { privilege, class, offset: 0x1ffe, bytes: 15, server };
                    assert_eq!(Site::unpack(site.pack()), site);
                }
            }
        }
    }
}
