// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders of the host (docs/folders.md): memory that is shared with the folder server, and the
//! server to call and to notify.

use crate::ipc::{Message, call};
use crate::region::Region;
use crate::{Env, Error, Result, Thread, Word};
pub use folders::{Client, Layout, Request, field};
pub use image::protocol::folder::{
    AGAIN, ATTACH, BAD_REQUEST, BIT_ANSWERS, BIT_ATTACH, BIT_REQUESTS, MESSAGE, MOST_FOLDERS,
};

/// The notification bit by which the server says that there are answers.
pub const ANSWERS: u32 = 1 << BIT_ANSWERS;
/// And that its client has to attach again, and to repeat what was not answered.
pub const ATTACH_AGAIN: u32 = 1 << BIT_ATTACH;

/// A client's side: the memory `folder-memory`, the server to call as `folder`, and to notify as
/// `folder-bell`.
#[derive(Debug)]
pub struct Folders {
    memory: Region,
    layout: Layout,
    server: Thread,
    bell: Thread,
}

impl Folders {
    /// Those of the component; `None` if the description gives it none.
    #[must_use]
    pub fn find(env: &Env) -> Option<Self> {
        let memory = Region::find(env, "folder-memory")?;
        let layout = Layout::of(frames::Shared::bytes(&memory))?;
        let given = |name| env.given(name).map(|given| Thread(given.slot as Word));
        Some(Self { memory, layout, server: given("folder")?, bell: given("folder-bell")? })
    }

    /// The memory that both sides see.
    #[must_use]
    pub const fn memory(&self) -> &Region {
        &self.memory
    }

    /// Where in it the slots are.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Begins: nothing is under way, and no session is begun. After [`ATTACH_AGAIN`] and with
    /// `again` sessions go on, and what was not answered is to be repeated. Also the folders that
    /// there are, a bit each.
    ///
    /// # Errors
    /// `BadState` if the server refuses; what the kernel says.
    pub fn attach(&self, again: bool) -> Result<(Client, u32)> {
        let again = if again { AGAIN } else { 0 };
        loop {
            match call(self.server, Message::new([ATTACH as Word, again as Word, 0])) {
                // It lives again, and has not taken this.
                Err(Error::PeerRestarted) => {}
                Err(error) => return Err(error),
                Ok(reply) => {
                    let [error, there, _] = reply.words.map(|word| word as u32);
                    return if error == 0 {
                        Ok((Client::new(self.layout), there))
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
