// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction of 64-bit mode is.

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, Register};

/// Instructions that the counter treats in a special way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    /// Any other.
    Plain = 0,
    /// `mov cr3, r64`.
    WriteCr3 = 1,
    /// `mov cr0, r64`: it may turn paging on.
    WriteCr0 = 2,
    /// `mov cr4, r64`.
    WriteCr4 = 3,
    /// `invlpg m`.
    Invlpg = 4,
    /// `wbinvd` and `invd`.
    FlushCaches = 5,
    /// `iretq` and far `ret`: they may return to user mode, as the CS value that they pop says.
    FarReturn = 6,
    /// `sysretq`: it returns to user mode.
    Sysret = 7,
    /// `int n`, `int3`.
    Int = 8,
    /// `syscall`.
    Syscall = 9,
    /// `mov sreg, r/m`, `pop sreg`, `lss` and the like; far `jmp` and `call`, which load CS.
    LoadSegment = 10,
    /// `in`, `out`, `ins`, `outs`.
    Port = 11,
    /// Others for which the processor reads tables of its own: `lar`, `lsl`, `verr`, `verw`, `ltr`.
    Descriptor = 12,
    /// `sti`.
    OpenInterrupts = 13,
    /// `hlt`.
    Halt = 14,
}

/// Bits of code that is decoded.
const BITS: u32 = 64;

fn decoded(bytes: &[u8], address: u64) -> Option<Instruction> {
    let instruction = Decoder::with_ip(BITS, bytes, address, DecoderOptions::NONE).decode();
    (!instruction.is_invalid() && instruction.len() == bytes.len()).then_some(instruction)
}

impl Class {
    /// All of them, by their numbers.
    pub const ALL: [Self; 15] = [
        Self::Plain,
        Self::WriteCr3,
        Self::WriteCr0,
        Self::WriteCr4,
        Self::Invlpg,
        Self::FlushCaches,
        Self::FarReturn,
        Self::Sysret,
        Self::Int,
        Self::Syscall,
        Self::LoadSegment,
        Self::Port,
        Self::Descriptor,
        Self::OpenInterrupts,
        Self::Halt,
    ];

    /// The class of the instruction that is encoded as `bytes`; that of what is none, or not all of
    /// them, is [`Class::Plain`].
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        let Some(instruction) = decoded(bytes, 0) else { return Self::Plain };
        let loads = |register: Register| match register {
            Register::CR0 => Self::WriteCr0,
            Register::CR3 => Self::WriteCr3,
            Register::CR4 => Self::WriteCr4,
            register if register.is_segment_register() => Self::LoadSegment,
            _ => Self::Plain,
        };
        match instruction.mnemonic() {
            Mnemonic::Mov => loads(instruction.op0_register()),
            Mnemonic::Pop if instruction.op0_register().is_segment_register() => Self::LoadSegment,
            Mnemonic::Lss | Mnemonic::Lfs | Mnemonic::Lgs => Self::LoadSegment,
            Mnemonic::Jmp | Mnemonic::Call if is_far(instruction.code()) => Self::LoadSegment,
            Mnemonic::Invlpg => Self::Invlpg,
            Mnemonic::Wbinvd | Mnemonic::Invd => Self::FlushCaches,
            Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq | Mnemonic::Retf => Self::FarReturn,
            Mnemonic::Sysret | Mnemonic::Sysretq => Self::Sysret,
            Mnemonic::Int | Mnemonic::Int3 | Mnemonic::Int1 => Self::Int,
            Mnemonic::Syscall => Self::Syscall,
            Mnemonic::In | Mnemonic::Out => Self::Port,
            Mnemonic::Insb | Mnemonic::Insw | Mnemonic::Insd => Self::Port,
            Mnemonic::Outsb | Mnemonic::Outsw | Mnemonic::Outsd => Self::Port,
            Mnemonic::Lar | Mnemonic::Lsl | Mnemonic::Verr | Mnemonic::Verw | Mnemonic::Ltr => {
                Self::Descriptor
            }
            Mnemonic::Sti => Self::OpenInterrupts,
            Mnemonic::Hlt => Self::Halt,
            _ => Self::Plain,
        }
    }
}

const fn is_far(code: Code) -> bool {
    matches!(
        code,
        Code::Jmp_m1616
            | Code::Jmp_m1632
            | Code::Jmp_m1664
            | Code::Call_m1616
            | Code::Call_m1632
            | Code::Call_m1664
    )
}

