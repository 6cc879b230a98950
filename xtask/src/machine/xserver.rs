// SPDX-License-Identifier: MIT OR Apache-2.0
//! An X server without a screen (Xvfb), for an emulator that shows a machine in a window: what the
//! window shows, and its keyboard (*X Window System Protocol*, version 11; *XTEST Extension
//! Protocol*, 2.2). It listens at sockets of Unix, and accepts only clients that have read its
//! cookie, from a file that other users cannot read (*Xsecurity*, MIT-MAGIC-COOKIE-1).

use super::monitor::Picture;
use crate::process::patience::{Deadline, Limit};
use crate::process::tether::tethered;
use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What there is room for on it.
#[derive(Clone, Copy)]
pub enum Room {
    /// A window that shows text. A machine learns from the emulator that a screen of the usual size
    /// is too large.
    Text,
    /// A screen of the usual size, and its window's own bars.
    Pixels,
}

impl Room {
    /// Width and height.
    const fn size(self) -> [u16; 2] {
        match self {
            Self::Text => [720, 480],
            Self::Pixels => [1024, 840],
        }
    }
}

/// How long it may take to begin, or to reply, and to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// Requests: an image in the server's own format; about an extension; of XTEST, an input event.
const GET_IMAGE: u8 = 73;
const BY_PIXELS: u8 = 2;
const QUERY_EXTENSION: u8 = 98;
const FAKE_INPUT: u8 = 2;
const XTEST: &[u8] = b"XTEST\0\0\0";
/// Events.
const KEY_PRESS: u8 = 2;
const KEY_RELEASE: u8 = 3;
/// The first byte of a reply, and bytes of a reply without more.
const REPLY: u8 = 1;
const REPLY_BYTES: usize = 32;
/// A key's code is Linux's and so much.
const FIRST_CODE: u8 = 8;

/// How a client shows that it may come, and bytes of what it shows.
const COOKIE: &[u8] = b"MIT-MAGIC-COOKIE-1";
const COOKIE_BYTES: usize = 16;
/// A cookie's entry is for any host and display.
const ANYWHERE: u16 = 0xffff;

/// A file with a server's cookie, in memory: nothing is left of it, however this process ends.
struct Authority {
    file: File,
    cookie: [u8; COOKIE_BYTES],
}

impl Authority {
    /// With a new cookie.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn new() -> Result<Self> {
        let mut cookie = [0; COOKIE_BYTES];
        File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut cookie))?;
        let file = File::from(memfd_create("xauthority", MemfdFlags::CLOEXEC)?);
        let mut authority = Self { file, cookie };
        let entry = authority.entry();
        authority.file.write_all(&entry)?;
        Ok(authority)
    }

    /// Its name for programs of this user; others cannot look at descriptors of this process.
    fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// What stands in the file: where it counts, no address, no display, name and cookie, each with
    /// its length before it.
    fn entry(&self) -> Vec<u8> {
        let mut entry = ANYWHERE.to_be_bytes().to_vec();
        for part in [&[], &[], COOKIE, &self.cookie] {
            entry.extend(u16::try_from(part.len()).unwrap_or_default().to_be_bytes());
            entry.extend(part);
        }
        entry
    }
}

/// Where programs find an X server.
#[derive(Clone)]
pub struct Display {
    /// Its name for clients.
    pub name: String,
    /// The file with its cookie; if there is none, what the environment says counts.
    pub authority: Option<PathBuf>,
}

/// The process of the server, which ends with it.
struct Process(Child);

impl Process {
    /// When it takes too long, from now on.
    fn deadline(&self) -> Deadline {
        Deadline::new(self.0.id(), Limit::Own(PATIENCE))
    }
}

/// The server.
pub struct XServer {
    process: Process,
    line: UnixStream,
    room: Room,
    display: String,
    authority: Authority,
    root: u32,
    /// The number of XTEST's requests.
    test: u8,
}

