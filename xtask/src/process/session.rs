// SPDX-License-Identifier: MIT OR Apache-2.0
//! A running program with which a test talks as a user would at the program's terminal. It does not
//! know what the program is.

use super::patience::{Deadline, Limit, OwnTime, stretched};
use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The longest that a system may say nothing before it says what is expected, unless a test says
/// otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many times as long it may say something else.
const OTHERS: u32 = 10;
/// Between two looks at the time.
const LOOK: Duration = Duration::from_millis(100);

/// The prompt of Linux's shell.
pub const PROMPT: &str = "/root # ";

/// Ctrl-A b: a break on QEMU's serial line.
pub const BREAK: &[u8] = b"\x01b";

/// A program, an emulator of a system, whose terminal is ours. Ends with it.
pub struct Session {
    child: Child,
    output: Receiver<Vec<u8>>,
    /// What was printed and not looked at yet.
    seen: String,
    /// Everything that was printed.
    pub transcript: String,
    time: OwnTime,
    /// The longest that the system may say nothing before it says what is expected, in the
    /// emulator's own time.
    pub patience: Duration,
}

impl Session {
    /// Starts it.
    pub fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the emulator")?;
        let mut stdout = child.stdout.take().context("no output")?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let time = OwnTime::new(child.id());
        Ok(Self {
            child,
            output,
            seen: String::new(),
            transcript: String::new(),
            time,
            patience: PATIENCE,
        })
    }

    /// The program's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits for output that contains `text`; what came before it is done with.
    pub fn expect(&mut self, text: &str) -> Result<()> {
        self.until(text).map(|_| ())
    }

    /// Waits for output that contains each of `texts`, in any order; what came up to the last of
    /// them is done with.
    pub fn expect_all(&mut self, texts: &[&str]) -> Result<()> {
        let start = self.transcript.len() - self.seen.len();
        for text in texts {
            let done = self
                .transcript
                .get(start..self.transcript.len() - self.seen.len())
                .unwrap_or_default();
            if !done.contains(text) {
                self.expect(text)?;
            }
        }
        Ok(())
    }

    /// Waits for output that contains `text`, and returns what came before it.
    pub fn until(&mut self, text: &str) -> Result<String> {
        let patience = stretched(self.patience);
        let begun = self.time.recent();
        let mut heard = begun;
        loop {
            if let Some(at) = self.seen.find(text) {
                let mut before: String = self.seen.drain(..at + text.len()).collect();
                before.truncate(at);
                return Ok(before);
            }
            match self.output.recv_timeout(LOOK) {
                Ok(bytes) => {
                    heard = self.time.recent();
                    self.hear(&bytes);
                }
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("the system ended before `{text}` came; what came: {}", self.transcript)
                }
            }
            let now = self.time.recent();
            if now - heard > patience || now - begun > patience * OTHERS {
                bail!("`{text}` did not come; what came: {}", self.transcript);
            }
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let more = String::from_utf8_lossy(bytes).replace('\r', "");
        self.seen.push_str(&more);
        self.transcript.push_str(&more);
    }

    /// Everything that was printed by now.
    pub fn said(&mut self) -> &str {
        while let Ok(bytes) = self.output.try_recv() {
            self.hear(&bytes);
        }
        &self.transcript
    }

    /// The next whole line.
    pub fn line(&mut self) -> Result<String> {
        let start = self.transcript.len() - self.seen.len();
        self.expect("\n")?;
        let end = self.transcript.len() - self.seen.len();
        Ok(self.transcript.get(start..end).unwrap_or_default().to_string())
    }

    /// How long the emulator has run and slept: what the host gave to others does not count.
    pub fn own_time(&mut self) -> Duration {
        self.time.now()
    }

    /// Processor time that the emulator has used.
    pub fn processor_time(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // After the name in brackets: field 14 is user time, 15 system time, in hundredths of a
        // second.
        let (_, fields) = stat.rsplit_once(')').context("no such process")?;
        let ticks = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(str::parse::<u64>)
            .sum::<Result<u64, _>>()?;
        Ok(Duration::from_millis(ticks * 10))
    }

    /// Types.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let stdin = self.child.stdin.as_mut().context("no input")?;
        stdin.write_all(bytes)?;
        Ok(stdin.flush()?)
    }

    /// Gives the terminal to the component `name`, by Ctrl-T and its number.
    pub fn focus(&mut self, number: u8, name: &str) -> Result<()> {
        self.send(&[0x14, b'0' + number])?;
        self.expect(&format!("input goes to {name}"))
    }

    /// The same, to a Linux whose shell waits for a command.
    pub fn shell(&mut self, number: u8, name: &str) -> Result<()> {
        self.focus(number, name)?;
        self.send(b"\r")?;
        self.expect(PROMPT)
    }

    /// Waits until the system has ended.
    pub fn end(mut self) -> Result<()> {
        let mut deadline = Deadline::new(self.child.id(), Limit::Own(self.patience));
        while !matches!(self.output.recv_timeout(LOOK), Err(RecvTimeoutError::Disconnected)) {
            ensure!(!deadline.is_over(), "the system did not end");
        }
        self.child.wait().map(|_| ()).context("the emulator cannot be waited for")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Session;
    use std::process::Command;

    #[test]
    fn order_does_not_matter_where_it_must_not() {
        for says in ["first> second> rest", "second> first> rest"] {
            let mut command = Command::new("printf");
            command.arg(says);
            let mut session = Session::start(command).unwrap();
            session.expect_all(&["first> ", "second> "]).unwrap();
            session.expect("rest").unwrap();
            assert!(session.expect_all(&["third> "]).is_err());
        }
    }
}
