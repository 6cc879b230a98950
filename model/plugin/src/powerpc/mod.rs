// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports to [`model_core::powerpc::Counter`] what qemu-system-ppc executes.
//!
//! It works as for IA-32 (see the crate's head), with these differences. A block belongs to one
//! address, which is known when it is translated; QEMU does not give the program counter when the
//! block begins. QEMU does not give segment registers either; so, if tables will be walked, the
//! plugin follows them, and what the kernel writes, from power-on.

mod guest;
mod latency;
mod plugin;

use crate::arguments::Arguments;
use crate::plugin::{machine_ends, start, with_guest as with};
use crate::scoreboard::Words;
use crate::translation::{
    Block, Instruction, Told, accesses, always, block_if, conditional, counts, instructions,
    register,
};
use guest::Guest;
use model_core::powerpc::{
    self, Checker, Class, Counted, Counter, Machine, Operation, PowerPc, Setup, VECTOR_NAMES,
    marker, registers, special as numbers, word,
};
use model_core::{Chunk, Marker, PerLine, Privilege};
use plugin::Plugin;
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use std::ffi::{c_uint, c_void};

/// The function of the kernel whose events are counted apart, too: it invalidates translations of a
/// range of a space (`kernel/arch/powerpc/src/space.rs`).
const APART: &str = "::space::Spaces>::invalidate";

/// Installs what is for PowerPC.
///
/// # Errors
/// Linux alone is not checked.
pub fn install(id: qemu::qemu_plugin_id_t, mut arguments: Arguments) -> Result<(), String> {
    if arguments.check && alone(&arguments) != 0 {
        return Err("the checker knows this project's kernel only".into());
    }
    arguments.symbols.add(VECTOR_NAMES);
    let (function, apart) = (arguments.vsid, arguments.symbols.ending(APART));
    let setup: Setup = arguments.setup(
        |cpu| Machine::new(&cpu.geometry),
        |_| Checker::new(function),
        |_| powerpc::latency(),
    );
    let setup = Setup { apart, ..setup };
    register(id, processor_starts, translate, machine_ends::<PowerPc>);
    Plugin::install(Counter::new(setup), arguments, ());
    Ok(())
}

/// Bytes of memory of Linux alone; 0 if the window is this kernel's.
fn alone(arguments: &Arguments) -> u32 {
    let window = &arguments.window;
    if window.start == powerpc::LINUX { window.end - window.start } else { 0 }
}

extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    start::<PowerPc>(index, |arguments| Guest::find(alone(arguments)));
}

/// A block is translated. Who executes it follows from the mode that the processor is in: QEMU
/// keeps blocks of different modes apart.
extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: Block) {
    with(|plugin: &mut Plugin, guest| instrument(plugin, tb, guest.privilege()));
}

/// Puts callbacks and counting into a block that is being translated.
fn instrument(plugin: &mut Plugin, tb: Block, privilege: Privilege) {
    let instructions = instructions(tb);
    let has_markers = instructions.iter().any(|instruction| marker(&instruction.bytes).is_some());
    if let Some(first) = instructions.first() {
        latency::follow(plugin, first, privilege);
    }
    let (mut start, mut offset, mut at_start) = (0, 0, true);
    for (index, instruction) in instructions.iter().enumerate() {
        let length = instruction.bytes.len() as u16;
        if let Some(marker) = marker(&instruction.bytes) {
            let data = marker.pack() as usize | usize::from(privilege == Privilege::Kernel) << 32;
            always(instruction.handle, marked, flags::QEMU_PLUGIN_CB_R_REGS, data);
            (offset, at_start) = (offset + length, true);
            continue;
        }
        if at_start {
            let rest =
                instructions[index..].iter().take_while(|rest| marker(&rest.bytes).is_none());
            let lengths: Vec<u8> = rest.map(|rest| rest.bytes.len() as u8).collect();
            let chunk =
                plugin.chunks.intern(Chunk::new(privilege, &lengths, PerLine::default()), offset);
            begin(
                plugin,
                tb,
                instruction,
                has_markers,
                chunk | (instruction.address as usize) << 32,
            );
            (start, at_start) = (offset, false);
        }
        follow(plugin, instruction, offset - start, privilege);
        offset += length;
    }
}

