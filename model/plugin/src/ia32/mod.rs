// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports to [`model_core::ia32::Counter`] what qemu-system-i386 executes, or takes samples of it.
//!
//! A block's callback reads EIP, because QEMU uses one block for all addresses at which its page is
//! mapped. It does not do so for different code segments: the segment's base is known when the
//! block is translated.

mod guest;
mod plugin;
mod registers;
mod sampler;

use crate::arguments::Arguments;
use crate::plugin::{Followed, start, with};
use crate::registers::LONGEST_NAME;
use crate::rings;
use crate::scoreboard::Words;
use crate::translation::{
    Block, Instruction, Told, accesses, always, block_adds, block_always, block_if, conditional,
    counts, instructions, register,
};
use guest::Guest;
use model_core::ia32::{self, Checker, Class, Counter, Ia32, Machine, World, marker};
use model_core::{Chunk, Marker, Privilege};
use plugin::{EAX, ECX, Own, Plugin, set_sampling, take_due};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use registers::Registers;
use sampler::Sampler;
use std::ffi::{c_uint, c_void};

/// Installs what is for IA-32.
pub fn install(id: qemu::qemu_plugin_id_t, mut arguments: Arguments) -> Result<(), String> {
    register(id, processor_starts, translate, machine_ends);
    let setup =
        arguments.setup(|cpu| Machine::new(&cpu.geometry), |_| Checker::default(), ia32::latency);
    let sampler = (arguments.sampling.every > 0)
        .then(|| Sampler::new(std::mem::take(&mut arguments.sampling)));
    let own = Own { sampler, block: 0, invlpg: Vec::new() };
    Plugin::install(Counter::new(setup), arguments, own);
    Ok(())
}

extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    start::<Ia32>(index, |arguments| {
        Some(Guest::new(Registers::find()?, arguments.window.clone()))
    });
    with(|plugin: &mut Plugin| set_sampling(plugin, 0));
}

/// A block is translated: what its instructions are is known here, who executes
/// it follows from the mode that the processor is in (QEMU keeps blocks of
/// different modes apart).
extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: Block) {
    with(
        |plugin: &mut Plugin| {
            if plugin.own.sampler.is_some() { watch(plugin, tb) } else { instrument(plugin, tb) }
        },
    );
}

/// Has the instructions of a block counted, and where sampling begins and ends told.
fn watch(plugin: &mut Plugin, tb: Block) {
    let (Some(sampler), Some(guest)) = (&plugin.own.sampler, &plugin.guest) else { return };
    let instructions = instructions(tb);
    let segment = code_segment(guest, &instructions);
    let until = plugin.word(std::mem::offset_of!(Words, until));
    let registers = flags::QEMU_PLUGIN_CB_R_REGS;
    let count = instructions.len();
    // QEMU carries out what is registered first first.
    block_adds(tb, until, count as u64);
    block_if(tb, enough, (cond::QEMU_PLUGIN_COND_LT, until, sampler::SMALL), segment as usize);
    for (index, Instruction { handle, address, bytes }) in instructions.into_iter().enumerate() {
        let bound = sampler
            .sampling
            .bounds
            .as_ref()
            .is_some_and(|bounds| [bounds.start, bounds.end].contains(&address));
        let told = match marker(&bytes) {
            Some(marker) => {
                Some((sample_marked as extern "C" fn(c_uint, *mut c_void), marker.pack()))
            }
            None if bound => Some((crossed as _, address)),
            None => (Class::decode(&bytes) == Class::WriteCr3).then_some((root_changes as _, 0)),
        };
        if let Some((callback, data)) = told {
            always(handle, callback, registers, data as usize | (count - index - 1) << 32);
        }
    }
}

/// A block begins with which enough instructions were executed for a sample. `segment` is where the
/// code segment begins.
extern "C" fn enough(_: c_uint, segment: *mut c_void) {
    with(|plugin: &mut Plugin| {
        let every = plugin.own.sampler.as_ref().map_or(1, |sampler| sampler.sampling.every);
        let due = take_due(plugin, every);
        if let (Some(sampler), Some(guest)) = (&mut plugin.own.sampler, &mut plugin.guest) {
            sampler.sample(guest, due, segment as u32);
        }
    });
}

/// `data` has a marker, and above that how many instructions of the block come after it.
extern "C" fn sample_marked(_: c_uint, data: *mut c_void) {
    with(|plugin: &mut Plugin| {
        if let Some(sampler) = &mut plugin.own.sampler {
            sampler.mark(Marker::unpack(data as u32));
        }
        set_sampling(plugin, data as u64 >> 32);
    });
}

/// `data` has an address, and above that how many instructions of the block come after it.
extern "C" fn crossed(_: c_uint, data: *mut c_void) {
    with(|plugin: &mut Plugin| {
        if let (Some(sampler), Some(guest)) = (&mut plugin.own.sampler, &mut plugin.guest) {
            sampler.cross(guest, data as u32);
        }
        set_sampling(plugin, data as u64 >> 32);
    });
}

/// The linear address at which the code segment of these begins. QEMU translates what it is about
/// to execute, so EIP is that of the first.
fn code_segment(guest: &Guest, instructions: &[Instruction]) -> u32 {
    instructions.first().map_or(0, |first| first.address.wrapping_sub(guest.eip()))
}

