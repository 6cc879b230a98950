// SPDX-License-Identifier: GPL-2.0-or-later
//! The end of the machine, when the plugin asks for it.

use rustix::process::{Signal, getpid, kill_process};

/// Asks QEMU to end, once: from its own thread, as if a user had.
#[derive(Default)]
pub struct End {
    asked: bool,
}

impl End {
    /// Asks.
    pub fn ask(&mut self) {
        if !std::mem::replace(&mut self.asked, true)
            && let Err(error) = kill_process(getpid(), Signal::TERM)
        {
            eprintln!("model: QEMU cannot be ended: {error}");
        }
    }
}
