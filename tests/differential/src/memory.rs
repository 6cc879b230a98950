// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that a machine sees: what was there, and what the machine has written.
//!
//! It consists of words, as the host has them. The machine decides which byte of a word has which
//! address.

use std::collections::BTreeMap;

/// Words, by multiples of 4.
pub struct Words<'a> {
    before: &'a dyn Fn(u32) -> Option<u32>,
    /// What was written, by address.
    pub written: BTreeMap<u32, u32>,
    /// The addresses of that, in the order of time.
    pub order: Vec<u32>,
}

impl<'a> Words<'a> {
    /// Those that `before` gives, until they are written.
    pub fn new(before: &'a dyn Fn(u32) -> Option<u32>) -> Self {
        Self { before, written: BTreeMap::new(), order: Vec::new() }
    }

    /// The word at an address; nothing if there is none.
    pub fn get(&self, address: u32) -> Option<u32> {
        self.written
            .get(&address)
            .copied()
            .or_else(|| (self.before)(address))
            .filter(|_| address.is_multiple_of(4))
    }

    /// Writes a word that is there. False if it is not.
    pub fn set(&mut self, address: u32, value: u32) -> bool {
        let is_there = self.get(address).is_some();
        if is_there {
            self.written.insert(address, value);
            self.order.push(address);
        }
        is_there
    }
}
