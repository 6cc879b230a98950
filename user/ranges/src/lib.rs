// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has which addresses of a layout that several spaces share: the protocol of the server
//! `ranges`, and its account of addresses.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;

/// What a client asks, in word 0. The answer has 0 or an error's code in word 0.
pub mod request {
    /// A range of at least so many bytes (word 1): its address and bytes come in words 1 and 2, its
    /// Segment as a capability.
    pub const CREATE: u32 = 1;
    /// The range at an address (word 1) ends, for all who have it.
    pub const FREE: u32 = 2;
    /// All ranges that this client has made end: it begins.
    pub const BEGIN: u32 = 3;
}

/// Units of something that lie after each other, each free or taken.
#[derive(Clone, Debug)]
pub struct Units {
    taken: Vec<bool>,
}

impl Units {
    /// So many, all free.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { taken: vec![false; count] }
    }

    /// Takes the first run of `count` that are free, and returns where it begins. None if there is
    /// no such run, or of no units.
    pub fn take(&mut self, count: usize) -> Option<usize> {
        let is_free = |run: &[bool]| run.iter().all(|taken| !taken);
        let first = (count > 0).then(|| self.taken.windows(count).position(is_free)).flatten()?;
        self.taken[first..first + count].fill(true);
        Some(first)
    }

    /// Gives a run back that was taken.
    ///
    /// # Panics
    /// If it was not.
    pub fn give(&mut self, first: usize, count: usize) {
        let run = &mut self.taken[first..first + count];
        assert!(
            run.iter().all(|taken| *taken),
            "units {first} to {} are not all taken",
            first + count
        );
        run.fill(false);
    }
}
