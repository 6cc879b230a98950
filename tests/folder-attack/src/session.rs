// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session of 9P2000.L: one message after another, by way of slot 0.

use frames::Shared;
use macadamia::alloc::vec;
use macadamia::alloc::vec::Vec;
use macadamia::folder::field::{message, text};
use macadamia::folder::{ANSWERS, ATTACH_AGAIN, Client, Folders, MESSAGE, Request};
use macadamia::{Env, ipc};

/// Error numbers of Linux.
pub mod errno {
    pub const PERM: u32 = 1;
    pub const NOENT: u32 = 2;
    pub const NODEV: u32 = 19;
    pub const INVALID: u32 = 22;
    pub const TOO_MANY: u32 = 24;
    pub const READ_ONLY: u32 = 30;
    pub const NAME_TOO_LONG: u32 = 36;
    pub const UNSUPPORTED: u32 = 95;
    pub const STALE: u32 = 116;
}

/// Types of messages.
pub mod kind {
    pub const ERROR: u8 = 7;
    pub const OPEN: u8 = 12;
    pub const CREATE: u8 = 14;
    pub const SYMLINK: u8 = 16;
    pub const MAKE_NODE: u8 = 18;
    pub const RENAME: u8 = 20;
    pub const READ_LINK: u8 = 22;
    pub const GET_ATTRIBUTES: u8 = 24;
    pub const SET_ATTRIBUTES: u8 = 26;
    pub const CREATE_ATTRIBUTE: u8 = 32;
    pub const LINK: u8 = 70;
    pub const MAKE_FOLDER: u8 = 72;
    pub const RENAME_AT: u8 = 74;
    pub const UNLINK_AT: u8 = 76;
    pub const VERSION: u8 = 100;
    pub const ATTACH: u8 = 104;
    pub const WALK: u8 = 110;
    pub const READ: u8 = 116;
    pub const WRITE: u8 = 118;
    pub const CLUNK: u8 = 120;
}

/// Bytes of size, type and tag.
const HEADER: usize = 7;
/// The number of each folder's root.
pub const ROOT: u32 = 0;
/// A tag.
pub const TAG: u16 = 1;
/// How files are opened: to be read, to be written, both.
pub const READ_ONLY: u32 = 0;
pub const WRITE_ONLY: u32 = 1;
pub const BOTH: u32 = 2;

/// What an answer has after its header, or the error.
pub type Answer = Result<Vec<u8>, u32>;

pub struct Session {
    folders: Folders,
    client: Client,
    serial: u32,
    /// The folder that is asked.
    pub folder: u32,
    /// It may have been told before to begin again.
    pub is_told: bool,
}

impl Session {
    /// Begins, with all folders' roots.
    pub fn begin(env: &Env) -> Self {
        let Some(folders) = Folders::find(env) else {
            panic!("it needs `folder` in the system description")
        };
        let (client, there) =
            folders.attach(false).unwrap_or_else(|error| panic!("no folders: {}", error.text()));
        assert_eq!(there, 0b11, "the folders that there are");
        let mut session = Self { folders, client, serial: 0, folder: 0, is_told: false };
        for folder in [0, 1] {
            session.folder = folder;
            session.greet();
        }
        session.folder = 0;
        session
    }

    /// Begins the folder's session.
    pub fn greet(&mut self) {
        let most = MESSAGE.to_le_bytes();
        let said = self.ask(kind::VERSION, &[&most, &text(b"9P2000.L")]).expect("a version");
        assert_eq!(said, [&most[..], &text(b"9P2000.L")].concat());
        let nobody = u32::MAX.to_le_bytes();
        let fields: [&[u8]; 5] = [&word(ROOT), &nobody, &text(b"root"), &text(b""), &word(0)];
        self.ask(kind::ATTACH, &fields).expect("a root");
    }

    /// What it shares with the server.
    pub const fn shared(&self) -> &Folders {
        &self.folders
    }

    /// Begins with empty rings; sessions go on, or do not.
    pub fn attach(&mut self, again: bool) {
        self.client = self.folders.attach(again).expect("a server").0;
    }

