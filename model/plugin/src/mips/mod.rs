// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports to [`model_core::mips::Counter`] what qemu-system-mips64 executes.
//!
//! It works as for IA-32 (see the crate's head), with these differences. QEMU gives no registers of
//! this processor; so, if tables will be walked, the plugin follows the kernel's instructions, and
//! what the kernel reads and writes, from power-on. A block belongs to one address, which says
//! whose code it is. Two accesses give the name of a case.

mod guest;
mod latency;
mod plugin;

use crate::arguments::Arguments;
use crate::plugin::{Followed, machine_ends, start, with_guest as with};
use crate::scoreboard::Words;
use crate::translation::{
    Block, Instruction, Told, accesses, always, block_address, block_if, conditional, counts,
    instructions, register,
};
use guest::Guest;
use model_core::mips::{
    self, Accessed, CALL, Checker, Counter, Machine, Mips, Setup, VECTOR_NAMES, is_user, marker,
    word,
};
use model_core::{Chunk, Marker, PerLine, Privilege};
use plugin::{Own, Place, Plugin};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use std::ffi::{c_uint, c_void};

/// Bits of an instruction that say that it is `syscall`.
const CALL_MASK: u32 = 0xfc00_003f;
/// Functions of the kernel between which Cause says why it is entered.
const ENTRY: [&str; 2] = ["save_all", "leave_kernel"];

/// Installs what is for MIPS.
pub fn install(id: qemu::qemu_plugin_id_t, mut arguments: Arguments) -> Result<(), String> {
    arguments.symbols.add(VECTOR_NAMES);
    let [from, to] = ENTRY.map(|name| arguments.symbols.address(name).unwrap_or_default());
    let setup: Setup = arguments.setup(
        |cpu| Machine::new(&cpu.geometry),
        |_| Checker::default(),
        |_| mips::latency(),
    );
    register(id, processor_starts, translate, machine_ends::<Mips>);
    Plugin::install(Counter::new(setup), arguments, Own::new(from..to));
    Ok(())
}

extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    start::<Mips>(index, |_| Some(Guest::new()));
}

/// A block is translated.
extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: Block) {
    with(|plugin: &mut Plugin, _| instrument(plugin, tb));
}

/// Puts callbacks and counting into a block that is being translated.
fn instrument(plugin: &mut Plugin, tb: Block) {
    let (base, instructions) = (block_address(tb), instructions(tb));
    let privilege = if is_user(base) { Privilege::User } else { Privilege::Kernel };
    let has_markers = instructions.iter().any(|instruction| marker(&instruction.bytes).is_some());
    if let Some(first) = instructions.first() {
        latency::follow(plugin, first, privilege);
    }
    let (mut start, mut offset, mut at_start, mut names) = (0, 0, true, 0);
    for (index, instruction) in instructions.iter().enumerate() {
        let length = instruction.bytes.len() as u16;
        if let Some(marker) = marker(&instruction.bytes) {
            let data = marker.pack() as usize | usize::from(privilege == Privilege::Kernel) << 32;
            always(instruction.handle, marked, flags::QEMU_PLUGIN_CB_NO_REGS, data);
            names = if marker == Marker::Case { NAMES } else { 0 };
            (offset, at_start) = (offset + length, true);
            continue;
        }
        if at_start {
            let rest =
                instructions[index..].iter().take_while(|rest| marker(&rest.bytes).is_none());
            let words: Vec<u32> = rest.filter_map(|rest| word(&rest.bytes)).collect();
            let chunk = Chunk::new(privilege, &vec![4; words.len()], PerLine::default());
            let chunk = plugin.chunks.intern(chunk, offset);
            let code = (privilege == Privilege::Kernel).then(|| words.into());
            let address = base.wrapping_add(offset.into());
            let place = plugin.own.place(Place { chunk, address, code });
            begin(plugin, tb, instruction, has_markers, place);
            (start, at_start) = (offset, false);
        }
        if names > 0 && word(&instruction.bytes).is_some_and(mips::case) {
            names -= 1;
            accesses(instruction.handle, named, names);
        }
        follow(plugin, instruction, offset - start, privilege);
        offset += length;
    }
}

