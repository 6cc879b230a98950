// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel information page says of the machine (x86-64).

/// Feature: a Space can be made a server of others ([`Op::Serve`](crate::Op::Serve)).
pub const FEATURE_SERVERS: u32 = 8;
