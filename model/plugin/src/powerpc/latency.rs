// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports the kernel's blocks to [`model_core::Latency`], from the machine's start on.
//!
//! Interrupts are disabled in this kernel. It reads the decrementer and the interrupt controllers,
//! and a stretch ends there. While the kernel waits, interrupts are enabled; it checks for them
//! itself afterwards.

use super::guest::Guest;
use super::plugin::Plugin;
use crate::latency::{left, went_on};
use crate::plugin::with_guest as with;
use crate::registers::LONGEST_NAME;
use crate::scoreboard::Words;
use crate::translation::{Instruction, always, conditional};
use model_core::Privilege;
use model_core::powerpc::{PowerPc, World, is_vector};
use qemu_plugin_sys::qemu_plugin_cb_flags as flags;
use std::ffi::{c_uint, c_void};
use std::mem::offset_of;

/// The machine state: wait.
const WAIT: u32 = 1 << 18;

/// Reports a block to the part that measures how long the kernel does not check for interrupts.
pub fn follow(plugin: &mut Plugin, first: &Instruction, privilege: Privilege) {
    let inside = plugin.board.word(offset_of!(Words, inside));
    let Some(latency) = plugin.counter.latency() else { return };
    if privilege == Privilege::User {
        conditional(first.handle, left::<PowerPc>, flags::QEMU_PLUGIN_CB_NO_REGS, inside, 0);
        return;
    }
    let block = latency.intern(first.address);
    if is_vector(first.address) {
        always(first.handle, entered, flags::QEMU_PLUGIN_CB_R_REGS, block);
    }
    always(first.handle, went_on::<PowerPc>, flags::QEMU_PLUGIN_CB_NO_REGS, block);
}

/// The kernel looks at the decrementer, or is about to write the machine state.
pub fn looks(plugin: &mut Plugin, state: Option<u32>) {
    let executed = plugin.executed();
    let waits = state.map(|state| state & WAIT != 0);
    if let Some(latency) = plugin.counter.latency().filter(|_| waits != Some(false)) {
        latency.look(waits.is_some(), executed);
    }
}

/// User mode names its case: the address is in r3, the bytes in r4.
pub fn name(plugin: &mut Plugin, guest: &mut Guest) {
    if let Some(latency) = plugin.counter.latency() {
        latency.name(guest.text(guest.general(3), (guest.general(4) as usize).min(LONGEST_NAME)));
    }
}

/// An exception. User mode may have executed nothing since it was left.
extern "C" fn entered(_: c_uint, block: *mut c_void) {
    with(|plugin: &mut Plugin, guest| {
        if !guest.left_user() {
            return;
        }
        let (executed, tag) = (plugin.executed(), guest.general(3));
        if let Some(latency) = plugin.counter.latency() {
            if !latency.is_entry() {
                latency.leave(executed);
            }
            latency.enter(block as usize, tag, executed);
        }
        plugin.publish();
    });
}
