// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that `set_state` sets (x86-64).

/// The base of FS, which programs have as their thread pointer: an address below `USER_END`.
/// Returns 0.
pub const THREAD_POINTER: u32 = 0;
