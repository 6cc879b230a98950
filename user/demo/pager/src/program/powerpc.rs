// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread's program for PowerPC.

/// The range that it walks.
pub const RANGE: u32 = 0x0200_0000;
/// Where the pager itself sees the memory.
pub const VIEW: u32 = image::layout::GRANTS_END;

/// What the thread executes, r5 counting:
///
/// ```text
/// 90a40000    stw 5, 0(4)
/// 38a50001    addi 5, 5, 1
/// 38841000    addi 4, 4, 4096
/// 54840398    rlwinm 4, 4, 0, 14, 12    (wraps at the end of the range)
/// 4bfffff0    b to the start
/// ```
pub const PROGRAM: [u32; 5] = [0x90a4_0000, 0x38a5_0001, 0x3884_1000, 0x5484_0398, 0x4bff_fff0];
const _: () = assert!(crate::BYTES == 0x4_0000 && RANGE & crate::BYTES == 0);
