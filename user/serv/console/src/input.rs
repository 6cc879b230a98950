// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is typed, and who gets it.
//!
//! The first component of the description that may read has the focus, whether it reads yet or not.
//! Ctrl-T and a digit gives it to the component with that number (in the order of the description),
//! if it may read, Ctrl-T and `n` to the next one that reads, and Ctrl-T twice types a Ctrl-T.
//! Ctrl-T s ROWSxCOLUMNS and a carriage return says how large the terminal is: the program that
//! carries its bytes types that.

use crate::output::Output;
use crate::terminal::Terminal;
use macadamia::alloc::collections::{BTreeMap, VecDeque};
use macadamia::alloc::format;
use macadamia::console::{READERS, RESIZED};
use macadamia::ipc::{Message, reply};
use macadamia::{Error, Irq, Word};

/// The answer to a request that fails.
pub const fn failure(error: Error) -> [Word; 3] {
    [u32::MAX as Word, error as Word, 0]
}

/// Most input that waits for one component. More stays in the serial line, Ctrl-T, too.
const HELD: usize = 4096;
/// Ctrl-T.
const ESCAPE: u8 = 0x14;

/// How far a command is.
enum Command {
    /// None has begun.
    None,
    /// Ctrl-T.
    Begun,
    /// Ctrl-T s, and numbers.
    Size(Size),
}

/// A size that is being typed: its numbers so far, rows and columns.
#[derive(Default)]
struct Size {
    numbers: [u16; 2],
    /// Which of them is typed.
    at: usize,
}

impl Size {
    /// The next key. False: that is no size.
    fn take(&mut self, key: u8) -> bool {
        match (key, self.at) {
            (b'0'..=b'9', at) => {
                let longer = self.numbers[at]
                    .checked_mul(10)
                    .and_then(|number| number.checked_add(u16::from(key - b'0')));
                longer.map(|number| self.numbers[at] = number).is_some()
            }
            (b'x', 0) => {
                self.at = 1;
                true
            }
            _ => false,
        }
    }

    /// As requests have it; 0 if one of the numbers is.
    fn word(&self) -> u32 {
        let [rows, columns] = self.numbers.map(u32::from);
        if rows * columns == 0 { 0 } else { rows << 16 | columns }
    }
}

/// A reader that waits for input: its reply handle, and what size it takes the terminal to have, if
/// it wants to know that.
type Reader = (Word, Option<u32>);

/// Input and readers. A component that takes the focus away from another takes nothing
/// that was typed for that one.
pub struct Input {
    /// None if no component may read.
    focus: Option<u32>,
    command: Command,
    /// The size of the terminal as requests have it; 0 as long as it is not known.
    size: u32,
    /// The line has not been emptied, and cannot interrupt.
    stopped: bool,
    /// What was typed and not read, by the badge that had the focus then.
    held: BTreeMap<u32, VecDeque<u8>>,
    /// Those who wait for input, oldest first, by badge: at most [`READERS`]. Of those who
    /// died meanwhile the handles are stale, which shows when they are used.
    readers: BTreeMap<u32, VecDeque<Reader>>,
}

impl Input {
    /// Nothing is typed and no component reads; this component has the focus.
    pub const fn new(focus: Option<u32>) -> Self {
        Self {
            focus,
            command: Command::None,
            size: 0,
            stopped: false,
            held: BTreeMap::new(),
            readers: BTreeMap::new(),
        }
    }

    /// A component reads that may.
    pub fn read(&mut self, badge: u32, reader: Reader) {
        let readers = self.readers.entry(badge).or_default();
        if readers.len() == READERS as usize
            && let Some((oldest, _)) = readers.pop_front()
        {
            // It may have died, and leave its place to one that lives.
            let _ = reply(oldest, Message::new(failure(Error::BadState)));
        }
        readers.push_back(reader);
        tell_size(readers, self.size);
        self.hand_out(badge);
    }

    /// Takes what has arrived, as long as there is room for it. Only an empty line may interrupt
    /// again: its next byte does.
    pub fn fetch(&mut self, line: &Terminal, irq: Irq, output: &mut Output<'_>) {
        self.stopped = false;
        while self.has_room() {
            let Some(byte) = line.get() else {
                // The line is given to this component: unmasking it cannot fail.
                let _ = irq.acknowledge();
                return;
            };
            self.take(byte, output);
        }
        self.stopped = true;
    }

    /// Whether there may be more in the line, which does not interrupt.
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    fn has_room(&self) -> bool {
        self.focus.and_then(|focus| self.held.get(&focus)).is_none_or(|held| held.len() < HELD)
    }

    /// A byte was typed, and there is room for it.
    fn take(&mut self, byte: u8, output: &mut Output<'_>) {
        match (core::mem::replace(&mut self.command, Command::None), byte) {
            (Command::None, ESCAPE) => self.command = Command::Begun,
            (Command::None, _) | (Command::Begun, ESCAPE) => self.hold(byte),
            (Command::Begun, b's') => self.command = Command::Size(Size::default()),
            (Command::Begun, _) => self.choose(byte, output),
            (Command::Size(size), b'\r' | b'\n') => {
                self.size = size.word();
                self.readers.values_mut().for_each(|readers| tell_size(readers, self.size));
            }
            (Command::Size(mut size), _) => {
                if size.take(byte) {
                    self.command = Command::Size(size);
                } else {
                    output.note("Ctrl-T s ROWSxCOLUMNS and Enter says how large the terminal is");
                }
            }
        }
    }

    /// Keeps a byte for the component that has the focus.
    fn hold(&mut self, byte: u8) {
        let Some(focus) = self.focus else { return };
        self.held.entry(focus).or_default().push_back(byte);
        self.hand_out(focus);
    }

    /// Gives the focus to another.
    fn choose(&mut self, byte: u8, output: &mut Output<'_>) {
        let chosen = match byte {
            b'1'..=b'9' => Some(u32::from(byte - b'0')),
            b'n' => {
                let behind = self.focus.map_or(0, |focus| focus + 1);
                self.readers
                    .range(behind..)
                    .next()
                    .or_else(|| self.readers.iter().next())
                    .map(|(badge, _)| *badge)
            }
            _ => None,
        };
        match chosen.filter(|badge| output.may_read(*badge)).and_then(|badge| Some((badge, output.name(badge)?))) {
            Some((badge, name)) => {
                self.focus = Some(badge);
                let note = format!("input goes to {name}");
                output.note(&note);
                output.give_terminal(badge);
            }
            None => output.note("Ctrl-T and the number of a component that may read gives it the input, Ctrl-T n the next that reads"),
        }
    }

    /// Gives a component that reads what was typed for it.
    fn hand_out(&mut self, badge: u32) {
        let (Some(readers), Some(held)) = (self.readers.get_mut(&badge), self.held.get_mut(&badge))
        else {
            return;
        };
        while let (Some(byte), false) = (held.front(), readers.is_empty()) {
            let Some((handle, _)) = readers.pop_front() else { return };
            // A reader that died keeps no input from the next one.
            if reply(handle, Message::new([(*byte).into(), 0, 0])).is_ok() {
                held.pop_front();
            }
        }
    }
}

/// Answers the readers that think that the terminal has another size.
fn tell_size(readers: &mut VecDeque<Reader>, size: u32) {
    readers.retain(|(handle, known)| {
        let wrong = known.is_some_and(|known| known != size);
        if wrong {
            // It may have died.
            let _ = reply(*handle, Message::new([RESIZED as Word, size as Word, 0]));
        }
        !wrong
    });
}
