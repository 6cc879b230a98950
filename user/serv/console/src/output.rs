// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of several components on one terminal. A line appears when it is complete,
//! so that those of others do not cut it; only somebody who reads has what it printed
//! before shown at once, as that is a prompt or an echo.

use crate::uart::Uart;
use macadamia::alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;

/// Longest line that is held back until it is complete.
const LINE: usize = 512;
/// The most that is kept of what a component without the terminal writes to it.
const HELD: usize = 8192;

/// The terminal's output.
pub struct Output<'a> {
    uart: &'a Uart,
    names: Vec<String>,
    /// What components printed behind the last end of a line.
    partial: BTreeMap<u32, String>,
    /// Who the terminal's unfinished line belongs to.
    open: Option<u32>,
    /// Who of those that drive the terminal themselves has it.
    terminal: Option<u32>,
    /// All of them, and what those without it wrote last.
    held: BTreeMap<u32, VecDeque<u8>>,
    /// Who was told that it may not write results.
    refused: BTreeSet<u32>,
}

impl<'a> Output<'a> {
    /// Nothing printed yet; names in the order of badges.
    pub const fn new(uart: &'a Uart, names: Vec<String>) -> Self {
        Self { uart, names, partial: BTreeMap::new(), open: None, terminal: None, held: BTreeMap::new(), refused: BTreeSet::new() }
    }

    /// The name of the component with this badge.
    pub fn name(&self, badge: u32) -> Option<&str> {
        self.names.get(badge.checked_sub(1)? as usize).map(String::as_str)
    }

    fn put(&self, text: &str) {
        text.bytes().for_each(|byte| self.uart.put(byte));
    }

    /// Shows text of a component: behind its name, unless its line is the open one.
    fn show(&mut self, badge: u32, text: &str) {
        if self.open != Some(badge) {
            self.close();
            self.put("[");
            self.put(self.name(badge).unwrap_or("?"));
            self.put("] ");
        }
        self.put(text);
        self.open = Some(badge);
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.put("\r\n");
        }
    }

    /// Prints whole lines; the rest waits for its end.
    pub fn print(&mut self, badge: u32, text: &str) {
        let mut line = self.partial.remove(&badge).unwrap_or_default();
        for c in text.chars() {
            if c != '\n' {
                line.push(c);
            }
            if c == '\n' || line.len() >= LINE {
                self.show(badge, &line);
                self.close();
                line.clear();
            }
        }
        if !line.is_empty() {
            self.partial.insert(badge, line);
        }
    }

    /// Bytes as they are: of a component that drives the terminal itself, such as Linux. Of several
    /// such, one has the terminal; what the others write waits until they get it. Lines of
    /// components that print come between.
    pub fn raw(&mut self, badge: u32, bytes: &[u8]) {
        let terminal = *self.terminal.get_or_insert(badge);
        let held = self.held.entry(badge).or_default();
        if terminal != badge {
            held.extend(bytes);
            held.drain(..held.len().saturating_sub(HELD));
            return;
        }
        if self.open.is_some_and(|open| open != badge) {
            self.close();
        }
        bytes.iter().for_each(|byte| self.uart.put(*byte));
        let ended = bytes.last().is_none_or(|last| *last == b'\n');
        self.open = (!ended).then_some(badge);
    }

    /// Gives the terminal to a component that drives it itself, and shows what that one has written
    /// meanwhile; the others are no concern of this.
    pub fn give_terminal(&mut self, badge: u32) {
        if let Some(held) = self.held.get_mut(&badge) {
            let bytes = Vec::from(core::mem::take(held));
            self.terminal = Some(badge);
            self.raw(badge, &bytes);
        }
    }

    /// Shows what a component that reads has printed, whole line or not.
    pub fn prompt(&mut self, badge: u32) {
        if let Some(line) = self.partial.remove(&badge) {
            self.show(badge, &line);
        }
    }

    /// Says once of a component that its results are lost.
    pub fn note_refusal(&mut self, badge: u32) {
        if self.refused.insert(badge) {
            let name = self.name(badge).unwrap_or("?");
            let note = format!("`{name}` may not write results: its description lacks `results = true`");
            self.note(&note);
        }
    }

    /// A line of the console's own.
    pub fn note(&mut self, text: &str) {
        self.close();
        self.put("[console] ");
        self.put(text);
        self.put("\r\n");
    }
}
