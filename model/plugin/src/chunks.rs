// SPDX-License-Identifier: GPL-2.0-or-later
//! Chunks of code that QEMU has translated.

use model_core::Chunk;
use std::collections::HashMap;

/// Chunks of code, and where in its block each begins. Callbacks are given an index.
#[derive(Default)]
pub struct Chunks {
    /// By index.
    pub all: Vec<(Chunk, u16)>,
    index: HashMap<(Chunk, u16), usize>,
}

impl Chunks {
    /// Its index.
    pub fn intern(&mut self, chunk: Chunk, offset: u16) -> usize {
        *self.index.entry((chunk, offset)).or_insert_with_key(|key| {
            self.all.push(key.clone());
            self.all.len() - 1
        })
    }
}
