// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel information page says of a PowerPC, beside what all processors have there: its
//! version, and how the hashed table of a 604 does.

use bytemuck::{Pod, Zeroable};

/// Feature: a Space can be made a server of others ([`Op::Serve`](crate::Op::Serve)).
pub const FEATURE_SERVERS: u32 = 8;

/// Where the processor's version register is in the page, which user mode cannot read.
pub const VERSION_OFFSET: u32 = 508;
/// Where [`Counts`] is in the page.
pub const COUNTS_OFFSET: u32 = 512;

/// Counts since boot, modulo 2 to the power of 32, as they were when the processor last had nothing
/// to do. The whole table is looked at then if a space has lost its context. On a 603, which walks
/// no table, all but `turns` and `cleared` are 0.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Entries that were put into the hashed table.
    pub reloads: u32,
    /// How many of these replaced another one.
    pub evicts: u32,
    /// Entries of nobody that were taken out.
    pub swept: u32,
    /// Entries that were somebody's when the whole table was last looked at: no count since boot.
    pub live: u32,
    /// Likewise those of nobody.
    pub zombies: u32,
    /// How often contexts were given out again: half of them each time.
    pub turns: u32,
    /// Pages that were cleared because somebody wanted that
    /// ([`CacheOp::Clear`](crate::CacheOp::Clear)).
    pub cleared: u32,
}

impl Counts {
    /// Each with what it is called for people.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u32); 7] {
        [
            ("entries put into the hashed table", self.reloads),
            ("of these in place of another", self.evicts),
            ("zombies taken out", self.swept),
            ("live entries, when the table was last looked at", self.live),
            ("zombies, when it was last looked at", self.zombies),
            ("contexts given out again, half of them at once", self.turns),
            ("pages cleared while idle", self.cleared),
        ]
    }
}
