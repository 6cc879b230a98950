// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that `set_state` sets (ARMv5TE).

/// The thread pointer that programs read by the kernel's helper at `0xffff_0fe0`, as those of Linux
/// do. Returns the one before.
pub const THREAD_POINTER: u32 = 0;
