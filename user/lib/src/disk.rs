// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk server's requests. Its data goes through memory that it shares with its only
//! client, so requests are made one at a time.

/// Request: read sectors into the shared memory, from its start. Word 1 is the first sector,
/// word 2 their number. Reply: word 0 is 0, or one of the errors below.
pub const READ: u32 = 1;
/// Request: write sectors from the shared memory; words as for [`READ`].
pub const WRITE: u32 = 2;
/// Request: what was written is on the disk when the reply comes.
pub const FLUSH: u32 = 3;
/// Request: the disk's size. Reply: 0, its sectors, and the most sectors of a request.
pub const SIZE: u32 = 4;

/// Bytes of a sector.
pub const SECTOR: u32 = 512;

/// Error: the request makes no sense, or reaches beyond the disk or the shared memory.
pub const BAD_REQUEST: u32 = 1;
/// Error: the disk says that it failed.
pub const DISK_FAILED: u32 = 2;
/// Error: the disk says nothing.
pub const TIMED_OUT: u32 = 3;
/// Error: there is no disk.
pub const NO_DISK: u32 = 4;
