// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports the kernel's blocks to [`model_core::Latency`], from the machine's start on.
//!
//! Interrupts are disabled in this kernel. It reads Cause to check for interrupts, and a stretch
//! ends there. A read of Cause that asks why the kernel was entered ends none. While the kernel
//! waits, interrupts are enabled; it checks for them itself afterwards.

use super::guest::Guest;
use super::plugin::Plugin;
use crate::latency::{self, left};
use crate::plugin::with_guest as with;
use crate::registers::LONGEST_NAME;
use crate::scoreboard::Words;
use crate::translation::{Instruction, Told, accesses, always, conditional};
use model_core::Privilege;
use model_core::mips::{Mips, RETURN, WAIT, is_look, is_vector, saves_tag};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::qemu_plugin_cb_flags as flags;
use std::ffi::{c_uint, c_void};
use std::mem::offset_of;

const NONE: flags = flags::QEMU_PLUGIN_CB_NO_REGS;
/// Where the kernel's own code begins, after the vectors.
const KERNEL: u32 = 0x8000_1000;

/// Reports a block to the part that measures how long the kernel does not check for interrupts.
pub fn follow(plugin: &mut Plugin, first: &Instruction, privilege: Privilege) {
    let inside = plugin.board.word(offset_of!(Words, inside));
    let Some(latency) = plugin.counter.latency() else { return };
    if privilege == Privilege::User {
        conditional(first.handle, left::<Mips>, NONE, inside, 0);
        return;
    }
    let block = latency.intern(first.address);
    if is_vector(first.address) {
        always(first.handle, entered, NONE, block);
    }
    always(first.handle, went_on, NONE, block);
}

/// Reports an instruction of the kernel, if it says something about interrupts or about the entry.
pub fn follow_one(plugin: &mut Plugin, instruction: &Instruction, word: u32) {
    if plugin.counter.latency().is_none() {
        return;
    }
    let (handle, address) = (instruction.handle, instruction.address);
    if word == RETURN {
        always(handle, returns, NONE, 0);
    } else if word == WAIT
        || is_look(word) && address >= KERNEL && !plugin.own.entry.contains(&address)
    {
        always(handle, looks, NONE, usize::from(word == WAIT));
    } else if saves_tag(word) {
        accesses(handle, tag_saved, 0);
    }
}

/// User mode names its case, whose first byte and last byte are at these addresses.
pub fn name(plugin: &mut Plugin, guest: &mut Guest, first: u32, last: u32) {
    if let Some(latency) = plugin.counter.latency() {
        let bytes = last.wrapping_sub(first) as usize + 1;
        latency.name(guest.text(first, bytes.min(LONGEST_NAME)));
    }
}

/// An exception. User mode may have executed nothing since it was left.
extern "C" fn entered(_: c_uint, block: *mut c_void) {
    with(|plugin: &mut Plugin, _| {
        let executed = plugin.executed();
        let returned = std::mem::take(&mut plugin.own.returned);
        if let Some(latency) = plugin.counter.latency() {
            if !latency.is_entry() && !returned {
                return;
            }
            if !latency.is_entry() {
                latency.leave(executed);
            }
            latency.enter(block as usize, 0, executed);
        }
        plugin.own.asks = std::mem::take(&mut plugin.own.called);
        plugin.publish();
    });
}

/// The kernel saves the tag of what may be a system call.
extern "C" fn tag_saved(
    _: c_uint,
    info: qemu::qemu_plugin_meminfo_t,
    address: u64,
    _: *mut c_void,
) {
    with(|plugin: &mut Plugin, _| {
        let tag = Told::new(info, address).value() as u32;
        if std::mem::take(&mut plugin.own.asks)
            && let Some(latency) = plugin.counter.latency()
        {
            latency.asked(tag);
        }
    });
}

/// A block of the kernel begins.
extern "C" fn went_on(processor: c_uint, block: *mut c_void) {
    with(|plugin: &mut Plugin, _| plugin.own.returned = false);
    latency::went_on::<Mips>(processor, block);
}

/// The kernel is about to return.
extern "C" fn returns(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin, _| plugin.own.returned = true);
}

/// The kernel looks for interrupts, or is about to wait for one.
extern "C" fn looks(_: c_uint, waits: *mut c_void) {
    with(|plugin: &mut Plugin, _| {
        let executed = plugin.executed();
        if let Some(latency) = plugin.counter.latency() {
            latency.look(waits as usize != 0, executed);
        }
    });
}
