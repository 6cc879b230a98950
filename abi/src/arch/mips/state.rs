// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that `set_state` sets (MIPS, 64 bits, big-endian): none. Programs
//! have their thread pointer in a general register.
