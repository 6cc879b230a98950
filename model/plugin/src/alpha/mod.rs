// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports to [`model_core::alpha::Counter`] what qemu-system-alpha executes: how long the kernel
//! does not check for interrupts, from the machine's start on.
//!
//! Interrupts are disabled in this kernel. It reads a register of the board to check for them, and
//! a stretch ends there. QEMU gives no registers of this processor: two accesses give the name of a
//! case, and the saving of a register the tag of a system call.

use crate::arguments::Arguments;
use crate::latency::{self, left};
use crate::plugin::{Followed, machine_ends, with_guest as with};
use crate::registers::{LONGEST_NAME, Reader};
use crate::scoreboard::{Single, Words};
use crate::translation::{
    Block, Instruction, Told, accesses, always, block_address, conditional, counts, instructions,
    register,
};
use model_core::alpha::{
    self, Alpha, Counter, SAVES_TAG, SYSTEM_CALLS, Setup, is_case, is_entry, is_user, may_look,
    returns, word,
};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS as NONE;
use std::convert::Infallible;
use std::ffi::{c_uint, c_void};
use std::mem::offset_of;

type Plugin = crate::plugin::Plugin<Alpha>;

/// What the callbacks know of the processor.
#[derive(Default)]
pub struct Own {
    /// Whether the last entry was a system call, and its tag is not known yet.
    asks: bool,
    /// Whether PALcode has gone on with other code, and none of the kernel's came after it.
    returned: bool,
    /// Where the name of a case begins.
    name: u32,
}

impl Followed for Alpha {
    type Guest = Reader;
    type Own = Own;

    fn place() -> &'static Single<Plugin> {
        static PLACE: Single<Plugin> = Single::new();
        &PLACE
    }
}

/// Installs what is for Alpha.
pub fn install(id: qemu::qemu_plugin_id_t, mut arguments: Arguments) -> Result<(), String> {
    arguments.check_look()?;
    arguments.check_latency_only()?;
    let none = |_: &_| -> Infallible { unreachable!("nothing is to be modelled") };
    let setup: Setup = arguments.setup(none, |_| unreachable!(), |_| alpha::latency());
    register(id, processor_starts, translate, machine_ends::<Alpha>);
    Plugin::install(Counter::new(setup), arguments, Own::default());
    Ok(())
}

extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    crate::plugin::with(|plugin: &mut Plugin| {
        plugin.board.start(index);
        plugin.guest = Some(Reader::new());
        plugin.publish();
    });
}

/// A block is translated.
extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: Block) {
    with(|plugin: &mut Plugin, _| instrument(plugin, tb));
}

/// Puts callbacks and counting into a block that is being translated.
fn instrument(plugin: &mut Plugin, tb: Block) {
    let (instructions, user) = (instructions(tb), is_user(block_address(tb)));
    if let Some(first) = instructions.first() {
        follow(plugin, first, user);
    }
    let mut names = 0;
    for instruction in &instructions {
        let word = word(&instruction.bytes).unwrap_or_default();
        if user && is_case(word) {
            names = NAMES;
            continue;
        }
        if names > 0 {
            names -= 1;
            accesses(instruction.handle, named, names);
        }
        if !user {
            follow_one(instruction, word);
        }
        counts(instruction.handle, plugin.board.word(offset_of!(Words, executed)));
    }
}

/// Accesses that tell where a name is, each of the next instruction after the marker.
const NAMES: usize = 2;

/// Reports a block.
fn follow(plugin: &mut Plugin, first: &Instruction, user: bool) {
    let inside = plugin.board.word(offset_of!(Words, inside));
    let Some(latency) = plugin.counter.latency() else { return };
    if user {
        conditional(first.handle, left::<Alpha>, NONE, inside, 0);
        return;
    }
    let block = latency.intern(first.address);
    if is_entry(first.address) {
        let asks = usize::from(first.address == SYSTEM_CALLS);
        always(first.handle, entered, NONE, block << 1 | asks);
    }
    always(first.handle, went_on, NONE, block);
}

/// Reports an instruction of the kernel, if it says something about interrupts or about the entry.
fn follow_one(instruction: &Instruction, word: u32) {
    let (mask, saves_tag) = SAVES_TAG;
    if returns(word) {
        always(instruction.handle, goes_on, NONE, 0);
    } else if may_look(word) {
        accesses(instruction.handle, looked, 0);
    } else if word & mask == saves_tag {
        accesses(instruction.handle, tag_saved, 0);
    }
}

/// PALcode is entered: by a user, which may have executed nothing since the kernel was left; or by
/// the kernel, by a `CALL_PAL` that users have, too.
extern "C" fn entered(_: c_uint, data: *mut c_void) {
    with(|plugin: &mut Plugin, _| {
        let (block, asks) = (data as usize >> 1, data as usize & 1 != 0);
        let executed = plugin.executed();
        let returned = std::mem::take(&mut plugin.own.returned);
        if let Some(latency) = plugin.counter.latency() {
            if !latency.is_entry() && !returned {
                return;
            }
            if !latency.is_entry() {
                latency.leave(executed);
            }
            latency.enter(block, 0, executed);
        }
        plugin.own.asks = asks;
        plugin.publish();
    });
}

/// A block of the kernel begins.
extern "C" fn went_on(processor: c_uint, block: *mut c_void) {
    with(|plugin: &mut Plugin, _| plugin.own.returned = false);
    latency::went_on::<Alpha>(processor, block);
}

/// PALcode is about to go on with other code.
extern "C" fn goes_on(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin, _| plugin.own.returned = true);
}

/// The kernel has read a quadword: of the register that tells of interrupts, it may be.
extern "C" fn looked(_: c_uint, info: qemu::qemu_plugin_meminfo_t, address: u64, _: *mut c_void) {
    with(|plugin: &mut Plugin, _| {
        if plugin.arguments.look.is_none()
            || plugin.arguments.look != Told::new(info, address).device()
        {
            return;
        }
        let executed = plugin.executed();
        if let Some(latency) = plugin.counter.latency() {
            latency.look(false, executed);
        }
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

/// User mode shows where the name of a case begins, and then where it ends.
extern "C" fn named(_: c_uint, _: qemu::qemu_plugin_meminfo_t, address: u64, left: *mut c_void) {
    with(|plugin: &mut Plugin, reader| {
        if left as usize > 0 {
            plugin.own.name = address as u32;
            return;
        }
        let first = plugin.own.name;
        let bytes = ((address as u32).wrapping_sub(first) as usize + 1).min(LONGEST_NAME);
        let name = reader.memory(first, bytes, |bytes| String::from_utf8_lossy(bytes).into_owned());
        if let Some(latency) = plugin.counter.latency() {
            latency.name(name.unwrap_or_default());
        }
    });
}
