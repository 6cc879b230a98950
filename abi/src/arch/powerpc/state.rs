// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that `set_state` sets (PowerPC, 32 bits, big-endian): none.
//! Programs have their thread pointer in r2, a register as any other, and the FPU's registers are
//! in the UTCB slot while they are not loaded.
