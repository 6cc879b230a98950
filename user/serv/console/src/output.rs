// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of several components on one terminal. A line appears when it is complete, so lines of
//! different components do not mix. If a component reads, its incomplete line is shown at once,
//! because that is a prompt or an echo. Printed text is text only: control characters are shown and
//! have no effect, so no component paints over another one's lines.

use crate::terminal::Terminal;
use macadamia::alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::console::terminal::{PAINT, READ};

/// What turns a control character below a blank into the letter that it is typed with.
const CARET: u8 = 0x40;
/// Longest line that is held back until it is complete.
const LINE: usize = 512;
/// The most that is kept of what a component without the terminal writes to it.
const HELD: usize = 8192;

/// A component, as the description has it.
struct Client {
    name: String,
    reads: bool,
    paints: bool,
}

impl Client {
    /// Of an argument: `NAME=print`, `NAME=read`, or `NAME=paint`, which reads, too.
    fn of(argument: &str) -> Self {
        let (name, terminal) = argument.rsplit_once('=').unwrap_or((argument, ""));
        let paints = terminal == PAINT;
        Self { name: name.into(), reads: paints || terminal == READ, paints }
    }
}

/// The terminal's output, and which component may have which part of the terminal.
pub struct Output<'a> {
    to: &'a Terminal,
    clients: Vec<Client>,
    /// What components printed after the last end of a line.
    partial: BTreeMap<u32, String>,
    /// The component whose unfinished line is on the terminal.
    open: Option<u32>,
    /// Which of the components that write to the terminal unchanged has it.
    terminal: Option<u32>,
    /// All of them, and what those without it wrote last.
    held: BTreeMap<u32, VecDeque<u8>>,
    /// The components whose missing permission was reported.
    refused: BTreeSet<(u32, &'static str)>,
}

impl<'a> Output<'a> {
    /// Nothing printed yet; components in the order of badges. The first that may paint has the
    /// terminal.
    pub fn new(to: &'a Terminal, arguments: &[String]) -> Self {
        let clients: Vec<Client> = arguments.iter().map(|argument| Client::of(argument)).collect();
        let terminal = first(&clients, |client| client.paints);
        Self {
            to,
            clients,
            partial: BTreeMap::new(),
            open: None,
            terminal,
            held: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    fn client(&self, badge: u32) -> Option<&Client> {
        self.clients.get(badge.checked_sub(1)? as usize)
    }

    /// The first that may read.
    pub fn first_reader(&self) -> Option<u32> {
        first(&self.clients, |client| client.reads)
    }

    /// Whether the component with this badge may read.
    pub fn may_read(&self, badge: u32) -> bool {
        self.client(badge).is_some_and(|client| client.reads)
    }

    /// Whether it may write to the terminal as it is.
    pub fn may_paint(&self, badge: u32) -> bool {
        self.client(badge).is_some_and(|client| client.paints)
    }

    /// The name of the component with this badge.
    pub fn name(&self, badge: u32) -> Option<&str> {
        self.client(badge).map(|client| client.name.as_str())
    }

    fn put(&self, text: &str) {
        text.bytes().for_each(|byte| self.to.put(byte));
    }

    /// Shows text of a component: after its name, unless its line is the open one.
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
            match c {
                '\n' => {}
                '\0'..' ' if c != '\t' => line.extend(['^', char::from(c as u8 | CARET)]),
                c if c.is_control() && c != '\t' => line.extend(c.escape_unicode()),
                c => line.push(c),
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
        let held = self.held.entry(badge).or_default();
        if self.terminal != Some(badge) {
            held.extend(bytes);
            held.drain(..held.len().saturating_sub(HELD));
            return;
        }
        if self.open.is_some_and(|open| open != badge) {
            self.close();
        }
        bytes.iter().for_each(|byte| self.to.put(*byte));
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

    /// Says once of a component that it may not do what it tries: its description lacks this line.
    pub fn note_refusal(&mut self, badge: u32, what: &str, line: &'static str) {
        if self.refused.insert((badge, line)) {
            let name = self.name(badge).unwrap_or("?");
            let note = format!("`{name}` may not {what}: its description lacks `{line}`");
            self.note(&note);
        }
    }

    /// What the root server has said, which has written that to the line itself.
    pub fn show_words(&self, words: &[u8]) {
        let end = self.open.filter(|_| !words.is_empty()).map_or(&[][..], |_| b"\r\n");
        end.iter().chain(words).for_each(|byte| self.to.show(*byte));
    }

    /// A line of the console's own.
    pub fn note(&mut self, text: &str) {
        self.close();
        self.put("[console] ");
        self.put(text);
        self.put("\r\n");
    }
}

/// The badge of the first component of which this holds.
fn first(clients: &[Client], holds: impl Fn(&Client) -> bool) -> Option<u32> {
    (1..).zip(clients).find(|(_, client)| holds(client)).map(|(badge, _)| badge)
}