fn half(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 2).map_or(0, |two| usize::from(u16::from_le_bytes([two[0], two[1]])))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// What comes next of what a server says, at most a buffer full; nothing at the end.
fn read(
    from: &mut (impl Read + AsFd),
    buffer: &mut [u8],
    deadline: &mut Deadline,
) -> Result<usize> {
    loop {
        let pause = Timespec::try_from(deadline.pause())?;
        let there = poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&pause));
        if there.is_ok_and(|ready| ready > 0) {
            match from.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                said => return said.context("Xvfb has closed its connection"),
            }
        }
        ensure!(
            !deadline.is_over(),
            "Xvfb, the X server for Bochs' window, has not answered in time: end what keeps this machine busy, and try again"
        );
    }
}

/// The socket of the server with this number.
fn socket(number: &str) -> PathBuf {
    Path::new("/tmp/.X11-unix").join(format!("X{number}"))
}

/// What a client says first: words have their lowest byte first, version 11, and how it shows that
/// it may come. Each part is filled up to words.
fn greeting(name: &[u8], cookie: &[u8]) -> Vec<u8> {
    let mut greeting = vec![b'l', 0, 11, 0, 0, 0];
    for part in [name, cookie] {
        greeting.extend(u16::try_from(part.len()).unwrap_or_default().to_le_bytes());
    }
    greeting.extend([0, 0]);
    for part in [name, cookie] {
        greeting.extend(part);
        greeting.resize(greeting.len().next_multiple_of(4), 0);
    }
    greeting
}

impl XServer {
    /// Starts one.
    ///
    /// # Errors
    /// If there is no Xvfb, or it does not answer.
    pub fn start(room: Room) -> Result<Self> {
        let [width, height] = room.size();
        let mut command = Command::new("Xvfb");
        // It takes the first number that nobody has, and says which. It does not listen at TCP.
        command.args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0"]);
        command.arg(format!("{width}x{height}x24"));
        let authority = Authority::new()?;
        command.arg("-auth").arg(authority.path());
        Self::begin(&command, room, authority)
    }

    /// Where it is.
    #[must_use]
    pub fn display(&self) -> Display {
        Display { name: self.display.clone(), authority: Some(self.authority.path()) }
    }

    fn begin(command: &Command, room: Room, authority: Authority) -> Result<Self> {
        let mut child = tethered(command, &[])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start Xvfb")?;
        let mut said = child.stdout.take().context("no output")?;
        let process = Process(child);
        let mut number = String::new();
        let mut letter = [0];
        let mut deadline = process.deadline();
        while !number.ends_with('\n') && read(&mut said, &mut letter, &mut deadline)? > 0 {
            number.push(char::from(letter[0]));
        }
        let number = number.trim();
        ensure!(
            !number.is_empty(),
            "there is no Xvfb, the X server for Bochs' window, or it ended: `./macadamia doctor` says what is missing"
        );
        let line = UnixStream::connect(socket(number))?;
        let display = format!(":{number}");
        let mut server = Self { process, line, room, display, authority, root: 0, test: 0 };
        server.set_up()?;
        Ok(server)
    }

