// SPDX-License-Identifier: MIT OR Apache-2.0
//! The serial line of a Bochs: a port of the loopback interface, which a terminal or a test is connected to.

use crate::process::patience::{Deadline, Limit};
use anyhow::{Result, bail};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

/// What leaves the serial line of Bochs, as in QEMU: Ctrl-A, then x.
const ESCAPE: u8 = 1;

/// Between two looks whether an emulator has ended.
const POLL: Duration = Duration::from_millis(20);

/// Bochs listens as soon as it sets up its serial line.
pub fn connect(child: &mut Child, port: u16) -> Result<TcpStream> {
    let mut deadline = Deadline::new(child.id(), Limit::Own(Duration::from_secs(20)));
    loop {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
            return Ok(stream);
        }
        if let Some(status) = child.try_wait()? {
            bail!("bochs ended ({status}) before it opened its serial line: see bochs.log in the system's folder under out/");
        }
        if deadline.is_over() {
            bail!("bochs did not open its serial line within 20 s");
        }
        std::thread::park_timeout(POLL);
    }
}

/// Carries bytes between the terminal, in raw mode, and the line.
pub fn bridge(child: &mut Child, port: u16) -> Result<()> {
    let mut line = connect(child, port)?;
    let raw = RawTerminal::new();
    let mut to_line = line.try_clone()?;
    std::thread::spawn(move || {
        let mut escaped = false;
        for byte in std::io::BufReader::with_capacity(1, std::io::stdin()).bytes().map_while(|b| b.ok()) {
            if escaped && byte.eq_ignore_ascii_case(&b'x') {
                break;
            }
            escaped = byte == ESCAPE && !escaped;
            if !escaped && to_line.write_all(&[byte]).is_err() {
                return;
            }
        }
        if escaped {
            let _ = to_line.shutdown(std::net::Shutdown::Both);
        }
    });
    let mut out = std::io::stdout();
    let mut buffer = [0; 4096];
    while let Ok(count) = line.read(&mut buffer) {
        if count == 0 {
            break;
        }
        out.write_all(&buffer[..count])?;
        out.flush()?;
    }
    drop(raw);
    Ok(())
}

/// The terminal in raw mode, as it was again at the end; nothing if there is none.
struct RawTerminal(Option<rustix::termios::Termios>);

impl RawTerminal {
    fn new() -> Self {
        let saved = rustix::termios::tcgetattr(std::io::stdin()).ok();
        if let Some(mut raw) = saved.clone() {
            raw.make_raw();
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, &raw);
        }
        Self(saved)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if let Some(saved) = &self.0 {
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, saved);
        }
    }
}
