// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread's program for Alpha.

/// The range that it walks.
pub const RANGE: u32 = 0x1000_0000;
/// Where the pager itself sees the memory.
pub const VIEW: u32 = 0x9000_0000;

/// What the thread executes, $1 counting:
///
/// ```text
/// 24ff1008    ldah $7, 0x1008($31)
/// 20e7ffff    lda $7, -1($7)
/// b0310000    stl $1, 0($17)
/// 20210001    lda $1, 1($1)
/// 22312000    lda $17, 8192($17)
/// 46270011    and $17, $7, $17       (wraps at the end of the range)
/// c3fffff9    br to the start
/// ```
pub const PROGRAM: [u32; 7] =
    [0x24ff_1008, 0x20e7_ffff, 0xb031_0000, 0x2021_0001, 0x2231_2000, 0x4627_0011, 0xc3ff_fff9];
const _: () = assert!(RANGE + crate::BYTES as u32 - 1 == 0x1007_ffff);
