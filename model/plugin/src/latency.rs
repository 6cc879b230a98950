// SPDX-License-Identifier: GPL-2.0-or-later
//! What the latency is told of every processor.

use crate::plugin::{Followed, Plugin, with};
use std::ffi::{c_uint, c_void};

/// A block of the kernel begins.
pub extern "C" fn went_on<P: Followed>(_: c_uint, block: *mut c_void) {
    with(|plugin: &mut Plugin<P>| {
        let executed = plugin.executed();
        if let Some(latency) = plugin.counter.latency() {
            latency.block(block as usize, executed);
        }
    });
}

/// User mode is executed, for the first time since the kernel was.
pub extern "C" fn left<P: Followed>(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin<P>| {
        let executed = plugin.executed();
        if let Some(latency) = plugin.counter.latency() {
            latency.leave(executed);
        }
        plugin.publish();
    });
}
