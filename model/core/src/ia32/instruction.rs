// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction's encoding says about it.

use crate::Marker;
use abi::arch::ia32::marker::{BEGIN, BEGIN_FREE, CASE, END, MAGIC, OPCODE};

/// The marker that is encoded as `bytes`, if it is one: `test eax, imm32` with the immediate of
/// [`abi::arch::ia32::marker::immediate`].
#[must_use]
pub fn marker(bytes: &[u8]) -> Option<Marker> {
    let &[OPCODE, a, b, c, d] = bytes else { return None };
    let immediate = u32::from_le_bytes([a, b, c, d]);
    if immediate >> 16 != MAGIC {
        return None;
    }
    let id = (immediate & 0xfff) as u16;
    Some(match (immediate >> 12) & 15 {
        BEGIN => Marker::Begin(id),
        BEGIN_FREE => Marker::BeginFree(id),
        END => Marker::End(id),
        CASE => Marker::Case,
        kind => Marker::Unknown(kind as u8, id),
    })
}

/// Instructions that the counter treats in a special way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    /// Any other.
    Plain = 0,
    /// `mov cr3, r32`.
    WriteCr3 = 1,
    /// `mov cr0, r32`: it may turn paging on.
    WriteCr0 = 2,
    /// `mov cr4, r32`.
    WriteCr4 = 3,
    /// `invlpg m`.
    Invlpg = 4,
    /// `wbinvd` and `invd`.
    FlushCaches = 5,
    /// `iret` and far `ret`: they may return to user mode, as the CS value
    /// that they pop says.
    FarReturn = 6,
    /// `sysexit`: it returns to user mode.
    Sysexit = 7,
    /// `int n`, `int3`, `into`.
    Int = 8,
    /// `sysenter`.
    Sysenter = 9,
    /// `mov sreg, r/m`, `pop sreg`, `lds` and the like; far `jmp` and `call`, which load CS.
    LoadSegment = 10,
    /// `in`, `out`, `ins`, `outs`.
    Port = 11,
    /// Others for which the processor reads a descriptor table: `lar`, `lsl`, `verr`, `verw`.
    Descriptor = 12,
    /// `sti`.
    OpenInterrupts = 13,
    /// `hlt`.
    Halt = 14,
    /// `lgdt m`.
    LoadTable = 15,
}

impl Class {
    /// All of them, by their numbers.
    pub const ALL: [Self; 16] = [
        Self::Plain,
        Self::WriteCr3,
        Self::WriteCr0,
        Self::WriteCr4,
        Self::Invlpg,
        Self::FlushCaches,
        Self::FarReturn,
        Self::Sysexit,
        Self::Int,
        Self::Sysenter,
        Self::LoadSegment,
        Self::Port,
        Self::Descriptor,
        Self::OpenInterrupts,
        Self::Halt,
        Self::LoadTable,
    ];