/// Accesses that tell where a name is.
const NAMES: usize = 2;

/// Reports the beginning of a chunk, which is the whole block if it has no markers.
fn begin(plugin: &Plugin, tb: Block, first: &Instruction, has_markers: bool, place: usize) {
    let armed = plugin.board.word(std::mem::offset_of!(Words, armed));
    if has_markers {
        conditional(first.handle, chunk_begins, flags::QEMU_PLUGIN_CB_NO_REGS, armed, place);
    } else {
        block_if(tb, chunk_begins, (cond::QEMU_PLUGIN_COND_NE, armed, 0), place);
    }
}

/// Has an instruction counted, and told what it does: it is `offset` bytes from its chunk's
/// beginning.
fn follow(plugin: &mut Plugin, instruction: &Instruction, offset: u16, privilege: Privilege) {
    let (handle, kernel) = (instruction.handle, privilege == Privilege::Kernel);
    let word = word(&instruction.bytes).unwrap_or_default();
    if kernel {
        latency::follow_one(plugin, instruction, word);
    } else if word & CALL_MASK == CALL {
        always(handle, calls, flags::QEMU_PLUGIN_CB_NO_REGS, 0);
    }
    if kernel || plugin.counter.wants_tables() {
        accesses(handle, accessed, usize::from(offset) | usize::from(kernel) << 16);
    }
    counts(handle, plugin.board.word(std::mem::offset_of!(Words, executed)));
}

/// A chunk begins, which is the whole block or a part of one with markers.
extern "C" fn chunk_begins(_: c_uint, place: *mut c_void) {
    with(|plugin: &mut Plugin, guest| {
        let executed = plugin.executed();
        let Place { chunk, address, code } = &plugin.own.places[place as usize];
        plugin.counter.begins_at(*address, code.as_ref());
        if plugin.counter.is_armed() {
            let chunk = &plugin.chunks.all[*chunk].0;
            plugin.counter.chunk(chunk, *address as u32, executed, guest);
        }
    });
}

extern "C" fn marked(_: c_uint, data: *mut c_void) {
    let data = data as usize;
    let privilege = if data >> 32 == 0 { Privilege::User } else { Privilege::Kernel };
    with(|plugin: &mut Plugin, guest| {
        let executed = plugin.executed();
        plugin.counter.mark(Marker::unpack(data as u32), privilege, executed, guest);
        plugin.publish();
    });
}

/// User mode is about to execute `syscall`.
extern "C" fn calls(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin, _| {
        plugin.counter.system_call();
        plugin.own.called = true;
    });
}

/// User mode shows where the name of a case begins, and then where it ends.
extern "C" fn named(_: c_uint, _: qemu::qemu_plugin_meminfo_t, address: u64, left: *mut c_void) {
    with(|plugin: &mut Plugin, guest| {
        if left as usize > 0 {
            plugin.own.name = address as u32;
        } else {
            latency::name(plugin, guest, plugin.own.name, address as u32);
        }
    });
}

extern "C" fn accessed(
    _: c_uint,
    info: qemu::qemu_plugin_meminfo_t,
    address: u64,
    data: *mut c_void,
) {
    let data = data as usize;
    let (offset, kernel) = (data as u16, data >> 16 & 1 != 0);
    with(|plugin: &mut Plugin, guest| {
        if !Mips::is_active(&plugin.counter) {
            return;
        }
        let told = Told::new(info, address);
        let ((bytes, write), value) = (told.bytes(), told.value());
        if write && kernel {
            guest.stored(address, bytes, value);
        }
        let checks = !kernel && plugin.arguments.check;
        let physical = if checks { told.physical() } else { None };
        let accessed = Accessed { offset, address, bytes, write, value, physical };
        plugin.counter.access(accessed, guest);
    });
}
