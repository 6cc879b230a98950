// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports to [`model_core::x86_64::Counter`] what qemu-system-x86_64 executes.
//!
//! It works as for IA-32, without segments: a block's callback reads RIP, because QEMU uses one
//! block for all addresses at which its page is mapped.

mod guest;
mod plugin;
mod registers;

use crate::arguments::Arguments;
use crate::plugin::{machine_ends, start, with};
use crate::registers::LONGEST_NAME;
use crate::rings;
use crate::scoreboard::Words;
use crate::translation::{
    Block, Instruction, Told, accesses, always, block_always, block_if, conditional, counts,
    instructions, register,
};
use guest::Guest;
use model_core::x86_64::{self, Checker, Class, Counter, Machine, X86_64, invlpg_address, marker};
use model_core::{Chunk, Marker, PerLine, Privilege};
use plugin::{Own, Plugin};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use registers::{RAX, RCX, Registers};
use std::ffi::{c_uint, c_void};

/// Installs what is for x86-64.
pub fn install(id: qemu::qemu_plugin_id_t, mut arguments: Arguments) -> Result<(), String> {
    register(id, processor_starts, translate, machine_ends::<X86_64>);
    let setup =
        arguments.setup(|cpu| Machine::new(&cpu.geometry), |_| Checker::default(), x86_64::latency);
    Plugin::install(Counter::new(setup), arguments, Own { block: 0, invlpg: Vec::new() });
    Ok(())
}

extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    start::<X86_64>(index, |arguments| Some(Guest::new(Registers::find()?, &arguments.window)));
}

/// A block is translated: what its instructions are is known here, who executes it follows from the
/// mode that the processor is in (QEMU keeps blocks of different modes apart).
extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: Block) {
    with(|plugin: &mut Plugin| {
        if let Some(privilege) = plugin.guest.as_ref().map(Guest::privilege) {
            instrument(plugin, tb, privilege);
        }
    });
}

/// Puts callbacks and counting into a block that is being translated.
fn instrument(plugin: &mut Plugin, tb: Block, privilege: Privilege) {
    let kernel = privilege == Privilege::Kernel;
    let instructions = instructions(tb);
    let has_markers = instructions.iter().any(|instruction| marker(&instruction.bytes).is_some());
    if has_markers {
        // It may arm the counter in the middle, and must then know where it is.
        block_always(tb, block_begins, 0);
    }
    if kernel {
        rings::follow(plugin, &instructions);
    }
    let (mut start, mut offset, mut at_start) = (0, 0, true);
    for (index, instruction) in instructions.iter().enumerate() {
        let length = instruction.bytes.len() as u16;
        if let Some(marker) = marker(&instruction.bytes) {
            let data = marker.pack() as usize | usize::from(kernel) << 32;
            always(instruction.handle, marked, flags::QEMU_PLUGIN_CB_R_REGS, data);
            (offset, at_start) = (offset + length, true);
            continue;
        }
        if at_start {
            let rest =
                instructions[index..].iter().take_while(|rest| marker(&rest.bytes).is_none());
            let lengths: Vec<u8> = rest.map(|rest| rest.bytes.len() as u8).collect();
            let chunk = Chunk::new(privilege, &lengths, PerLine::default());
            let chunk = plugin.chunks.intern(chunk, offset);
            begin(plugin, tb, instruction, has_markers, chunk);
            (start, at_start) = (offset, false);
        }
        follow(plugin, instruction, offset - start, kernel);
        offset += length;
    }
}

/// Reports the beginning of a chunk, which is the whole block if it has no markers.
fn begin(plugin: &Plugin, tb: Block, first: &Instruction, has_markers: bool, chunk: usize) {
    let armed = plugin.word(std::mem::offset_of!(Words, armed));
    if has_markers {
        conditional(first.handle, chunk_begins, flags::QEMU_PLUGIN_CB_R_REGS, armed, chunk);
    } else {
        block_if(tb, block_of_one, (cond::QEMU_PLUGIN_COND_NE, armed, 0), chunk);
    }
}

