// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports the kernel's blocks to [`model_core::Latency`], from the machine's start on: what IA-32
//! and x86-64 have in common. It uses the lower halves of addresses.

use crate::latency::went_on;
use crate::plugin::{Followed, Plugin, with};
use crate::scoreboard::Words;
use crate::translation::{Instruction, always, conditional};
use qemu_plugin_sys::qemu_plugin_cb_flags as flags;
use std::ffi::{c_uint, c_void};
use std::mem::offset_of;

/// An instruction that ends a stretch, or may do so.
pub enum Turn {
    /// A return by a frame on the stack, which says to whom.
    ByFrame,
    /// A return to user mode.
    ToUser,
    /// Interrupts are open after it.
    Opens,
    /// It waits for an interrupt.
    Waits,
}

/// A processor with rings.
pub trait Rings: Followed {
    /// What an instruction is, if it is one of these.
    fn turn(instruction: &[u8]) -> Option<Turn>;

    /// The tag of a system call by which the kernel was just entered.
    fn tag(guest: &Self::Guest) -> u32;

    /// Whether the frame on the stack leads to ring 0.
    fn stays(guest: &Self::Guest) -> bool;
}

/// Reports a block of the kernel to the part that measures how long the kernel does not check for
/// interrupts.
pub fn follow<P: Rings>(plugin: &mut Plugin<P>, instructions: &[Instruction]) {
    let entering = plugin.word(offset_of!(Words, entering));
    let (Some(latency), Some(first)) = (plugin.counter.latency(), instructions.first()) else {
        return;
    };
    // The firmware and what boots the kernel lie below. Nobody runs the kernel's code at two
    // addresses.
    if first.address < plugin.arguments.window.start {
        return;
    }
    let block = latency.intern(first.address);
    conditional(first.handle, entered::<P>, flags::QEMU_PLUGIN_CB_R_REGS, entering, block);
    always(first.handle, went_on::<P>, flags::QEMU_PLUGIN_CB_NO_REGS, block);
    for Instruction { handle, bytes, .. } in instructions {
        let (callback, registers): (extern "C" fn(c_uint, *mut c_void), _) = match P::turn(bytes) {
            Some(Turn::ByFrame) => (returns_by_frame::<P>, flags::QEMU_PLUGIN_CB_R_REGS),
            Some(Turn::ToUser) => (returns::<P>, flags::QEMU_PLUGIN_CB_NO_REGS),
            Some(Turn::Opens) => (opens::<P>, flags::QEMU_PLUGIN_CB_NO_REGS),
            Some(Turn::Waits) => (waits::<P>, flags::QEMU_PLUGIN_CB_NO_REGS),
            None => continue,
        };
        always(*handle, callback, registers, 0);
    }
}

/// The kernel is entered at a block.
extern "C" fn entered<P: Rings>(_: c_uint, block: *mut c_void) {
    with(|plugin: &mut Plugin<P>| {
        let tag = plugin.guest.as_ref().map_or(0, P::tag);
        let executed = plugin.executed();
        if let Some(latency) = plugin.counter.latency() {
            latency.enter(block as usize, tag, executed);
        }
        plugin.publish();
    });
}

/// User mode is next.
fn leave<P: Rings>(plugin: &mut Plugin<P>) {
    let executed = plugin.executed() + 1;
    if let Some(latency) = plugin.counter.latency() {
        latency.leave(executed);
    }
    plugin.publish();
}

extern "C" fn returns<P: Rings>(_: c_uint, _: *mut c_void) {
    with(leave::<P>);
}

extern "C" fn returns_by_frame<P: Rings>(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin<P>| {
        if !plugin.guest.as_ref().is_some_and(P::stays) {
            leave(plugin);
        }
    });
}

/// Interrupts are open after this instruction, and waited for or not.
fn look<P: Rings>(is_wait: bool) {
    with(|plugin: &mut Plugin<P>| {
        let executed = plugin.executed() + 1;
        if let Some(latency) = plugin.counter.latency() {
            latency.look(is_wait, executed);
        }
    });
}

extern "C" fn opens<P: Rings>(_: c_uint, _: *mut c_void) {
    look::<P>(false);
}

extern "C" fn waits<P: Rings>(_: c_uint, _: *mut c_void) {
    look::<P>(true);
}
