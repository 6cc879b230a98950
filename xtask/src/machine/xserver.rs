// SPDX-License-Identifier: MIT OR Apache-2.0
//! An X server without a screen (Xvfb), for an emulator that shows a machine in a window: what is to
//! be seen there, and its keyboard (*X Window System Protocol*, version 11; *XTEST Extension
//! Protocol*, 2.2).

use super::monitor::Picture;
use crate::process::tether::tethered;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

/// Its size in pixels: room for a screen of the usual size, and the window's own bars.
const WIDTH: u16 = 1024;
const HEIGHT: u16 = 840;
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

/// The server, which ends with it.
pub struct XServer {
    child: Child,
    line: UnixStream,
    /// Its name for clients.
    pub display: String,
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

impl XServer {
    /// Starts one.
    ///
    /// # Errors
    /// If there is no Xvfb, or it does not answer.
    pub fn start() -> Result<Self> {
        let mut command = Command::new("Xvfb");
        // It says which number it has got, and listens at a socket of the file system only.
        command.args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0"]);
        command.arg(format!("{WIDTH}x{HEIGHT}x24"));
        let mut child = tethered(&command, &[])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start Xvfb")?;
        let mut number = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut number)?;
        let number = number.trim();
        ensure!(!number.is_empty(), "Xvfb has ended: is the package xvfb installed?");
        let line = UnixStream::connect(format!("/tmp/.X11-unix/X{number}"))?;
        let mut server = Self { child, line, display: format!(":{number}"), root: 0, test: 0 };
        server.set_up()?;
        Ok(server)
    }

    fn take(&mut self, bytes: usize) -> Result<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        self.line.read_exact(&mut buffer).context("Xvfb has closed its connection")?;
        Ok(buffer)
    }

    /// Says that words have their lowest byte first, and learns what the screen is called.
    fn set_up(&mut self) -> Result<()> {
        self.line.write_all(&[b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
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
        let mut request = vec![GET_IMAGE, BY_PIXELS, 5, 0];
        request.extend(self.root.to_le_bytes());
        for half in [0, 0, WIDTH, HEIGHT] {
            request.extend(half.to_le_bytes());
        }
        request.extend(u32::MAX.to_le_bytes());
        let reply = self.ask(&request)?;
        let pixels = reply[REPLY_BYTES..].chunks_exact(4).map(|pixel| word(pixel, 0) & 0xff_ffff);
        Ok(Picture::of(usize::from(WIDTH), pixels.collect()))
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

impl Drop for XServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