    /// The class of the 32-bit instruction that is encoded as `bytes`.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        let prefixes = bytes.iter().take_while(|&&byte| is_prefix(byte)).count();
        let memory = |modrm: u8| modrm >> 6 != 3;
        match bytes[prefixes..] {
            [0x0f, 0x22, modrm, ..] => match modrm >> 3 & 7 {
                0 => Self::WriteCr0,
                3 => Self::WriteCr3,
                4 => Self::WriteCr4,
                _ => Self::Plain,
            },
            [0x0f, 0x01, modrm, ..] if modrm >> 3 & 7 == 7 && memory(modrm) => Self::Invlpg,
            [0x0f, 0x01, modrm, ..] if modrm >> 3 & 7 == 2 && memory(modrm) => Self::LoadTable,
            [0x0f, 0x08 | 0x09, ..] => Self::FlushCaches,
            [0xcf | 0xca | 0xcb, ..] => Self::FarReturn,
            [0x0f, 0x35, ..] => Self::Sysexit,
            [0xcc..=0xce, ..] => Self::Int,
            [0x0f, 0x34, ..] => Self::Sysenter,
            [0x8e | 0x07 | 0x17 | 0x1f, ..] | [0x0f, 0xa1 | 0xa9, ..] => Self::LoadSegment,
            [0xc4 | 0xc5, modrm, ..] | [0x0f, 0xb2 | 0xb4 | 0xb5, modrm, ..] if memory(modrm) => {
                Self::LoadSegment
            }
            [0x0f, 0x02 | 0x03, ..] => Self::Descriptor,
            [0xea | 0x9a, ..] => Self::LoadSegment,
            [0x0f, 0x00, modrm, ..] if matches!(modrm >> 3 & 7, 4 | 5) => Self::Descriptor,
            [0xff, modrm, ..] if memory(modrm) && matches!(modrm >> 3 & 7, 3 | 5) => {
                Self::LoadSegment
            }
            [0xe4..=0xe7 | 0xec..=0xef | 0x6c..=0x6f, ..] => Self::Port,
            [0xfb, ..] => Self::OpenInterrupts,
            [0xf4, ..] => Self::Halt,
            _ => Self::Plain,
        }
    }

    /// The address that an `invlpg` names; `register` reads one by its number, segments are flat.
    #[must_use]
    pub fn invlpg_address(bytes: &[u8], mut register: impl FnMut(u8) -> u32) -> Option<u32> {
        let prefixes = bytes.iter().take_while(|&&byte| is_prefix(byte)).count();
        let &[_, _, modrm, ref rest @ ..] = &bytes[prefixes..] else { return None };
        let (mode, base) = (modrm >> 6, modrm & 7);
        let (mut address, rest, base) = match (base, rest) {
            (4, &[sib, ref rest @ ..]) => {
                let index = sib >> 3 & 7;
                (if index == 4 { 0 } else { register(index) << (sib >> 6) }, rest, sib & 7)
            }
            (4, []) => return None,
            _ => (0, rest, base),
        };
        let long = || rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if mode == 0 && base == 5 {
            return Some(address.wrapping_add(long()?));
        }
        address = address.wrapping_add(register(base));
        let distance = match mode {
            1 => *rest.first()? as i8 as u32,
            2 => long()?,
            _ => 0,
        };
        Some(address.wrapping_add(distance))
    }
}