/// Reports the beginning of a chunk, which is the whole block if it has no markers.
fn begin(plugin: &Plugin, tb: Block, first: &Instruction, has_markers: bool, chunk: usize) {
    let armed = plugin.board.word(std::mem::offset_of!(Words, armed));
    if has_markers {
        conditional(first.handle, chunk_begins, flags::QEMU_PLUGIN_CB_R_REGS, armed, chunk);
    } else {
        block_if(tb, chunk_begins, (cond::QEMU_PLUGIN_COND_NE, armed, 0), chunk);
    }
}

/// Has an instruction counted, and told what it does: it is `offset` bytes from its chunk's
/// beginning.
fn follow(plugin: &mut Plugin, instruction: &Instruction, offset: u16, privilege: Privilege) {
    let Instruction { handle, bytes, .. } = instruction;
    let (class, kernel) = (Class::decode(bytes), privilege == Privilege::Kernel);
    let data = word(bytes).unwrap_or(0) as usize | usize::from(offset) << 32;
    match class {
        Class::Plain => {}
        // Before anything is counted, too: nobody tells later what a register has.
        Class::System(Operation::WriteSegment(_)) if kernel => {
            always(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, data)
        }
        Class::System(Operation::WriteSpecial(numbers::BATS..numbers::BATS_END)) if kernel => {
            always(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, data)
        }
        Class::Look | Class::System(Operation::WriteState) if kernel => {
            if plugin.counter.latency().is_some() {
                always(*handle, looks, flags::QEMU_PLUGIN_CB_R_REGS, data);
            }
        }
        _ => {
            let armed = plugin.board.word(std::mem::offset_of!(Words, armed));
            conditional(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, armed, data);
        }
    }
    // The emulator reads a byte of a line that is written back or dropped; no processor does.
    let is_read = !kernel || !matches!(class, Class::System(Operation::FlushLine));
    if is_read && (kernel || plugin.counter.wants_tables()) {
        accesses(*handle, accessed, usize::from(offset) | usize::from(kernel) << 16);
    }
    counts(*handle, plugin.board.word(std::mem::offset_of!(Words, executed)));
}

/// A chunk begins, which is the whole block or a part of one with markers: its index, and its
/// address in the upper half.
extern "C" fn chunk_begins(_: c_uint, data: *mut c_void) {
    let (index, address) = (data as usize as u32 as usize, (data as usize >> 32) as u32);
    with(|plugin: &mut Plugin, guest| {
        let executed = plugin.executed();
        plugin.counter.chunk(&plugin.chunks.all[index].0, address, executed, guest);
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

/// An instruction is about to be executed.
extern "C" fn special(_: c_uint, data: *mut c_void) {
    let (word, offset) = (data as usize as u32, (data as usize >> 32) as u16);
    with(|plugin: &mut Plugin, guest| {
        let (value, first, second) = registers(word);
        let address =
            first.map_or(0, |first| guest.general(first)).wrapping_add(guest.general(second));
        let counted =
            Counted { class: Class::of(word), offset, address, value: guest.general(value) };
        plugin.counter.special(counted, guest);
    });
}

/// The kernel looks at the decrementer, or writes the machine state.
extern "C" fn looks(_: c_uint, data: *mut c_void) {
    let word = data as usize as u32;
    with(|plugin: &mut Plugin, guest| {
        let state = (Class::of(word) != Class::Look).then(|| guest.general(registers(word).0));
        latency::looks(plugin, state);
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
        let armed = plugin.counter.is_armed();
        let told = Told::new(info, address);
        let (bytes, write) = told.bytes();
        if write && kernel && plugin.counter.wants_tables() && told.physical().is_some() {
            guest.stored(address as u32, bytes);
        }
        if armed {
            plugin.counter.access(offset, address as u32, bytes, write, guest);
        }
    });
}
