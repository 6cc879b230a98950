// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data that is read, to fill caches and TLBs.

use macadamia::map::{Window, own};
use macadamia::{Env, Result, Rights};

/// Its offset from the first address that a component maps itself.
const PLACE: u32 = 0x0100_0000;

/// Memory that nothing else uses.
pub struct Data(Window);

impl Data {
    /// The first `bytes` bytes of the Memory `data`.
    pub fn open(env: &Env, bytes: u32) -> Result<Self> {
        Window::open(own().start + PLACE, env.memory("data"), 0, bytes, Rights::READ).map(Self)
    }

    /// Reads `count` words, each `stride` bytes from the one before.
    #[inline(always)]
    pub fn read(&self, count: u32, stride: u32) {
        let mut at = 0;
        for _ in 0..count {
            let _ = self.0.read(at);
            at += stride;
        }
    }
}