    /// A number that no request had.
    pub const fn next_serial(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    /// Puts a message into a slot, and says that it has so many bytes.
    pub fn submit(&mut self, slot: u32, message: &[u8], bytes: u32) {
        let serial = self.next_serial();
        self.folders.memory().write_bytes(self.folders.layout().message(slot), message);
        let request = Request { folder: self.folder, serial, bytes };
        let due = self.client.submit(self.folders.memory(), slot, request);
        self.folders.notify(due.expect("whole rings")).expect("a server");
    }

    /// Waits for an answer: the slot, and what is in it.
    pub fn wait(&mut self) -> (u32, Vec<u8>) {
        let memory = self.folders.memory();
        loop {
            if let Some((slot, bytes)) = self.client.answer(memory).expect("whole rings") {
                assert!(bytes <= MESSAGE && (bytes as usize) >= HEADER, "{bytes} bytes");
                let mut reply = vec![0; bytes as usize];
                memory.read_bytes(self.folders.layout().reply(slot), &mut reply);
                return (slot, reply);
            }
            if !self.client.wait(memory).expect("whole rings") {
                let bits = ipc::wait(ANSWERS | ATTACH_AGAIN).expect("a notification");
                let is_over = bits & ATTACH_AGAIN != 0 && !self.is_told;
                assert!(!is_over, "the server died, or wants to begin again");
            }
        }
    }

    /// Sends bytes that may be no message.
    pub fn send(&mut self, message: &[u8], bytes: u32) -> Answer {
        self.submit(0, message, bytes);
        let (_, reply) = self.wait();
        part(&reply)
    }

    /// Sends a message.
    pub fn ask(&mut self, kind: u8, fields: &[&[u8]]) -> Answer {
        let message = message(kind, TAG, fields);
        let reply = self.send(&message, message.len() as u32);
        let memory = self.folders.memory();
        let head = memory.read(self.folders.layout().reply(0) + 4).to_le_bytes();
        let expected = if reply.is_ok() { kind + 1 } else { kind::ERROR };
        let [low, high] = TAG.to_le_bytes();
        assert_eq!(head[..3], [expected, low, high], "the answer to {kind}");
        reply
    }

    /// Walks from one file to another by these names: how many of them led somewhere.
    pub fn walk(&mut self, from: u32, to: u32, names: &[&[u8]]) -> Result<usize, u32> {
        let count = (names.len() as u16).to_le_bytes();
        let names: Vec<u8> = names.iter().flat_map(|name| text(name)).collect();
        let said = self.ask(kind::WALK, &[&word(from), &word(to), &count, &names])?;
        Ok(usize::from(u16::from_le_bytes([said[0], said[1]])))
    }

    /// Lets go of a file.
    pub fn clunk(&mut self, file: u32) {
        let _ = self.ask(kind::CLUNK, &[&word(file)]);
    }

    /// Opens the file that these names lead to, as this number.
    pub fn open(&mut self, file: u32, names: &[&[u8]], how: u32) -> Result<(), u32> {
        self.clunk(file);
        if self.walk(ROOT, file, names)? != names.len() {
            return Err(errno::NOENT);
        }
        self.ask(kind::OPEN, &[&word(file), &word(how)]).map(drop)
    }

    /// What is in an open file, at most a slot full.
    pub fn contents(&mut self, file: u32) -> Result<Vec<u8>, u32> {
        let said = self.ask(kind::READ, &[&word(file), &[0; 8], &word(4096)])?;
        Ok(said[4..].to_vec())
    }

    pub fn write(&mut self, file: u32, bytes: &[u8]) -> Answer {
        let count = word(bytes.len() as u32);
        self.ask(kind::WRITE, &[&word(file), &[0; 8], &count, bytes])
    }

    /// Rights and kind of a file.
    pub fn mode(&mut self, file: u32) -> Result<u32, u32> {
        let said = self.ask(kind::GET_ATTRIBUTES, &[&word(file), &0x7ff_u64.to_le_bytes()])?;
        Ok(u32::from_le_bytes([said[21], said[22], said[23], said[24]]))
    }
}

pub const fn word(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

/// What an answer has after its header, or the error.
pub fn part(reply: &[u8]) -> Answer {
    let rest = reply[HEADER..].to_vec();
    match rest.first_chunk::<4>() {
        Some(error) if reply[4] == kind::ERROR => Err(u32::from_le_bytes(*error)),
        _ => Ok(rest),
    }
}