/// The address that an `invlpg` at `address` names; `register` reads a general one by its number in
/// encodings, and no segment has a base.
#[must_use]
pub fn invlpg_address(
    bytes: &[u8],
    address: u64,
    mut register: impl FnMut(u8) -> u64,
) -> Option<u64> {
    let instruction = decoded(bytes, address).filter(|one| one.mnemonic() == Mnemonic::Invlpg)?;
    instruction.virtual_address(0, 0, |name, _, _| {
        Some(if name.is_segment_register() { 0 } else { register(name.number() as u8) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_the_manual() {
        let all: [(Class, &[&[u8]]); 15] = [
            (Class::WriteCr3, &[&[0x0f, 0x22, 0xd8], &[0x41, 0x0f, 0x22, 0xdb]]),
            (Class::WriteCr0, &[&[0x0f, 0x22, 0xc0]]),
            (Class::WriteCr4, &[&[0x0f, 0x22, 0xe0]]),
            (Class::Invlpg, &[&[0x0f, 0x01, 0x3f], &[0x41, 0x0f, 0x01, 0x7c, 0x24, 8]]),
            (Class::FlushCaches, &[&[0x0f, 0x09], &[0x0f, 0x08]]),
            (Class::FarReturn, &[&[0x48, 0xcf], &[0xcf], &[0x48, 0xcb], &[0xcb], &[0xca, 8, 0]]),
            (Class::Sysret, &[&[0x48, 0x0f, 0x07], &[0x0f, 0x07]]),
            (Class::Int, &[&[0xcd, 0x80], &[0xcc], &[0xf1]]),
            (Class::Syscall, &[&[0x0f, 0x05]]),
            (
                Class::LoadSegment,
                &[
                    &[0x8e, 0xd8],
                    &[0x8e, 0x28],
                    &[0x0f, 0xa1],
                    &[0x0f, 0xb2, 0x00],
                    &[0xff, 0x28],
                    &[0x48, 0xff, 0x18],
                ],
            ),
            (Class::Port, &[&[0xe4, 0x60], &[0xee], &[0xf3, 0x6d], &[0x66, 0xed]]),
            (Class::Descriptor, &[&[0x0f, 0x02, 0xc0], &[0x0f, 0x00, 0xe8], &[0x0f, 0x00, 0xd8]]),
            (Class::OpenInterrupts, &[&[0xfb]]),
            (Class::Halt, &[&[0xf4]]),
            (
                Class::Plain,
                &[
                    &[0x90],
                    &[0x0f, 0x20, 0xd8],
                    &[0x0f, 0x22, 0xd0],
                    &[0x48, 0x89, 0xc3],
                    &[0x8c, 0xd8],
                    &[0x58],
                    &[0xff, 0x20],
                    &[0xc3],
                    &[0x0f, 0x01, 0xf8],
                    // Not in 64-bit mode; more than one instruction; less than one.
                    &[0xce],
                    &[0xfb, 0xf4],
                    &[0x0f],
                    &[],
                ],
            ),
        ];
        for (class, encodings) in all {
            for bytes in encodings {
                assert_eq!(Class::decode(bytes), class, "{bytes:02x?}");
            }
        }
        assert!((0..).zip(Class::ALL).all(|(number, class)| class as u8 == number));
    }

    #[test]
    fn an_address_is_made_of_registers() {
        let value = |number: u8| 0x1000 * (u64::from(number) + 1);
        let all: [(&[u8], Option<u64>); 6] = [
            // [rdi], [rax + rcx * 8 + 0x10], [r12 + 8], [rip + 0x10] of seven bytes, [abs]
            (&[0x0f, 0x01, 0x3f], Some(0x8000)),
            (&[0x0f, 0x01, 0x7c, 0xc8, 0x10], Some(0x1000 + 0x2000 * 8 + 0x10)),
            (&[0x41, 0x0f, 0x01, 0x7c, 0x24, 8], Some(0xd008)),
            (&[0x0f, 0x01, 0x3d, 0x10, 0, 0, 0], Some(0xffff_ffff_e000_0017)),
            (&[0x0f, 0x01, 0x3c, 0x25, 0, 0, 0, 0xe0], Some(0xffff_ffff_e000_0000)),
            (&[0x90], None),
        ];
        for (bytes, expected) in all {
            let found = invlpg_address(bytes, 0xffff_ffff_e000_0000, value);
            assert_eq!(found, expected, "{bytes:02x?}");
        }
    }
}
