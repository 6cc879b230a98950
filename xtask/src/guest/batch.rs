// SPDX-License-Identifier: MIT OR Apache-2.0
//! One command in Linux without a terminal: its output, its exit status, files in and out.
//!
//! Linux's driver (`linux/os-L4/batch.c`) sends frames on the second serial line. A frame has a
//! byte that names its stream, two bytes of length, and the data. A command has any number of
//! frames with output, and one with its wait status; a file has frames with its contents, and one
//! with an error or 0.

use crate::build::Built;
use crate::emulator::{self, Headless, Machine};
use crate::linux::root::Insert;
use crate::process::patience::{Deadline, Limit};
use anyhow::{Context, Result, ensure};
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Exit status if it took too long.
pub const TIMED_OUT: u8 = 124;
/// Exit status if Linux or what is below it failed.
pub const FAILED: u8 = 125;

/// Frames that wait here for who reads the output: then Linux waits, too.
const AHEAD: usize = 64;

/// The largest file that is brought out, in MiB: until it has ended it is in memory here. A device
/// of Linux may have no end.
const MOST_FETCHED: usize = if cfg!(test) { 1 } else { 1024 };

/// From one word of what is waited for to the next.
const NOTICE: Duration = Duration::from_secs(10);

/// The seconds to say after so long a silence, if they are due; `told` are those that were said
/// before.
fn notice(silence: Duration, told: &mut u64) -> Option<u64> {
    let due = silence.as_secs() / NOTICE.as_secs() * NOTICE.as_secs();
    (due > std::mem::replace(told, due)).then_some(due)
}

/// A file to bring out.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Its path there.
    pub guest: String,
    /// Where it goes here.
    pub host: PathBuf,
}

impl std::str::FromStr for Fetch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (guest, host) = text
            .split_once(':')
            .filter(|(guest, _)| guest.starts_with('/'))
            .ok_or("GUEST:HOST is wanted, GUEST from /")?;
        if guest.contains('\n') {
            return Err("a path must not have a line break".into());
        }
        let host = std::path::absolute(host).map_err(|error| format!("{host}: {error}"))?;
        Ok(Self { guest: guest.into(), host })
    }
}

/// What a run is asked to do.
#[derive(Default)]
pub struct Batch {
    /// A command for the shell.
    pub command: String,
    /// Files to bring out when it has ended.
    pub gets: Vec<Fetch>,
    /// Where a picture of the screen goes, as it is when the command has ended.
    pub picture: Option<PathBuf>,
    /// The longest that everything may take.
    pub timeout: Option<Limit>,
    /// Whether somebody is to be told what is waited for.
    pub notices: bool,
}

impl Batch {
    /// A command, and nothing else: no files come out, no time limit, no notices.
    pub fn of(command: impl Into<String>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }

    /// The files by which Linux learns of it.
    pub fn inserts(&self) -> Vec<Insert> {
        let gets = self.gets.iter().map(|get| get.guest.clone() + "\n").collect::<String>();
        [("/run/batch/command", format!("{}\n", self.command)), ("/run/batch/get", gets)]
            .map(|(guest, text)| Insert {
                guest: guest.into(),
                contents: text.into_bytes(),
                mode: 0o600,
            })
            .into()
    }

    /// Runs it; output goes to `out` and `err` as it comes. Returns its exit status.
    ///
    /// # Errors
    /// If the emulator cannot be started or output not be written.
    pub fn run(
        &self,
        built: &Built,
        machine: Machine<'_>,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> Result<u8> {
        let mut run = emulator::headless(built, machine)?;
        let deadline = self.timeout.map(|timeout| run.deadline(timeout));
        let line = run.line.take().context("no second serial line")?;
        let result = self.talk(&mut run, line, deadline, out, err);
        run.end()?;
        match result {
            Ok(status) => Ok(status),
            Err(error) if is_unread(&error) => {
                writeln!(
                    err,
                    "macadamia: nobody reads what the command writes any more: it was ended, with its system"
                )?;
                Ok(FAILED)
            }
            Err(error) => {
                for file in [&run.said, &run.log] {
                    err.write_all(&std::fs::read(file).unwrap_or_default())?;
                }
                writeln!(
                    err,
                    "macadamia: {error:#}; above is what the system said ({})",
                    run.log.display()
                )?;
                Ok(if error.is::<TimedOut>() { TIMED_OUT } else { FAILED })
            }
        }
    }

