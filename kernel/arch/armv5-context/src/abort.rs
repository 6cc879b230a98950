// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aborts: what the processor reports about one, and what it does not.
//!
//! ARMv5's fault status (DDI 0100I, B4.6.1) does not say whether an access was a write or a read.
//! So this module decodes the instruction.

/// What an abort is, by the lower bits of the fault status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abort {
    /// A translation, domain or permission fault. Which of them does not matter: the tables tell.
    Page,
    /// The address was not aligned.
    Alignment,
    /// A breakpoint instruction.
    Breakpoint,
    /// The bus reported an error, at a translation or an access.
    Bus,
}

/// What a fault status says.
#[must_use]
pub const fn decode(status: u32) -> Abort {
    match status & 0xf {
        0x1 | 0x3 => Abort::Alignment,
        0x2 => Abort::Breakpoint,
        0x5 | 0x7 | 0x9 | 0xb | 0xd | 0xf => Abort::Page,
        _ => Abort::Bus,
    }
}

/// Whether an instruction that accesses memory writes to it: ARM's (DDI 0100I, A3.1).
#[must_use]
pub const fn writes(instruction: u32) -> bool {
    const LOAD: u32 = 1 << 20;
    match instruction >> 25 & 7 {
        // Multiplies, extra loads and stores, `swp`.
        0 if instruction & 0x90 == 0x90 => match instruction >> 5 & 3 {
            // `swp` and `swpb` read first, and write.
            0 => true,
            // `strh`.
            1 => instruction & LOAD == 0,
            // `ldrd` is here, without the bit that says load; `ldrsb`.
            2 => false,
            // `strd`; `ldrsh`.
            _ => instruction & LOAD == 0,
        },
        // Words and bytes, several registers, coprocessors.
        2 | 3 | 4 | 6 => instruction & LOAD == 0,
        _ => false,
    }
}

/// The same of an instruction of Thumb (DDI 0100I, A6.1).
#[must_use]
pub const fn writes_thumb(instruction: u16) -> bool {
    const LOAD: u16 = 1 << 11;
    match instruction >> 12 {
        // By a register: `str`, `strh`, `strb` are the first three, `ldrsb` the fourth.
        5 => instruction >> 9 & 7 < 3,
        // By an immediate, several registers, by the stack pointer, `push`.
        6..=9 | 12 => instruction & LOAD == 0,
        11 => instruction & LOAD == 0,
        _ => false,
    }
}
