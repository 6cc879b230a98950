// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that `set_state` sets (x86-64).

/// The base of FS, which programs have as their thread pointer: an address below `USER_END`.
/// Returns 0.
pub const THREAD_POINTER: u32 = 0;
/// The base of GS: an address below `USER_END`. Returns 0. Only this changes it, and no frame has
/// it.
pub const GS_BASE: u32 = 1;
/// Parts from here on: the debug registers 0 to 3, and 7. The first value is an address below
/// `USER_END`, or for 7 enable and condition bits. Returns register 6 as of the last debug
/// exception, and clears it.
pub const DEBUG: u32 = 16;
