// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests to servers: word 0 of a call. Here, because components in other languages are
//! built with them, too.

/// To the root server.
pub mod root {
    /// This component has ended; word 1 is its code.
    pub const EXIT: u32 = 1;
    /// With a name as text: how is the component? The reply: 1 if it lives, restarts,
    /// bytes of its Quota in use; or `u32::MAX` and an error.
    pub const STATUS: u32 = 2;
}

/// To the console. Text follows as the user library lays it out. A request that fails is answered with
/// `u32::MAX` and an error.
pub mod console {
    /// In a badge, beside the component's index plus one.
    pub const MAY_WRITE_RESULTS: u32 = 1 << 19;
    /// Print on the console.
    pub const PRINT: u32 = 1;
    /// Write to the machine-readable line; for who has [`MAY_WRITE_RESULTS`] in its badge.
    pub const RESULT: u32 = 2;
    /// Wait for input; the reply's word 0 is a byte, or `u32::MAX`.
    pub const READ: u32 = 3;
    /// Threads of a component that may wait for input. If there is one more, the wait of the
    /// oldest fails with `BadState`.
    pub const READERS: u32 = 8;
    /// Put bytes on the terminal as they are, as one who owns it does; no name, no lines.
    pub const RAW: u32 = 4;
}

/// To the clock.
pub mod clock {
    /// The time of day. The reply: seconds since 1970-01-01 00:00 UTC (low, high word),
    /// and nanoseconds.
    pub const NOW: u32 = 1;
}

/// To the disk server. Its data goes through memory that it shares with its only client, so
/// requests are made one at a time.
pub mod disk {
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
}