    fn talk(
        &self,
        run: &mut Headless,
        mut line: Box<dyn Read + Send>,
        mut deadline: Option<Deadline>,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> Result<u8> {
        let log = run.log.clone();
        let (sender, frames) = sync_channel(AHEAD);
        std::thread::spawn(move || {
            while let Some(frame) = Frame::read(&mut line).transpose() {
                let last = frame.is_err();
                if sender.send(frame).is_err() || last {
                    return;
                }
            }
        });
        let mut next = || -> Result<Frame> {
            let (since, mut told) = (Instant::now(), 0);
            let frame = loop {
                // First, as a command may write faster than this waits.
                if deadline.as_mut().is_some_and(|deadline| deadline.is_over()) {
                    return Err(TimedOut.into());
                }
                let pause = deadline.as_ref().map_or(NOTICE, Deadline::pause).min(NOTICE);
                match frames.recv_timeout(pause) {
                    Err(RecvTimeoutError::Timeout) => (),
                    other => break other.ok(),
                }
                if let Some(seconds) = notice(since.elapsed(), &mut told).filter(|_| self.notices) {
                    eprintln!(
                        "macadamia: waiting for the command to end or to write, for {seconds} s; the console is in {}",
                        log.display()
                    );
                }
            };
            frame.context("the system ended before the command did")?
        };
        let status = self.results(
            &mut next,
            &mut || self.picture.as_ref().map_or(Ok(()), |file| run.picture(file)),
            out,
            err,
        )?;
        run.wait(deadline.as_mut())?.then_some(()).ok_or(TimedOut)?;
        Ok(status)
    }

    /// What frames say: output goes to `out` and `err`, files where they are to go. Calls `ended`
    /// when the command has. Returns the exit status.
    ///
    /// # Errors
    /// If there is no frame where one must come, the command was not started, a file is too large,
    /// or something cannot be written.
    pub(crate) fn results(
        &self,
        next: &mut dyn FnMut() -> Result<Frame>,
        ended: &mut dyn FnMut() -> Result<()>,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> Result<u8> {
        // What the command left running may write while files are brought out.
        let mut end = |err: &mut dyn Write, contents: &mut Vec<u8>| -> Result<i32> {
            loop {
                match next()? {
                    Frame::Out(bytes) => {
                        out.write_all(&bytes)?;
                        out.flush()?;
                    }
                    Frame::Get(bytes) => {
                        ensure!(
                            contents.len() + bytes.len() <= MOST_FETCHED << 20,
                            "it brings out files of up to {MOST_FETCHED} MiB, and this one has more: take a part of it (`head -c`, `split`)"
                        );
                        contents.extend(bytes);
                    }
                    Frame::Err(bytes) => err.write_all(&bytes)?,
                    Frame::End(status) => return Ok(status),
                }
            }
        };
        let status = end(err, &mut Vec::new())?;
        ended()?;
        ensure!(status >= 0, "Linux could not start the command: error {}", status.unsigned_abs());
        let mut fetched = true;
        for get in &self.gets {
            let mut contents = Vec::new();
            let error = end(err, &mut contents)
                .with_context(|| format!("--get: cannot bring out Linux's file {}", get.guest))?;
            if error != 0 {
                let why = std::io::Error::from_raw_os_error(error.saturating_neg());
                writeln!(
                    err,
                    "macadamia: --get: Linux cannot read its file {}: {why}; name one that is there when the command has ended",
                    get.guest
                )?;
                fetched = false;
                continue;
            }
            std::fs::write(&get.host, contents)
                .with_context(|| format!("--get: cannot write {} here", get.host.display()))?;
        }
        Ok(match (status & 0x7f, status >> 8) {
            // What could not be brought out was reported.
            (0, 0) if !fetched => FAILED,
            (0, code) => code as u8,
            (signal, _) => 128 + signal as u8,
        })
    }
}

/// Whether output was written to a pipe that is closed, as `head` does when it has enough.
fn is_unread(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// The time is up.
#[derive(Debug)]
struct TimedOut;

impl std::fmt::Display for TimedOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it took longer than --timeout allows")
    }
}

impl std::error::Error for TimedOut {}

/// What comes on the line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The command ended, with this wait status, or a file did; or it is minus the error that kept
    /// it from that.
    End(i32),
    Out(Vec<u8>),
    Err(Vec<u8>),
    Get(Vec<u8>),
}

