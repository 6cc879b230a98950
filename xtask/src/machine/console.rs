// SPDX-License-Identifier: MIT OR Apache-2.0
//! The serial line of Bochs: a port of the loopback interface, to which a terminal or a test is
//! connected.

use super::terminal::{Keyboard, To};
use crate::process::patience::{Deadline, Limit};
use anyhow::{Result, bail};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

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
            bail!(
                "bochs ended ({status}) before it opened its serial line: see bochs.log in the system's folder under out/"
            );
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
    let (to_line, left) = (line.try_clone()?, line.try_clone()?);
    let keyboard = Keyboard::new(To::Bochs, to_line, move || {
        // It may have ended by itself.
        let _ = left.shutdown(std::net::Shutdown::Both);
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
    drop(keyboard);
    Ok(())
}