/// Operand size, address size, segment, lock and repeat prefixes.
const fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::arch::ia32::marker::immediate;
    use iced_x86::{Code, Decoder, DecoderOptions, Mnemonic};

    #[test]
    fn markers_are_those_of_the_contract() {
        let encode = |word: u32| {
            let mut bytes = vec![OPCODE];
            bytes.extend(word.to_le_bytes());
            bytes
        };
        assert_eq!(marker(&encode(immediate(BEGIN, 0xabc))), Some(Marker::Begin(0xabc)));
        assert_eq!(marker(&encode(immediate(END, 7))), Some(Marker::End(7)));
        assert_eq!(marker(&encode(immediate(9, 7))), Some(Marker::Unknown(9, 7)));
        assert_eq!(marker(&encode(0x4d40_1001)), None, "other magic");
        let begins = encode(immediate(BEGIN, 1));
        assert_eq!(marker(&begins[..3]), None, "16-bit form");
        let mut other = begins;
        other[0] = 0xa8;
        assert_eq!(marker(&other), None, "other instruction");
    }

    /// What an independent decoder says.
    fn expected(instruction: &iced_x86::Instruction) -> Class {
        use iced_x86::Register;
        match instruction.code() {
            Code::Mov_cr_r32 => {
                return match instruction.op0_register() {
                    Register::CR0 => Class::WriteCr0,
                    Register::CR3 => Class::WriteCr3,
                    Register::CR4 => Class::WriteCr4,
                    _ => Class::Plain,
                };
            }
            Code::Jmp_m1616 | Code::Jmp_m1632 | Code::Call_m1616 | Code::Call_m1632 => {
                return Class::LoadSegment;
            }
            Code::Jmp_ptr1616 | Code::Jmp_ptr1632 | Code::Call_ptr1616 | Code::Call_ptr1632 => {
                return Class::LoadSegment;
            }
            Code::Mov_Sreg_rm16 | Code::Mov_Sreg_r32m16 => return Class::LoadSegment,
            _ => {}
        }
        match instruction.mnemonic() {
            Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Retf => Class::FarReturn,
            Mnemonic::Sysexit => Class::Sysexit,
            Mnemonic::Sysenter => Class::Sysenter,
            Mnemonic::Invlpg => Class::Invlpg,
            Mnemonic::Lgdt => Class::LoadTable,
            Mnemonic::Wbinvd | Mnemonic::Invd => Class::FlushCaches,
            Mnemonic::Int | Mnemonic::Int3 | Mnemonic::Into => Class::Int,
            Mnemonic::Lds | Mnemonic::Les | Mnemonic::Lss | Mnemonic::Lfs | Mnemonic::Lgs => {
                Class::LoadSegment
            }
            Mnemonic::Pop if instruction.op0_register().is_segment_register() => Class::LoadSegment,
            Mnemonic::Lar | Mnemonic::Lsl | Mnemonic::Verr | Mnemonic::Verw => Class::Descriptor,
            Mnemonic::Sti => Class::OpenInterrupts,
            Mnemonic::Hlt => Class::Halt,
            Mnemonic::In | Mnemonic::Out => Class::Port,
            Mnemonic::Insb
            | Mnemonic::Insw
            | Mnemonic::Insd
            | Mnemonic::Outsb
            | Mnemonic::Outsw
            | Mnemonic::Outsd => Class::Port,
            _ => Class::Plain,
        }
    }

    #[test]
    fn classes_agree_with_another_decoder() {
        let mut found = [0_u32; Class::ALL.len()];
        let mut check = |bytes: &[u8]| {
            let instruction = Decoder::new(32, bytes, DecoderOptions::NONE).decode();
            if instruction.is_invalid() {
                return;
            }
            let class = Class::decode(&bytes[..instruction.len()]);
            assert_eq!(class, expected(&instruction), "{bytes:02x?}");
            found[class as usize] += 1;
            if class == Class::Invlpg && !bytes.contains(&0x67) {
                let value = |number: u8| 0x1234_5678_u32.wrapping_mul(u32::from(number) + 1);
                let ours = Class::invlpg_address(&bytes[..instruction.len()], value);
                let theirs = instruction.virtual_address(0, 0, |register, _, _| {
                    Some(if register.is_segment_register() {
                        0
                    } else {
                        u64::from(value(register.number() as u8))
                    })
                });
                assert_eq!(
                    ours.map(u64::from),
                    theirs.map(|address| address & 0xffff_ffff),
                    "{bytes:02x?}"
                );
            }
        };
        for prefix in [None, Some(0x66), Some(0x67), Some(0x2e), Some(0x64)] {
            for first in 0..=255_u8 {
                for second in 0..=255_u8 {
                    for third in [
                        0, 0x05, 0x15, 0x18, 0x1b, 0x28, 0x38, 0x3c, 0x3d, 0x7c, 0x78, 0xb8, 0xbc,
                        0xd0, 0xd8, 0xdb, 0xe0, 0xf8, 0xff,
                    ] {
                        for fourth in
                            if prefix.is_none() { &[0x24, 0x98, 0x25][..] } else { &[0x24] }
                        {
                            let body = [first, second, third, *fourth, 0x87, 1, 2, 3, 0, 0, 0, 0];
                            let bytes: Vec<u8> = prefix.into_iter().chain(body).collect();
                            check(&bytes);
                        }
                    }
                }
            }
        }
        assert!(found.iter().all(|&count| count > 0), "every class occurs: {found:?}");
    }
}
