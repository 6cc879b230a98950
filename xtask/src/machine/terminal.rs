// SPDX-License-Identifier: MIT OR Apache-2.0
//! This terminal as the keyboard of a machine: it passes on bytes, and tells the console server the
//! terminal's size by Ctrl-T s ROWSxCOLUMNS and a carriage return (docs/systems.md, *The console*).
//! The standard input may also be a pipe or a file.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, OutputModes, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{Write, stdin, stdout};

/// The first key of the emulator's commands: Ctrl-A.
const EMULATOR: u8 = 1;
/// The first key of the console server's commands: Ctrl-T.
const CONSOLE: u8 = 0x14;

/// Between two looks at the terminal's size.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// Whose keyboard it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// QEMU's, which takes its commands itself, and keeps what comes before the system listens.
    Qemu,
    /// Bochs's serial line. It has no commands, and its boot loader throws away what comes early:
    /// the size is told with the first key.
    Bochs,
}

/// How far a command of the console server is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    None,
    /// Ctrl-T.
    Begun,
    /// Ctrl-T s, and perhaps digits.
    Size,
}

/// What was typed, as far as the next bytes depend on it.
struct Typed {
    to: To,
    /// Ctrl-A was the last key.
    escaped: bool,
    /// Ctrl-A c was typed: what follows is for QEMU's monitor.
    monitor: bool,
    command: Command,
}

/// What a key does.
#[derive(Debug, PartialEq, Eq)]
enum Does {
    /// It goes on to the machine.
    Goes,
    /// It is the beginning of a command of ours.
    Begins,
    /// It ends the machine.
    Leaves,
}

impl Typed {
    const fn new(to: To) -> Self {
        Self { to, escaped: false, monitor: false, command: Command::None }
    }

    fn take(&mut self, byte: u8) -> Does {
        let passed = if self.to == To::Bochs { Does::Begins } else { Does::Goes };
        if !self.escaped && byte == EMULATOR {
            self.escaped = true;
            return passed;
        }
        let escaped = std::mem::take(&mut self.escaped);
        match (self.to, byte.to_ascii_lowercase()) {
            (To::Bochs, b'x') if escaped => return Does::Leaves,
            (To::Qemu, b'c') if escaped => self.monitor = !self.monitor,
            (To::Qemu, _) if escaped && byte != EMULATOR => (),
            _ if self.monitor => (),
            _ => {
                self.command = match (self.command, byte) {
                    (Command::None, CONSOLE) => Command::Begun,
                    (Command::Begun, b's') => Command::Size,
                    (Command::Size, b'0'..=b'9' | b'x') => Command::Size,
                    _ => Command::None,
                }
            }
        }
        Does::Goes
    }

    /// Whether a command can be put here: no other has begun, and the console server would hear it.
    fn is_between(&self) -> bool {
        !self.escaped && !self.monitor && self.command == Command::None
    }
}

/// The size of the terminal: rows and columns. Nothing if there is none, or if it does not say.
fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(stdin()).or_else(|_| tcgetwinsize(stdout())).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// Carries what is typed to the machine, with each new size of the terminal, until the machine has
/// ended. `true`: the user left it.
fn carry(to: To, line: &mut impl Write) -> std::io::Result<bool> {
    let mut typed = Typed::new(to);
    let (mut told, mut input) = (None, [0; 4096]);
    loop {
        let stdin = stdin();
        let ready = match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&LOOK)) {
            Ok(ready) => ready > 0,
            Err(Errno::INTR) => false,
            Err(error) => return Err(error.into()),
        };
        let size = size();
        if size != told && typed.is_between() && (to == To::Qemu || ready) {
            if let Some((rows, columns)) = size {
                line.write_all(format!("\x14s{rows}x{columns}\r").as_bytes())?;
            }
            told = size;
        }
        if !ready {
            continue;
        }
        let count = match rustix::io::read(&stdin, &mut input) {
            Ok(0) => {
                eprintln!(
                    "macadamia: the standard input has ended; the system goes on until it ends by itself or is ended"
                );
                return Ok(false);
            }
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(error) => {
                eprintln!(
                    "macadamia: nothing can be typed any more ({error}); the system goes on until it ends by itself or is ended"
                );
                return Ok(false);
            }
        };
        let mut goes = Vec::with_capacity(count);
        for byte in &input[..count] {
            match typed.take(*byte) {
                Does::Goes => goes.push(*byte),
                Does::Begins => (),
                Does::Leaves => return Ok(true),
            }
        }
        line.write_all(&goes)?;
        line.flush()?;
    }
}

/// A machine's keyboard, from now on. As long as this is there, the terminal is in raw mode.
pub struct Keyboard(Option<Termios>);

impl Keyboard {
    /// `left` is called when the user wants to leave.
    pub fn new(
        to: To,
        mut line: impl Write + Send + 'static,
        left: impl FnOnce() + Send + 'static,
    ) -> Self {
        let saved = tcgetattr(stdin()).ok();
        if let Some(mut raw) = saved.clone() {
            raw.make_raw();
            // Lines of the emulator and of this tool end as ever.
            raw.output_modes |= OutputModes::OPOST;
            let _ = tcsetattr(stdin(), OptionalActions::Now, &raw);
        }
        std::thread::spawn(move || {
            // A machine that has ended takes nothing more: the code that waits for it says so.
            if carry(to, &mut line).unwrap_or(false) {
                left();
            }
        });
        Self(saved)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Some(saved) = &self.0 {
            let _ = tcsetattr(stdin(), OptionalActions::Now, saved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Does, To, Typed};

    /// Where in what is typed a command of the tool may be put: a digit for each byte, 1 if after
    /// it.
    fn between(to: To, keys: &[u8]) -> String {
        let mut typed = Typed::new(to);
        keys.iter()
            .map(|key| {
                typed.take(*key);
                if typed.is_between() { '1' } else { '0' }
            })
            .collect()
    }

    #[test]
    fn a_size_is_put_into_no_other_command() {
        assert_eq!(between(To::Qemu, b"ls\r"), "111");
        assert_eq!(between(To::Qemu, b"a\x01\x01b\x14n\x14\x14c"), "101101011");
        assert_eq!(between(To::Qemu, b"\x14s24x80\rc"), "000000011");
        // QEMU's monitor, where Ctrl-T is no command; a break between Ctrl-T and its key.
        assert_eq!(between(To::Qemu, b"\x01cinfo\x14\x01c."), "0000000011");
        assert_eq!(between(To::Qemu, b"\x14\x01bn"), "0001");
    }

    #[test]
    fn ctrl_a_x_leaves_bochs() {
        let mut typed = Typed::new(To::Bochs);
        let did: Vec<Does> = b"x\x01\x01\x01x".iter().map(|key| typed.take(*key)).collect();
        assert_eq!(did, [Does::Goes, Does::Begins, Does::Goes, Does::Begins, Does::Leaves]);
        assert_eq!(between(To::Bochs, b"a\x01c"), "101");
    }
}
