// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of `CALL_PAL` that mean something to the kernel. A user's with another number is an
//! exception.

/// A read of an I/O port that the space was given: the port is in $16, and how many bytes, 1, 2 or 4,
/// in $17. What was read comes in $0; nothing else changes.
pub const PORT_READ: u32 = 0xbc;
/// A write of one: what is written is in $18.
pub const PORT_WRITE: u32 = 0xbd;
/// The clock's counter, in $0; nothing else changes.
pub const COUNTER: u32 = 0xbe;
/// A system call. It is the last one of all, so the code after its entry is no other entry.
pub const SYSTEM_CALL: u32 = 0xbf;
/// An exception, for a thread that can do nothing else (`bugchk`).
pub const BUG: u32 = 0x81;
