// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many sockets at once.

use super::error::{Error, Result};
use super::server::{Part, ask};
use super::socket::{AsSocket, milliseconds};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::time::Duration;
use image::protocol::ip::{FOREVER, POLL};

/// Bytes of an entry.
const ENTRY: usize = 8;

/// A socket, and what it is to be ready for.
#[derive(Clone, Copy, Debug)]
pub struct PollFd<'a> {
    words: [u32; 2],
    socket: PhantomData<&'a ()>,
}

impl<'a> PollFd<'a> {
    /// For [`READABLE`](super::READABLE), [`WRITABLE`](super::WRITABLE), or both.
    pub fn new(socket: &'a impl AsSocket, wanted: u32) -> Self {
        Self { words: [socket.socket(), wanted], socket: PhantomData }
    }

    /// What it was ready for when [`poll`] returned. One whose connection has failed is ready for
    /// all that was wanted.
    #[must_use]
    pub const fn ready(&self) -> u32 {
        self.words[1] >> 16
    }
}

/// Waits until at least one of the sockets, of which there are no more than the component may have,
/// is ready for what is wanted of it, or the time is over. Returns how many are.
///
/// # Errors
/// `InvalidInput` if there are more; that the server does not answer.
pub fn poll(list: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<usize> {
    let bytes = list.len() * ENTRY;
    if bytes > Part::most() {
        return Err(Error::InvalidInput);
    }
    list.iter_mut().for_each(|entry| entry.words[1] &= 0xffff);
    let mut memory: Vec<u8> =
        list.iter().flat_map(|entry| entry.words).flat_map(u32::to_le_bytes).collect();
    let part = Part::take()?;
    part.write(&memory);
    let timeout = timeout.map_or(FOREVER, milliseconds);
    let reply = ask([POLL, list.len() as u32, part.place(bytes), timeout, 0, 0, 0, 0])?;
    part.read(&mut memory);
    for (entry, bytes) in list.iter_mut().zip(memory.chunks_exact(ENTRY)) {
        entry.words[1] |= u32::from(u16::from_le_bytes([bytes[6], bytes[7]])) << 16;
    }
    Ok(reply[1] as usize)
}