impl Frame {
    /// The next one; nothing at the end of the line.
    pub(crate) fn read(line: &mut dyn Read) -> Result<Option<Self>> {
        let mut stream = [0];
        match line.read_exact(&mut stream) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let mut length = [0; 2];
        line.read_exact(&mut length)?;
        let mut bytes = vec![0; usize::from(u16::from_le_bytes(length))];
        line.read_exact(&mut bytes)?;
        Ok(Some(match (stream, <[u8; 4]>::try_from(bytes.as_slice())) {
            ([0], Ok(status)) => Self::End(i32::from_le_bytes(status)),
            ([1], _) => Self::Out(bytes),
            ([2], _) => Self::Err(bytes),
            ([3], _) => Self::Get(bytes),
            ([stream], _) => {
                anyhow::bail!("an unexpected frame came: stream {stream}, {} bytes", bytes.len())
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_told_every_ten_seconds() {
        let mut told = 0;
        let said = [0, 9, 10, 11, 19, 20, 45, 49, 50]
            .map(|seconds| notice(Duration::from_secs(seconds), &mut told));
        assert_eq!(said, [None, None, Some(10), None, None, Some(20), Some(40), None, Some(50)]);
    }

    #[test]
    fn a_closed_pipe_is_no_failure_of_the_system() {
        /// What nobody reads.
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let batch = Batch::default();
        let error = batch.results(
            &mut || Ok(Frame::Out(b"y".into())),
            &mut || Ok(()),
            &mut Closed,
            &mut Vec::new(),
        );
        assert!(error.is_err_and(|error| is_unread(&error)) && !is_unread(&TimedOut.into()));
    }

    #[test]
    fn frames() {
        let mut line: &[u8] = &[1, 2, 0, b'h', b'i', 0, 4, 0, 0, 1, 0, 0, 9, 0, 0];
        assert_eq!(Frame::read(&mut line).ok().flatten(), Some(Frame::Out(b"hi".to_vec())));
        assert_eq!(Frame::read(&mut line).ok().flatten(), Some(Frame::End(256)));
        assert!(Frame::read(&mut line).is_err());
        assert!(Frame::read(&mut [].as_slice()).is_ok_and(|frame| frame.is_none()));
        assert!(Frame::read(&mut [1, 9].as_slice()).is_err());
    }

    #[test]
    fn a_status_without_a_positive_is_an_error() {
        let get = Fetch { guest: "/a".into(), host: "/dev/null".into() };
        let batch = Batch { gets: vec![get], ..Batch::default() };
        let say = |statuses: &[i32]| {
            let mut statuses = statuses.iter();
            let mut err = Vec::new();
            let status = batch.results(
                &mut || statuses.next().map(|status| Frame::End(*status)).context("the end"),
                &mut || Ok(()),
                &mut Vec::new(),
                &mut err,
            );
            (status, String::from_utf8_lossy(&err).into_owned())
        };
        assert!(
            say(&[i32::MIN]).0.is_err_and(|error| error.to_string().ends_with("error 2147483648"))
        );
        let (status, said) = say(&[0, i32::MIN]);
        assert_eq!(status.ok(), Some(FAILED));
        assert!(said.starts_with("macadamia: --get: Linux cannot read its file /a: "), "{said}");
    }

    #[test]
    fn a_file_without_an_end_is_refused() {
        let get = Fetch { guest: "/dev/zero".into(), host: "/dev/null".into() };
        let batch = Batch { gets: vec![get], ..Batch::default() };
        let mut frames = std::iter::once(Frame::End(0))
            .chain(std::iter::repeat_with(|| Frame::Get(vec![0; 1 << 15])));
        let mut taken = 0;
        let mut next = || {
            taken += 1;
            frames.next().context("the end")
        };
        let error = batch
            .results(&mut next, &mut || Ok(()), &mut Vec::new(), &mut Vec::new())
            .expect_err("a file without an end");
        let said = format!("{error:#}");
        assert!(
            said.starts_with(
                "--get: cannot bring out Linux's file /dev/zero: it brings out files of up to 1 MiB"
            ),
            "{said}"
        );
        // The end of the command, all that is kept, and one too many.
        assert_eq!(taken, 1 + (MOST_FETCHED << 20 >> 15) + 1);
    }
}
