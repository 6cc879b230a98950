// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports the kernel's blocks to [`model_core::Latency`], from the machine's start on. It uses the
//! lower halves of the kernel's addresses.

use super::guest::Guest;
use super::plugin::{Plugin, with};
use super::registers::{RAX, RSP};
use crate::scoreboard::Words;
use crate::translation::{Instruction, always, conditional};
use model_core::x86_64::Class;
use qemu_plugin_sys::qemu_plugin_cb_flags as flags;
use std::ffi::{c_uint, c_void};

/// Reports a block of the kernel to the part that measures how long the kernel does not check for
/// interrupts.
pub fn follow(plugin: &mut Plugin, instructions: &[Instruction]) {
    let entering = plugin.word(std::mem::offset_of!(Words, entering));
    let (Some(latency), Some(first)) = (plugin.counter.latency(), instructions.first()) else {
        return;
    };
    // The firmware and what boots the kernel lie below. Nobody runs the kernel's code at two
    // addresses.
    if first.address < plugin.arguments.window.start {
        return;
    }
    let block = latency.intern(first.address);
    conditional(first.handle, entered, flags::QEMU_PLUGIN_CB_R_REGS, entering, block);
    always(first.handle, went_on, flags::QEMU_PLUGIN_CB_NO_REGS, block);
    for Instruction { handle, bytes, .. } in instructions {
        match Class::decode(bytes) {
            class @ (Class::FarReturn | Class::Sysret) => {
                always(*handle, returns, flags::QEMU_PLUGIN_CB_R_REGS, class as usize)
            }
            class @ (Class::OpenInterrupts | Class::Halt) => {
                always(*handle, opens, flags::QEMU_PLUGIN_CB_NO_REGS, class as usize)
            }
            _ => {}
        }
    }
}

/// The kernel is entered at a block.
extern "C" fn entered(_: c_uint, block: *mut c_void) {
    with(|plugin| {
        let tag = plugin.guest.as_ref().map_or(0, |guest| guest.general(RAX) as u32);
        let executed = plugin.executed();
        if let Some(latency) = plugin.counter.latency() {
            latency.enter(block as usize, tag, executed);
        }
        plugin.publish();
    });
}

/// A block of the kernel begins.
extern "C" fn went_on(_: c_uint, block: *mut c_void) {
    with(|plugin| {
        let executed = plugin.executed();
        if let Some(latency) = plugin.counter.latency() {
            latency.block(block as usize, executed);
        }
    });
}

/// A return, which is to user mode unless it is an `iretq` to a code segment of ring 0.
extern "C" fn returns(_: c_uint, class: *mut c_void) {
    with(|plugin| {
        let kernel =
            |guest: &Guest| guest.word(guest.general(RSP) + 8).is_some_and(|cs| cs & 3 == 0);
        if class as usize == Class::FarReturn as usize && plugin.guest.as_ref().is_some_and(kernel)
        {
            return;
        }
        let executed = plugin.executed() + 1;
        if let Some(latency) = plugin.counter.latency() {
            latency.leave(executed);
        }
        plugin.publish();
    });
}

/// Interrupts are open from here on, or waited for.
extern "C" fn opens(_: c_uint, class: *mut c_void) {
    with(|plugin| {
        let executed = plugin.executed() + 1;
        if let Some(latency) = plugin.counter.latency() {
            latency.look(class as usize == Class::Halt as usize, executed);
        }
    });
}
