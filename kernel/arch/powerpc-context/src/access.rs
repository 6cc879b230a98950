// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses to I/O ports: which instructions the kernel executes for a component (`isa::io`). All
//! have two registers, whose sum is the address, and have the form X (*Programming Environments*,
//! appendix A.4).

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The register that is read or written.
    pub register: usize,
    /// The number of bytes: 1, 2 or 4.
    pub bytes: u32,
    /// Whether the port is written.
    pub is_write: bool,
}

/// The access that an instruction is, if it is one of those.
#[must_use]
pub const fn decode(instruction: u32) -> Option<Access> {
    const FORM: u32 = 31;
    if instruction >> 26 != FORM || instruction & 1 != 0 {
        return None;
    }
    let (bytes, is_write) = match instruction >> 1 & 0x3ff {
        // lbzx, stbx, lhbrx, sthbrx, lwbrx, stwbrx
        87 => (1, false),
        215 => (1, true),
        790 => (2, false),
        918 => (2, true),
        534 => (4, false),
        662 => (4, true),
        _ => return None,
    };
    Some(Access { register: (instruction >> 21 & 31) as usize, bytes, is_write })
}
