// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the list shows of the system's components, as the root server reports it. Opening the list
//! allocates nothing.

use macadamia::alloc::vec::Vec;
use macadamia::ipc::{Message, call};
use macadamia::{Thread, Word, slot, start, utcb};

/// Most components that are shown, and bytes of their names.
const MOST: usize = 40;
const NAME: usize = 24;

/// A component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    name: [u8; NAME],
    length: usize,
    /// Whether it lives.
    pub lives: bool,
    /// How often it was started again.
    pub restarts: Word,
    /// Bytes of kernel memory that are charged to it, and the most that may be.
    pub memory: [Word; 2],
}

impl Row {
    /// The name's first bytes.
    pub fn name(&self) -> &str {
        self.name.get(..self.length).and_then(|name| str::from_utf8(name).ok()).unwrap_or_default()
    }

    /// Component `number` of the root server's, if there is one and the description lets this one
    /// watch.
    fn ask(number: usize) -> Option<Self> {
        const ROOT: Thread = Thread(slot::ROOT as Word);
        let reply = call(ROOT, Message::new([start::COMPONENT as Word, number as Word, 0])).ok()?;
        let [lives @ 0..=1, bytes, restarts] = reply.words else { return None };
        let count = reply.count as usize;
        // The text, then three words.
        let [used, quota] = [3, 2].map(|behind| utcb::word(count.saturating_sub(behind)));
        let mut name = [0; NAME];
        let parts = name.chunks_mut(4).zip(reply.words.len()..count.saturating_sub(3));
        parts.for_each(|(part, word)| {
            part.copy_from_slice(&(utcb::word(word) as u32).to_ne_bytes())
        });
        let length = NAME.min(bytes as usize);
        Some(Self { name, length, lives: lives == 1, restarts, memory: [used, quota] })
    }
}

/// All of them.
pub struct List {
    rows: Vec<Row>,
}

impl List {
    /// With room for all, and nothing in it.
    pub fn new() -> Self {
        Self { rows: Vec::with_capacity(MOST) }
    }

    /// The components.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Asks again. Whether something has changed.
    pub fn ask(&mut self) -> bool {
        let mut changed = false;
        for number in 0..MOST {
            let (Some(row), old) = (Row::ask(number), self.rows.get_mut(number)) else { break };
            match old {
                Some(old) => changed |= core::mem::replace(old, row) != row,
                None => {
                    self.rows.push(row);
                    changed = true;
                }
            }
        }
        changed
    }
}
