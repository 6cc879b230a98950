// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that the kernel executes for users: accesses to I/O ports (`isa::io`), and reads of
//! the clock's counter, which user mode cannot access (*MIPS R4000 Microprocessor User's Manual*,
//! appendix A).

/// What an access to a port does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The register that is read or written.
    pub register: usize,
    /// The number of bytes: 1, 2 or 4.
    pub bytes: u32,
    /// Whether the port is written.
    pub is_write: bool,
}

/// The access that an instruction is, if it is one of those. None of them extends a sign.
#[must_use]
pub const fn decode(instruction: u32) -> Option<Access> {
    let (bytes, is_write) = match instruction >> 26 {
        // lbu, sb, lhu, sh, lwu, sw
        0x24 => (1, false),
        0x28 => (1, true),
        0x25 => (2, false),
        0x29 => (2, true),
        0x27 => (4, false),
        0x2b => (4, true),
        _ => return None,
    };
    Some(Access { register: (instruction >> 16 & 31) as usize, bytes, is_write })
}

/// The register into which an instruction reads the counter, if it is `dmfc0 register, Count`. All
/// 64 bits are the kernel's count, of which the processor has the lower half.
#[must_use]
pub const fn reads_count(instruction: u32) -> Option<usize> {
    const READ: u32 = 0x4020_4800;
    if instruction & !(31 << 16) == READ { Some((instruction >> 16 & 31) as usize) } else { None }
}
