// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers for clients of other projects: files of a signed repository, and names.

use anyhow::{Context, Result, ensure};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The repository that `tests/mirror/make` has made.
const FILES: &str = "tests/mirror";
/// The repository with a signature that does not fit to what is signed.
pub const FORGED: &str = "forged";
/// The repository with a package that is not the one of its index.
pub const REPLACED: &str = "replaced";
/// What its program says.
pub const GREETING: &str = "installed from a mirror";

/// A file of the repository, `AS/suite/FILE`, where AS says what is wrong with it.
pub fn file(path: &str) -> Result<Vec<u8>> {
    let (kind, name) = path.split_once("/suite/").context("no path of the repository")?;
    let known = ["InRelease", "Packages", "greeting.deb"].contains(&name);
    ensure!(known, "the repository has no `{name}`");
    let mut bytes = std::fs::read(format!("{FILES}/{name}"))?;
    let wrong = match (kind, name) {
        // The last digit of a date.
        (FORGED, "InRelease") => {
            bytes.windows(5).position(|text| text == b":00 U").map(|start| start + 2)
        }
        (REPLACED, "greeting.deb") => bytes.len().checked_sub(1),
        _ => None,
    };
    if let Some(byte) = wrong.and_then(|at| bytes.get_mut(at)) {
        *byte ^= 1;
    }
    Ok(bytes)
}

/// Who has the address 10.0.2.2, by the name server of a test.
pub const NAME: &str = "host.example.org";

/// A name server of the loopback interface that knows one name.
pub struct Names {
    pub port: u16,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Names {
    pub fn start() -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = socket.local_addr()?.port();
        let ends = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((bytes, from)) = socket.recv_from(&mut question) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                if let Some(reply) = reply(&question[..bytes]) {
                    // Who gets none asks again.
                    let _ = socket.send_to(&reply, from);
                }
            }
        });
        Ok(Self { port, ends, thread: Some(thread) })
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // It waits for a question.
        let waked = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|socket| socket.send_to(&[], (Ipv4Addr::LOCALHOST, self.port)));
        if waked.is_ok() {
            self.thread.take().map(JoinHandle::join);
        }
    }
}

/// The bytes of a header.
const HEADER: usize = 12;
/// The type of an address, and the class of the Internet.
const A: [u8; 4] = [0, 1, 0, 1];

/// The reply to a message with one question (RFC 1035, 4.1).
fn reply(message: &[u8]) -> Option<Vec<u8>> {
    let (mut labels, mut end) = (Vec::new(), HEADER);
    loop {
        let bytes = usize::from(*message.get(end)?);
        let label = message.get(end + 1..end + 1 + bytes)?;
        end += 1 + bytes;
        if bytes == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(label));
    }
    let asked = message.get(end..end + A.len())?;
    let is_known = labels.join(".").eq_ignore_ascii_case(NAME);
    let is_answered = is_known && asked == A;
    // A response with authority, recursion as it was desired, and available: without an error, or
    // there is no such name.
    let flags = [0x84 | message[2] & 1, 0x80 | if is_known { 0 } else { 3 }];
    let counts = [0, 1, 0, u8::from(is_answered), 0, 0, 0, 0];
    let mut reply = [&message[..2], &flags, &counts, &message[HEADER..end + A.len()]].concat();
    if is_answered {
        // The name of the question, for a minute.
        reply.extend(
            [0xc0, HEADER as u8].into_iter().chain(A).chain([0, 0, 0, 60, 0, 4, 10, 0, 2, 2]),
        );
    }
    Some(reply)
}

#[cfg(test)]
mod tests {
    use super::reply;

    const QUESTION: &[u8] =
        b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\x04host\x07example\x03org\0\0\x01\0\x01";

    #[test]
    fn a_name_has_an_address() {
        let answer = reply(QUESTION).expect("a reply");
        assert!(answer.starts_with(b"\x12\x34\x85\x80\0\x01\0\x01"));
        assert!(answer.ends_with(b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\x02\x02"));
    }

    #[test]
    fn what_is_not_there_and_what_is_no_question() {
        let other: Vec<u8> =
            QUESTION.iter().map(|byte| if *byte == b'h' { b'g' } else { *byte }).collect();
        assert!(
            reply(&other).is_some_and(|answer| answer.starts_with(b"\x12\x34\x85\x83\0\x01\0\0")
                && answer.len() == other.len())
        );
        let ipv6: Vec<u8> = QUESTION
            .iter()
            .enumerate()
            .map(|(at, byte)| if at == QUESTION.len() - 3 { 28 } else { *byte })
            .collect();
        assert!(
            reply(&ipv6).is_some_and(|answer| answer.starts_with(b"\x12\x34\x85\x80\0\x01\0\0"))
        );
        for bytes in 0..QUESTION.len() {
            assert_eq!(reply(&QUESTION[..bytes]), None);
        }
    }
}