/// Puts callbacks and counting into a block that is being translated.
fn instrument(plugin: &mut Plugin, tb: Block) {
    let Some(guest) = &plugin.guest else { return };
    let privilege = guest.privilege();
    let kernel = privilege == Privilege::Kernel;
    let instructions = instructions(tb);
    let segment = code_segment(guest, &instructions);
    let markers = instructions.iter().any(|instruction| marker(&instruction.bytes).is_some());
    let armed = plugin.word(std::mem::offset_of!(Words, armed));
    let executed = plugin.word(std::mem::offset_of!(Words, executed));
    if markers {
        // It may arm the counter in the middle, and must then know where it is.
        block_always(tb, block_begins, segment as usize);
    }
    if kernel {
        rings::follow(plugin, &instructions);
    }
    let (mut start, mut offset, mut at_start) = (0, 0, true);
    for (index, Instruction { handle, bytes, .. }) in instructions.iter().enumerate() {
        let length = bytes.len() as u16;
        if let Some(marker) = marker(bytes) {
            let data = marker.pack() as usize | usize::from(kernel) << 32;
            always(*handle, marked, flags::QEMU_PLUGIN_CB_R_REGS, data);
            offset += length;
            at_start = true;
            continue;
        }
        if at_start {
            let rest = instructions[index..]
                .iter()
                .map(|instruction| &instruction.bytes)
                .take_while(|bytes| marker(bytes).is_none());
            let lengths: Vec<u8> = rest.map(|bytes| bytes.len() as u8).collect();
            let chunk =
                Chunk { segment, ..Chunk::new(privilege, &lengths, plugin.arguments.per_line) };
            let chunk = plugin.chunks.intern(chunk, offset);
            if markers {
                conditional(*handle, chunk_begins, flags::QEMU_PLUGIN_CB_R_REGS, armed, chunk);
            } else {
                block_if(tb, block_of_one, (cond::QEMU_PLUGIN_COND_NE, armed, 0), chunk);
            }
            (start, at_start) = (offset, false);
        }
        let class = Class::decode(bytes);
        if class == Class::WriteCr3 {
            // Also before the counter is armed: the first tables have only the kernel.
            always(*handle, root_changes, flags::QEMU_PLUGIN_CB_R_REGS, 0);
        }
        if class != Class::Plain {
            let mut data = usize::from(offset - start) | (class as usize) << 16;
            if class == Class::Invlpg {
                data |= plugin.own.invlpg.len() << 24;
                plugin.own.invlpg.push(bytes.clone());
            }
            conditional(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, armed, data);
        }
        if kernel || plugin.counter.wants_user_accesses() {
            accesses(*handle, accessed, usize::from(offset - start));
        }
        counts(*handle, executed);
        offset += length;
    }
}

/// `segment` is where the code segment begins.
extern "C" fn block_begins(_: c_uint, segment: *mut c_void) {
    with(|plugin: &mut Plugin| {
        if let Some(guest) = &plugin.guest {
            plugin.own.block = guest.eip().wrapping_add(segment as u32);
        }
    });
}

/// A block that is one chunk begins.
extern "C" fn block_of_one(_: c_uint, index: *mut c_void) {
    with(|plugin: &mut Plugin| {
        let executed = plugin.executed();
        if let Some(guest) = &mut plugin.guest {
            let chunk = &plugin.chunks.all[index as usize].0;
            plugin.counter.chunk(chunk, guest.eip().wrapping_add(chunk.segment), executed, guest);
        }
    });
}

/// A chunk in a block with markers begins.
extern "C" fn chunk_begins(_: c_uint, index: *mut c_void) {
    with(|plugin: &mut Plugin| {
        let executed = plugin.executed();
        if let Some(guest) = &mut plugin.guest {
            let (chunk, offset) = &plugin.chunks.all[index as usize];
            plugin.counter.chunk(
                chunk,
                plugin.own.block.wrapping_add(u32::from(*offset)),
                executed,
                guest,
            );
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
                let mut name = Vec::new();
                guest.read_bytes(
                    guest.general(EAX),
                    (guest.general(ECX) as usize).min(LONGEST_NAME),
                    &mut name,
                );
                latency.name(String::from_utf8_lossy(&name).into_owned());
            }
            plugin.publish();
        }
    });
}

extern "C" fn root_changes(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin| {
        if let Some(guest) = &mut plugin.guest {
            let old = guest.root();
            guest.note_root(old);
        }
    });
}

extern "C" fn special(_: c_uint, data: *mut c_void) {
    let data = data as usize;
    let class = Class::ALL[data >> 16 & 0xff];
    with(|plugin: &mut Plugin| {
        let named = (class == Class::Invlpg).then(|| &plugin.own.invlpg[data >> 24]);
        let operand = named.zip(plugin.guest.as_ref()).and_then(|(bytes, guest)| {
            Class::invlpg_address(bytes, |number| guest.general(number))
        });
        plugin.counter.special(class, data as u16, operand.unwrap_or(0));
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
        let ((bytes, write), value) = (told.bytes(), || told.value() as u32);
        plugin.counter.access(offset as usize as u16, address as u32, bytes, write, value, guest);
    });
}

extern "C" fn machine_ends(_: qemu::qemu_plugin_id_t, _: *mut c_void) {
    let Some(plugin) = Ia32::place().take() else { return };
    let report = match &plugin.own.sampler {
        Some(sampler) => sampler.samples().to_json(),
        None => plugin.counter.report().to_json(),
    };
    plugin.arguments.write(report.map_err(std::io::Error::from));
}
