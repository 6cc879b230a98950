// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel information page says of an IA-32 processor.

/// Feature: the kernel is entered by `sysenter`; otherwise by `int 0x30`.
pub const FEATURE_SYSENTER: u32 = 1;
/// Feature: FPU areas are in `fxsave` format.
pub const FEATURE_FXSR: u32 = 2;
/// Feature: the processor has SSE.
pub const FEATURE_SSE: u32 = 4;

/// Feature: a Space can be made a server of others ([`Op::Serve`](crate::Op::Serve)).
pub const FEATURE_SERVERS: u32 = 8;

/// Vector of the system-call gate where `sysenter` is missing.
pub const INT_VECTOR: u32 = 0x30;