    fn take(&mut self, bytes: usize) -> Result<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        let mut got = 0;
        let mut deadline = self.process.deadline();
        while got < bytes {
            let more = read(&mut self.line, &mut buffer[got..], &mut deadline)?;
            ensure!(more > 0, "Xvfb has closed its connection");
            got += more;
        }
        Ok(buffer)
    }

    /// Says that it may come, and learns what the screen is called.
    fn set_up(&mut self) -> Result<()> {
        self.line.write_all(&greeting(COOKIE, &self.authority.cookie))?;
        let head = self.take(8)?;
        ensure!(head[0] == REPLY, "Xvfb lets nobody in");
        let more = self.take(half(&head, 6) * 4)?;
        // After the fixed part come the maker's name and eight bytes for each format.
        let (maker, formats) = (half(&more, 16).next_multiple_of(4), usize::from(more[21]));
        self.root = word(&more, 32 + maker + 8 * formats);
        let mut request = vec![QUERY_EXTENSION, 0, 4, 0, 5, 0, 0, 0];
        request.extend(XTEST);
        let reply = self.ask(&request)?;
        ensure!(reply[8] != 0, "Xvfb has no XTEST");
        self.test = reply[9];
        Ok(())
    }

    /// Whether it lets in a client that shows nothing, or another cookie.
    ///
    /// # Errors
    /// If it has ended.
    pub fn lets_strangers_in(&mut self) -> Result<bool> {
        for greeting in [greeting(&[], &[]), greeting(COOKIE, &[0; COOKIE_BYTES])] {
            let mut line = UnixStream::connect(socket(self.display.trim_start_matches(':')))?;
            line.write_all(&greeting)?;
            let mut head = [0];
            let got = read(&mut line, &mut head, &mut self.process.deadline())?;
            if got == 1 && head[0] == REPLY {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A request's reply. Events that come to those who asked for none, too, are passed over.
    fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        self.line.write_all(request)?;
        let mut reply = self.take(REPLY_BYTES)?;
        while reply[0] > REPLY {
            reply = self.take(REPLY_BYTES)?;
        }
        ensure!(reply[0] == REPLY, "Xvfb refuses request {}: error {}", request[0], reply[1]);
        let more = self.take(word(&reply, 4) as usize * 4)?;
        reply.extend(more);
        Ok(reply)
    }

    /// What is to be seen on it.
    ///
    /// # Errors
    /// If it has ended.
    pub fn picture(&mut self) -> Result<Picture> {
        let [width, height] = self.room.size();
        let mut request = vec![GET_IMAGE, BY_PIXELS, 5, 0];
        request.extend(self.root.to_le_bytes());
        for half in [0, 0, width, height] {
            request.extend(half.to_le_bytes());
        }
        request.extend(u32::MAX.to_le_bytes());
        let reply = self.ask(&request)?;
        let pixels = reply[REPLY_BYTES..].chunks_exact(4).map(|pixel| word(pixel, 0) & 0xff_ffff);
        Ok(Picture::of(usize::from(width), pixels.collect()))
    }

    /// Presses a key of the window under the pointer, by Linux's number for it, or lets it go.
    ///
    /// # Errors
    /// If it has ended.
    pub fn key(&mut self, code: u8, down: bool) -> Result<()> {
        let kind = if down { KEY_PRESS } else { KEY_RELEASE };
        let mut request = vec![self.test, FAKE_INPUT, 9, 0, kind, code + FIRST_CODE];
        request.resize(36, 0);
        self.line.write_all(&request)?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It removes its socket if it may end by itself, which it may have done.
        let id = Pid::from_child(&self.0);
        let _ = kill_process(id, Signal::TERM);
        if let (Ok(ended), Ok(patience)) =
            (pidfd_open(id, PidfdFlags::empty()), Timespec::try_from(PATIENCE))
        {
            let _ = poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&patience));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_as_long_as_it_is_needed() {
        let [one, other] = [Authority::new(), Authority::new()].map(|made| made.expect("a file"));
        assert_ne!(one.cookie, other.cookie);
        let path = one.path();
        let entry = std::fs::read(&path).expect("it can be read");
        assert_eq!(entry[..6], [0xff, 0xff, 0, 0, 0, 0]);
        assert_eq!((&entry[6..8], &entry[8..26]), (&[0, 18][..], COOKIE));
        assert_eq!((&entry[26..28], &entry[28..]), (&[0, 16][..], &one.cookie[..]));
        let cookie = one.cookie;
        drop(one);
        assert!(std::fs::read(path).map_or(true, |now| !now.ends_with(&cookie)));
        assert_eq!(greeting(COOKIE, &other.cookie).len(), 12 + 20 + 16);
    }

    #[test]
    fn who_does_not_answer_is_not_waited_for() {
        let begun = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments);
            Process(command.stdout(Stdio::piped()).spawn().expect("a program"))
        };
        let mut silent = begun("sleep", &["1000"]);
        let mut said = silent.0.stdout.take().expect("its output");
        let limit = Limit::Wall(Duration::from_millis(10));
        let mut deadline = Deadline::new(silent.0.id(), limit);
        let error = read(&mut said, &mut [0], &mut deadline).expect_err("nothing").to_string();
        assert!(
            error.starts_with("Xvfb, the X server for Bochs' window, has not answered"),
            "{error}"
        );
        let mut ended = begun("true", &[]);
        let mut said = ended.0.stdout.take().expect("its output");
        let mut deadline = Deadline::new(ended.0.id(), Limit::Own(PATIENCE));
        assert_eq!(read(&mut said, &mut [0], &mut deadline).expect("its end"), 0);
    }
}
