// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports to [`model_core::armv5::Counter`] what qemu-system-arm executes.
//!
//! It works as for IA-32 (see the crate's head), with these differences. Callbacks of instructions
//! come whether or not the instruction's condition holds, so the condition is evaluated here.
//! Addresses of code and of accesses are those before relocation by the process identifier. If
//! tables will be walked, the plugin follows what the kernel writes from power-on.

mod guest;
mod latency;
mod plugin;

use crate::arguments::Arguments;
use crate::plugin::{machine_ends, start, with_guest as with};
use crate::scoreboard::Words;
use crate::translation::{
    Block, Instruction, Told, accesses, always, block_always, block_if, conditional, counts,
    instructions, register,
};
use guest::Guest;
use model_core::armv5::{
    self, Armv5, Checker, Class, Counter, Machine, Operation, Setup, VECTOR_NAMES, condition,
    marker,
};
use model_core::{Chunk, Cpu, Marker, PerLine, Privilege};
use plugin::{Own, Plugin};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use std::ffi::{c_uint, c_void};

/// Installs what is for ARM.
pub fn install(id: qemu::qemu_plugin_id_t, mut arguments: Arguments) -> Result<(), String> {
    let counter = Counter::new(setup(&mut arguments)?);
    register(id, processor_starts, translate, machine_ends::<Armv5>);
    Plugin::install(counter, arguments, Own { block: 0 });
    Ok(())
}

/// What the counter is to do.
///
/// # Errors
/// The latency needs to know what a look is.
fn setup(arguments: &mut Arguments) -> Result<Setup, String> {
    arguments.check_look()?;
    arguments.symbols.add(VECTOR_NAMES);
    // Without a CPU model: some processor makes a line for a write that misses.
    let allocates = |cpu: Option<&Cpu>| cpu.is_none_or(|cpu| cpu.geometry.l1d.write_allocate);
    Ok(arguments.setup(
        |cpu| Machine::new(&cpu.geometry),
        |cpu| Checker::new(allocates(cpu)),
        |_| armv5::latency(),
    ))
}

extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    start::<Armv5>(index, |_| Guest::find());
}

/// A block is translated. Who executes it, and whether it has Thumb instructions, follows from the
/// mode that the processor is in: QEMU keeps blocks of different modes apart.
extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: Block) {
    with(|plugin: &mut Plugin, guest| instrument(plugin, tb, guest.privilege(), guest.is_thumb()));
}

/// What the instruction is, in the state that its block has.
fn decode(bytes: &[u8], thumb: bool) -> (Class, Option<Marker>) {
    if thumb { (Class::Plain, None) } else { (Class::decode(bytes), marker(bytes)) }
}

/// Puts callbacks and counting into a block that is being translated.
fn instrument(plugin: &mut Plugin, tb: Block, privilege: Privilege, thumb: bool) {
    let instructions = instructions(tb);
    let has_markers =
        instructions.iter().any(|instruction| decode(&instruction.bytes, thumb).1.is_some());
    if has_markers {
        // It may arm the counter in the middle, and must then know where it is.
        block_always(tb, block_begins, 0);
    }
    if let Some(first) = instructions.first() {
        latency::follow(plugin, first, privilege);
    }
    let (mut start, mut offset, mut at_start) = (0, 0, true);
    for (index, instruction) in instructions.iter().enumerate() {
        let length = instruction.bytes.len() as u16;
        if let (_, Some(marker)) = decode(&instruction.bytes, thumb) {
            let data = marker.pack() as usize | usize::from(privilege == Privilege::Kernel) << 32;
            always(instruction.handle, marked, flags::QEMU_PLUGIN_CB_R_REGS, data);
            (offset, at_start) = (offset + length, true);
            continue;
        }
        if at_start {
            let rest = instructions[index..]
                .iter()
                .take_while(|rest| decode(&rest.bytes, thumb).1.is_none());
            let lengths: Vec<u8> = rest.map(|rest| rest.bytes.len() as u8).collect();
            let chunk =
                plugin.chunks.intern(Chunk::new(privilege, &lengths, PerLine::default()), offset);
            begin(plugin, tb, instruction, has_markers, chunk);
            (start, at_start) = (offset, false);
        }
        follow(plugin, instruction, decode(&instruction.bytes, thumb).0, offset - start, privilege);
        offset += length;
    }
}

