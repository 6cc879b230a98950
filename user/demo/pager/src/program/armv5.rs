// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread's program for ARMv5TE.

/// The range that it walks: where the pager itself sees the memory, so that a virtual cache has one
/// copy of it.
pub const RANGE: u32 = VIEW;
/// Where the pager itself sees the memory.
pub const VIEW: u32 = image::layout::GRANTS_END;

/// What the thread executes, r2 counting:
///
/// ```text
/// e5812000    str r2, [r1]
/// e2822001    add r2, r2, #1
/// e2811a01    add r1, r1, #4096
/// e3c11701    bic r1, r1, #0x40000    (wraps at the end of the range)
/// eafffffa    b to the start
/// ```
pub const PROGRAM: [u32; 5] = [0xe581_2000, 0xe282_2001, 0xe281_1a01, 0xe3c1_1701, 0xeaff_fffa];
const _: () = assert!(crate::BYTES == 0x4_0000 && RANGE & crate::BYTES == 0);
