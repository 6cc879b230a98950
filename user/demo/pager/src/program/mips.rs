// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread's program for MIPS.

/// The range that it walks.
pub const RANGE: u32 = 0x1000_0000;
/// Where the pager itself sees the memory.
pub const VIEW: u32 = 0x9000_0000;

/// What the thread executes, $6 counting:
///
/// ```text
/// 3c071003    lui $7, 0x1003
/// 34e7ffff    ori $7, $7, 0xffff
/// aca60000    sw $6, 0($5)
/// 64c60001    daddiu $6, $6, 1
/// 64a51000    daddiu $5, $5, 4096
/// 1000fffa    b to the start
/// 00a72824    and $5, $5, $7         (wraps at the end of the range, in the delay slot)
/// ```
pub const PROGRAM: [u32; 7] =
    [0x3c07_1003, 0x34e7_ffff, 0xaca6_0000, 0x64c6_0001, 0x64a5_1000, 0x1000_fffa, 0x00a7_2824];
const _: () = assert!(RANGE + crate::BYTES as u32 - 1 == 0x1003_ffff);
