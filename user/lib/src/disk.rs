// SPDX-License-Identifier: MIT OR Apache-2.0
//! A range of a disk (docs/disk.md): memory that is shared with the disk server, and the server to
//! call and to notify.

use crate::ipc::{Message, call};
use crate::region::Region;
use crate::{Env, Error, Result, Thread, Word};
pub use image::protocol::disk::{
    ATTACH, BAD_REQUEST, BIT_ANSWERS, BIT_ATTACH, BIT_REQUESTS, DISK_FAILED, NO_DISK, SECTOR, SLOT,
    TIMED_OUT,
};
pub use sectors::{Client, Layout, Request};

/// The notification bit by which the server says that there are answers.
pub const ANSWERS: u32 = 1 << BIT_ANSWERS;
/// And that its client has to attach again, and to repeat what was not answered.
pub const AGAIN: u32 = 1 << BIT_ATTACH;

/// A client's side: the memory `disk-memory`, the server to call as `disk`, and to notify as
/// `disk-bell`.
#[derive(Debug)]
pub struct Disk {
    memory: Region,
    layout: Layout,
    server: Thread,
    bell: Thread,
}

impl Disk {
    /// The component's only range; `None` if the description gives it none.
    #[must_use]
    pub fn find(env: &Env) -> Option<Self> {
        let memory = Region::find(env, "disk-memory")?;
        let layout = Layout::of(frames::Shared::bytes(&memory))?;
        let given = |name| env.given(name).map(|given| Thread(given.slot as Word));
        Some(Self { memory, layout, server: given("disk")?, bell: given("disk-bell")? })
    }

    /// The memory that both sides see.
    #[must_use]
    pub const fn memory(&self) -> &Region {
        &self.memory
    }

    /// Where in it the slots' data is.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Begins again: nothing is under way. What was not answered is to be repeated. Also the
    /// sectors of the range.
    ///
    /// # Errors
    /// `BadState` if there is no disk, or no such range on it; what the kernel says.
    pub fn attach(&self) -> Result<(Client, u64)> {
        loop {
            match call(self.server, Message::new([ATTACH as Word, 0, 0])) {
                // It lives again, and has not taken this.
                Err(Error::PeerRestarted) => {}
                Err(error) => return Err(error),
                Ok(reply) => {
                    let [error, low, high] = reply.words.map(|word| word as u32);
                    let sectors = u64::from(high) << 32 | u64::from(low);
                    return if error == 0 {
                        Ok((Client::new(self.layout), sectors))
                    } else {
                        Err(Error::BadState)
                    };
                }
            }
        }
    }

    /// Wakes the server, if `due` says that it sleeps.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn notify(&self, due: bool) -> Result<()> {
        if due { self.bell.notify() } else { Ok(()) }
    }
}