/// Has an instruction counted, and told what it does: it is `offset` bytes from its chunk's
/// beginning.
fn follow(plugin: &mut Plugin, instruction: &Instruction, offset: u16, kernel: bool) {
    let Instruction { handle, bytes, .. } = instruction;
    let class = Class::decode(bytes);
    if class == Class::WriteCr3 {
        // Also before the counter is armed: the first tables have only the kernel.
        always(*handle, root_changes, flags::QEMU_PLUGIN_CB_R_REGS, 0);
    }
    if class != Class::Plain {
        let mut data = usize::from(offset) | (class as usize) << 16;
        if class == Class::Invlpg {
            data |= plugin.own.invlpg.len() << 24;
            plugin.own.invlpg.push(bytes.clone());
        }
        let armed = plugin.word(std::mem::offset_of!(Words, armed));
        conditional(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, armed, data);
    }
    if kernel || plugin.counter.wants_tables() {
        accesses(*handle, accessed, usize::from(offset));
    }
    counts(*handle, plugin.word(std::mem::offset_of!(Words, executed)));
}

/// A block with markers begins.
extern "C" fn block_begins(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin| {
        if let Some(guest) = &plugin.guest {
            plugin.own.block = guest.rip();
        }
    });
}

/// A block that is one chunk begins.
extern "C" fn block_of_one(_: c_uint, index: *mut c_void) {
    with(|plugin: &mut Plugin| {
        let executed = plugin.executed();
        if let Some(guest) = &mut plugin.guest {
            let chunk = &plugin.chunks.all[index as usize].0;
            plugin.counter.chunk(chunk, guest.rip(), executed, guest);
        }
    });
}

/// A chunk in a block with markers begins.
extern "C" fn chunk_begins(_: c_uint, index: *mut c_void) {
    with(|plugin: &mut Plugin| {
        let executed = plugin.executed();
        if let Some(guest) = &mut plugin.guest {
            let (chunk, offset) = &plugin.chunks.all[index as usize];
            let address = plugin.own.block.wrapping_add(u64::from(*offset));
            plugin.counter.chunk(chunk, address, executed, guest);
        }
    });
}

extern "C" fn marked(_: c_uint, data: *mut c_void) {
    let data = data as usize;
    let privilege = if data >> 32 == 0 { Privilege::User } else { Privilege::Kernel };
    with(|plugin: &mut Plugin| {
        let executed = plugin.executed();
        if let Some(guest) = &mut plugin.guest {
            let marker = Marker::unpack(data as u32);
            plugin.counter.mark(marker, privilege, executed, guest);
            if let (Marker::Case, Some(latency)) = (marker, plugin.counter.latency()) {
                let count = (guest.general(RCX) as usize).min(LONGEST_NAME);
                latency.name(guest.text(guest.general(RAX), count));
            }
            plugin.publish();
        }
    });
}

extern "C" fn root_changes(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin| plugin.guest.iter_mut().for_each(Guest::note_root));
}

extern "C" fn special(_: c_uint, data: *mut c_void) {
    let data = data as usize;
    let (class, offset) = (Class::ALL[data >> 16 & 0xff], data as u16);
    with(|plugin: &mut Plugin| {
        let named = (class == Class::Invlpg).then(|| &plugin.own.invlpg[data >> 24]);
        let operand = named.zip(plugin.guest.as_ref()).and_then(|(bytes, guest)| {
            let address = plugin.counter.instruction(offset);
            invlpg_address(bytes, address, |number| guest.general(number))
        });
        plugin.counter.special(class, offset, operand.unwrap_or(0));
    });
}

extern "C" fn accessed(
    _: c_uint,
    info: qemu::qemu_plugin_meminfo_t,
    address: u64,
    offset: *mut c_void,
) {
    with(|plugin: &mut Plugin| {
        let Some(guest) = plugin.guest.as_mut().filter(|_| plugin.counter.is_armed()) else {
            return;
        };
        let told = Told::new(info, address);
        let ((bytes, write), value) = (told.bytes(), || told.value());
        plugin.counter.access(offset as usize as u16, address, bytes, write, value, guest);
    });
}
