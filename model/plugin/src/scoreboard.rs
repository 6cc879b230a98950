// SPDX-License-Identifier: GPL-2.0-or-later
//! What the plugin and QEMU's generated code share.

use qemu_plugin_sys as qemu;
use std::cell::{RefCell, RefMut};

/// A place that only one thread at a time looks at.
pub struct Single<T>(RefCell<Option<T>>);

// SAFETY: QEMU runs one processor (`Scoreboard::start` ends it otherwise). Installation comes
// before that processor's thread, all callbacks are on that thread, and the last one when it has
// stopped.
unsafe impl<T> Sync for Single<T> {}

impl<T> Single<T> {
    /// With nothing in it.
    pub const fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// What is in it. Callbacks do not nest.
    pub fn get(&self) -> RefMut<'_, Option<T>> {
        self.0.borrow_mut()
    }

    /// What is in it, at the end; nothing if it is in use: a callback has ended the process, and
    /// there is nothing to report.
    pub fn take(&self) -> Option<T> {
        self.0.try_borrow_mut().ok().and_then(|mut place| place.take())
    }
}

/// What QEMU's own code reads and writes for the processor.
#[repr(C)]
pub struct Words {
    /// Not 0 while the counter is armed; QEMU tests it before it calls.
    pub armed: u64,
    /// Not 0 while the kernel's next block is the first one of an entry.
    pub entering: u64,
    /// Not 0 while the kernel is executed and user mode's next block ends that (ARM).
    pub inside: u64,
    /// Instructions executed, without markers.
    pub executed: u64,
    /// Counts the instructions of blocks that begin up to 2^64: a sample is due when it has passed
    /// that and is small.
    pub until: u64,
}

/// Those words.
pub struct Scoreboard {
    score: *mut qemu::qemu_plugin_scoreboard,
    words: *mut Words,
}

impl Scoreboard {
    /// While the plugin is installed.
    pub fn new() -> Self {
        // SAFETY: a function of the interface, which makes a scoreboard that lives as long as the
        // plugin.
        let score = unsafe { qemu::qemu_plugin_scoreboard_new(size_of::<Words>()) };
        Self { score, words: std::ptr::null_mut() }
    }

    /// The processor of this number starts. More than one would not be modelled: that ends QEMU.
    pub fn start(&mut self, processor: u32) {
        if processor > 0 {
            eprintln!("model: only one processor is modelled; start QEMU with -smp 1");
            std::process::exit(1);
        }
        // SAFETY: the processor's part of the scoreboard has just been made.
        self.words = unsafe { qemu::qemu_plugin_scoreboard_find(self.score, 0) }.cast();
    }

    /// The words of the processor that has started.
    pub fn words(&mut self) -> &mut Words {
        assert!(!self.words.is_null(), "callbacks come when the processor has started");
        // SAFETY: the scoreboard's memory, which lives as long as the plugin; QEMU changes it on
        // this thread, outside of callbacks.
        unsafe { &mut *self.words }
    }

    /// A word, for QEMU's code.
    pub fn word(&self, offset: usize) -> qemu::qemu_plugin_u64 {
        qemu::qemu_plugin_u64 { score: self.score, offset }
    }
}
