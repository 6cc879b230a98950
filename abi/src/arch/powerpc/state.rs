// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that `set_state` sets (PowerPC, 32 bits, big-endian).

/// The thread pointer that programs read. Returns 0.
pub const THREAD_POINTER: u32 = 0;
