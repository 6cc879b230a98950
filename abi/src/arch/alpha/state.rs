// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that `set_state` sets (Alpha).

/// The thread pointer that programs read by a CALL_PAL of its own. Returns 0.
pub const THREAD_POINTER: u32 = 0;
