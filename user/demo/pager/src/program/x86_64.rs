// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread's program for x86-64.

/// The range that it walks.
pub const RANGE: u32 = 0x1000_0000;
/// Where the pager itself sees the memory.
pub const VIEW: u32 = 0x9000_0000;

/// What the thread executes, EAX counting:
///
/// ```text
/// 89 06               mov [rsi], eax
/// ff c0               inc eax
/// 81 c6 00 10 00 00   add esi, 4096
/// 81 e6 ff ff 03 10   and esi, 0x1003ffff     (wraps at the end of the range)
/// eb ee               jmp to the start
/// ```
pub const PROGRAM: [u32; 5] = [0xc0ff_0689, 0x1000_c681, 0xe681_0000, 0x1003_ffff, 0x0000_eeeb];
const _: () = assert!(RANGE + crate::BYTES as u32 - 1 == 0x1003_ffff);
