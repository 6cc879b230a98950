// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terminal: the first serial line. If the description has a component that shows the console
//! on a screen, the terminal also has a tape to that component and a tape from it. The console does
//! not wait for it.

use crate::uart::Uart;
use core::cell::{Cell, RefCell};
use macadamia::region::{Reader, Region, Writer};
use macadamia::{Env, Thread};

/// Where text goes, and keys come from.
pub struct Terminal {
    line: Uart,
    text: Option<RefCell<Writer<Region>>>,
    keys: Option<RefCell<Reader<Region>>>,
    /// The component that shows it, and whether it is to be notified of text.
    bell: Option<Thread>,
    is_due: Cell<bool>,
}

impl Terminal {
    /// As the description has it. Panics, naming it, if there is no serial line.
    pub fn find(env: &Env) -> Self {
        let line = Uart::find(env, "terminal");
        line.set_up(true);
        let tape = |name| Region::find(env, name);
        Self {
            line,
            text: tape("text").and_then(Writer::new).map(RefCell::new),
            keys: tape("keys").and_then(Reader::new).map(RefCell::new),
            bell: env.given("text-bell").map(|_| env.thread("text-bell")),
            is_due: Cell::new(false),
        }
    }

    /// Whether a component shows it.
    pub const fn is_shown(&self) -> bool {
        self.text.is_some()
    }

    /// Sends a byte.
    pub fn put(&self, byte: u8) {
        self.line.put(byte);
        self.show(byte);
    }

    /// Sends a byte that is on the line already.
    pub fn show(&self, byte: u8) {
        if let Some(text) = &self.text {
            text.borrow_mut().push(byte.into());
            self.is_due.set(true);
        }
    }

    /// Passes what was sent to the component that shows it.
    pub fn tell(&self) {
        if let Some(bell) = self.bell.filter(|_| self.is_due.take()) {
            // If it is dead it reads all when it lives again.
            let _ = bell.notify();
        }
    }

    /// A byte that was typed: those on the line first, whose interrupt is taken back when they are
    /// all taken.
    pub fn get(&self) -> Option<u8> {
        let typed = || self.keys.as_ref()?.borrow_mut().take().map(|byte| byte as u8);
        self.line.get().or_else(typed)
    }
}
