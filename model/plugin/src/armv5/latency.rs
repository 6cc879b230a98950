// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports the kernel's blocks to [`model_core::Latency`], from the machine's start on.
//!
//! Interrupts are disabled in this kernel. It reads the interrupt controller's status, and a
//! stretch ends there.

use super::guest::Guest;
use super::plugin::Plugin;
use crate::latency::{left, went_on};
use crate::plugin::with_guest as with;
use crate::registers::LONGEST_NAME;
use crate::scoreboard::Words;
use crate::translation::{Instruction, Told, always, conditional};
use model_core::Privilege;
use model_core::armv5::{Armv5, is_entry};
use qemu_plugin_sys::qemu_plugin_cb_flags as flags;
use std::ffi::{c_uint, c_void};
use std::mem::offset_of;

/// Reports a block to the part that measures how long the kernel does not check for interrupts.
pub fn follow(plugin: &mut Plugin, first: &Instruction, privilege: Privilege) {
    let inside = plugin.board.word(offset_of!(Words, inside));
    let Some(latency) = plugin.counter.latency() else { return };
    if privilege == Privilege::User {
        conditional(first.handle, left::<Armv5>, flags::QEMU_PLUGIN_CB_NO_REGS, inside, 0);
    } else if first.address >= plugin.arguments.window.start {
        // Before the MMU is on the kernel executes its boot code at physical addresses.
        let block = latency.intern(first.address);
        if is_entry(first.address) {
            always(first.handle, entered, flags::QEMU_PLUGIN_CB_R_REGS, block);
        }
        always(first.handle, went_on::<Armv5>, flags::QEMU_PLUGIN_CB_NO_REGS, block);
    }
}

/// An access at a virtual address: it may be a check for interrupts.
pub fn accessed(plugin: &mut Plugin, address: u32, told: Told) {
    // What an address is in physical memory takes QEMU a while: most are elsewhere in their page.
    let may_be = |look: u64| {
        (u64::from(address) ^ look).is_multiple_of(abi::PAGE_SIZE.into())
            && told.device() == Some(look)
    };
    if !plugin.arguments.look.is_some_and(may_be) {
        return;
    }
    let executed = plugin.executed();
    if let Some(latency) = plugin.counter.latency() {
        latency.look(false, executed);
    }
}

/// User mode names its case: the address is in r0, the bytes in r1.
pub fn name(plugin: &mut Plugin, guest: &mut Guest) {
    if let Some(latency) = plugin.counter.latency() {
        latency.name(guest.text(guest.general(0), (guest.general(1) as usize).min(LONGEST_NAME)));
    }
}

/// The kernel is entered at a block. User mode may have executed nothing since it was left.
extern "C" fn entered(_: c_uint, block: *mut c_void) {
    with(|plugin: &mut Plugin, guest| {
        let (executed, tag) = (plugin.executed(), guest.general(0));
        if let Some(latency) = plugin.counter.latency() {
            if !latency.is_entry() {
                latency.leave(executed);
            }
            latency.enter(block as usize, tag, executed);
        }
        plugin.publish();
    });
}