/// Reports the beginning of a chunk, which is the whole block if it has no markers.
fn begin(plugin: &Plugin, tb: Block, first: &Instruction, has_markers: bool, chunk: usize) {
    let armed = plugin.board.word(std::mem::offset_of!(Words, armed));
    if has_markers {
        conditional(first.handle, chunk_begins, flags::QEMU_PLUGIN_CB_R_REGS, armed, chunk);
    } else {
        block_if(tb, block_of_one, (cond::QEMU_PLUGIN_COND_NE, armed, 0), chunk);
    }
}

/// Has an instruction counted, and told what it does: it is `offset` bytes from its chunk's
/// beginning.
fn follow(
    plugin: &Plugin,
    instruction: &Instruction,
    class: Class,
    offset: u16,
    privilege: Privilege,
) {
    let Instruction { handle, bytes, .. } = instruction;
    let executed = plugin.board.word(std::mem::offset_of!(Words, executed));
    if matches!(class, Class::Return | Class::System(_)) {
        let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | usize::from(*byte));
        let data = word | usize::from(offset) << 32;
        // A kernel locks entries when it starts, before anything is counted.
        if privilege == Privilege::Kernel && matches!(class, Class::System(Operation::LockEntry(_)))
        {
            always(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, data);
        } else {
            let armed = plugin.board.word(std::mem::offset_of!(Words, armed));
            conditional(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, armed, data);
        }
    }
    let kernel = privilege == Privilege::Kernel;
    if kernel || plugin.counter.wants_tables() {
        let data = usize::from(offset)
            | usize::from(class == Class::AsUser) << 16
            | usize::from(kernel) << 17;
        accesses(*handle, accessed, data);
    }
    counts(*handle, executed);
}

extern "C" fn block_begins(_: c_uint, _: *mut c_void) {
    with(|plugin: &mut Plugin, guest| plugin.own.block = guest.pc());
}

/// A block that is one chunk begins.
extern "C" fn block_of_one(_: c_uint, index: *mut c_void) {
    with(|plugin: &mut Plugin, guest| {
        let executed = plugin.executed();
        plugin.counter.chunk(&plugin.chunks.all[index as usize].0, guest.pc(), executed, guest);
    });
}

/// A chunk in a block with markers begins.
extern "C" fn chunk_begins(_: c_uint, index: *mut c_void) {
    with(|plugin: &mut Plugin, guest| {
        let executed = plugin.executed();
        let (chunk, offset) = &plugin.chunks.all[index as usize];
        plugin.counter.chunk(
            chunk,
            plugin.own.block.wrapping_add(u32::from(*offset)),
            executed,
            guest,
        );
    });
}

extern "C" fn marked(_: c_uint, data: *mut c_void) {
    let data = data as usize;
    let privilege = if data >> 32 == 0 { Privilege::User } else { Privilege::Kernel };
    with(|plugin: &mut Plugin, guest| {
        let executed = plugin.executed();
        let marker = Marker::unpack(data as u32);
        plugin.counter.mark(marker, privilege, executed, guest);
        if marker == Marker::Case {
            latency::name(plugin, guest);
        }
        plugin.publish();
    });
}

/// An instruction is about to be executed, if its condition holds.
extern "C" fn special(_: c_uint, data: *mut c_void) {
    let (word, offset) = (data as usize as u32, (data as usize >> 32) as u16);
    with(|plugin: &mut Plugin, guest| {
        if condition(word, guest.status()) {
            let value = guest.general(Operation::register(word));
            plugin.counter.special(Class::decode(&word.to_le_bytes()), offset, value);
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
    let (offset, as_user, kernel) = (data as u16, data >> 16 & 1 != 0, data >> 17 & 1 != 0);
    with(|plugin: &mut Plugin, guest| {
        let armed = plugin.counter.is_armed();
        let told = Told::new(info, address);
        latency::accessed(plugin, address as u32, told);
        let (bytes, write) = told.bytes();
        let mut request = None;
        if write && plugin.counter.wants_tables() && (armed || kernel) {
            if let Some(physical) = told.physical() {
                let reads = plugin.counter.reads(physical);
                guest.stored(
                    address as u32,
                    physical,
                    &told.value().to_le_bytes()[..bytes.min(8) as usize],
                    kernel || reads,
                );
                request = reads.then_some(physical);
            } else if let Some(register) = told.device() {
                plugin.counter.register_written(register as u32, bytes, told.value() as u32);
            }
        }
        if armed {
            if let Some(physical) = request {
                plugin.counter.memory_written(
                    offset,
                    physical,
                    (bytes, told.value() as u32),
                    guest,
                );
            }
            plugin.counter.access(offset, address as u32, bytes, write, as_user, guest);
        }
    });
}
