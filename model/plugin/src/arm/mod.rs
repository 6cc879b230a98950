// SPDX-License-Identifier: GPL-2.0-or-later
//! Tells [`model_core::arm::Counter`] what qemu-system-arm executes.
//!
//! As for IA-32 (the crate's head), with these differences: callbacks of instructions come whether or not their condition
//! holds, so it is evaluated; addresses of code and of accesses are those before the process identifier is put in; what the
//! kernel writes is followed from power-on if tables will be walked.

mod guest;

use crate::arguments::Arguments;
use crate::translation::{Instruction, always, conditional, instructions};
use guest::Guest;
use model_core::arm::{Class, Counter, Operation, condition, marker};
use model_core::{Chunk, Marker, Privilege};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_uint, c_void};

/// What the callbacks work on.
struct Plugin {
    counter: Counter,
    guest: Option<Guest>,
    /// Virtual address of the block in execution.
    block: u32,
    score: *mut qemu::qemu_plugin_scoreboard,
    words: *mut Words,
    /// Chunks of code, and where in its block each begins. Callbacks are given an index.
    chunks: Vec<(Chunk, u16)>,
    index: HashMap<(Chunk, u16), usize>,
    arguments: Arguments,
}

/// What QEMU's own code reads and writes for the processor.
#[repr(C)]
struct Words {
    /// Not 0 while the counter is armed; QEMU tests it before it calls.
    armed: u64,
    /// Instructions executed, without markers.
    executed: u64,
}

/// A place that only one thread at a time looks at.
struct Single(RefCell<Option<Plugin>>);

// SAFETY: QEMU runs one processor (`processor_starts` ends it otherwise). Installation comes before that
// processor's thread, all callbacks are on that thread, and the last one when it has stopped.
unsafe impl Sync for Single {}

static PLUGIN: Single = Single(RefCell::new(None));

/// What a callback does with the guest, until the machine's end. Callbacks do not nest.
fn with(act: impl FnOnce(&mut Plugin, &mut Guest)) {
    if let Some(plugin) = PLUGIN.0.borrow_mut().as_mut()
        && let Some(mut guest) = plugin.guest.take()
    {
        act(plugin, &mut guest);
        plugin.guest = Some(guest);
    }
}

impl Plugin {
    /// Instructions executed up to now.
    fn executed(&self) -> u64 {
        // SAFETY: the scoreboard's memory, which lives as long as the plugin; QEMU changes it on this thread.
        unsafe { (*self.words).executed }
    }

    /// Tells QEMU's code which callbacks are wanted.
    fn publish(&mut self) {
        // SAFETY: as in `executed`.
        unsafe { (*self.words).armed = u64::from(self.counter.is_armed()) };
    }

    /// A word of the scoreboard, for QEMU's code.
    fn word(&self, offset: usize) -> qemu::qemu_plugin_u64 {
        qemu::qemu_plugin_u64 { score: self.score, offset }
    }

    fn intern(&mut self, chunk: Chunk, offset: u16) -> usize {
        *self.index.entry((chunk, offset)).or_insert_with_key(|key| {
            self.chunks.push(key.clone());
            self.chunks.len() - 1
        })
    }
}

/// Installs what is for ARM.
pub fn install(id: qemu::qemu_plugin_id_t, mut arguments: Arguments) -> Result<(), String> {
    let counter = Counter::new(arguments.arm_setup()?);
    // SAFETY: functions of the interface, called while the plugin is installed; the callbacks
    // are functions, so they live as long as the plugin is loaded.
    let score = unsafe {
        qemu::qemu_plugin_register_vcpu_init_cb(id, Some(processor_starts));
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translate));
        qemu::qemu_plugin_register_atexit_cb(id, Some(machine_ends), std::ptr::null_mut());
        qemu::qemu_plugin_scoreboard_new(size_of::<Words>())
    };
    let (chunks, index) = (Vec::new(), HashMap::new());
    *PLUGIN.0.borrow_mut() = Some(Plugin { counter, guest: None, block: 0, score, words: std::ptr::null_mut(), chunks, index, arguments });
    Ok(())
}

extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    if index > 0 {
        eprintln!("model: only one processor is modelled; start QEMU with -smp 1");
        std::process::exit(1);
    }
    let mut place = PLUGIN.0.borrow_mut();
    let Some(plugin) = place.as_mut() else { return };
    // SAFETY: this is the processor's own initialisation callback.
    let Some(mut guest) = (unsafe { Guest::find() }) else {
        eprintln!("model: this QEMU does not tell a register that is needed");
        std::process::exit(1);
    };
    // SAFETY: as above; the processor's part of the scoreboard has just been made.
    plugin.words = unsafe { qemu::qemu_plugin_scoreboard_find(plugin.score, 0) }.cast();
    if plugin.arguments.check {
        plugin.counter.arm(0, &mut guest);
    }
    plugin.guest = Some(guest);
    plugin.publish();
}

/// A block is translated. Who executes it, and whether it has Thumb instructions, follows from the mode that the processor is
/// in: QEMU keeps blocks of different modes apart.
extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: *mut qemu::qemu_plugin_tb) {
    with(|plugin, guest| instrument(plugin, tb, guest.privilege(), guest.is_thumb()));
}

/// What the instruction is, in the state that its block has.
fn decode(bytes: &[u8], thumb: bool) -> (Class, Option<Marker>) {
    if thumb { (Class::Plain, None) } else { (Class::decode(bytes), marker(bytes)) }
}

/// Puts callbacks and counting into a block that is being translated.
fn instrument(plugin: &mut Plugin, tb: *mut qemu::qemu_plugin_tb, privilege: Privilege, thumb: bool) {
    let instructions = instructions(tb);
    let has_markers = instructions.iter().any(|instruction| decode(&instruction.bytes, thumb).1.is_some());
    if has_markers {
        // It may arm the counter in the middle, and must then know where it is.
        // SAFETY: `tb` is the block being translated.
        unsafe {
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(tb, Some(block_begins), flags::QEMU_PLUGIN_CB_R_REGS, std::ptr::null_mut());
        }
    }
    let (mut start, mut offset, mut at_start) = (0, 0, true);
    for (index, instruction) in instructions.iter().enumerate() {
        let length = instruction.bytes.len() as u16;
        if let (_, Some(marker)) = decode(&instruction.bytes, thumb) {
            let data = marker.immediate() as usize | usize::from(privilege == Privilege::Kernel) << 32;
            always(instruction.handle, marked, flags::QEMU_PLUGIN_CB_R_REGS, data);
            (offset, at_start) = (offset + length, true);
            continue;
        }
        if at_start {
            let rest = instructions[index..].iter().take_while(|rest| decode(&rest.bytes, thumb).1.is_none());
            let lengths: Vec<u8> = rest.map(|rest| rest.bytes.len() as u8).collect();
            let chunk = plugin.intern(Chunk::new(privilege, &lengths, usize::MAX), offset);
            begin(plugin, tb, instruction, has_markers, chunk);
            (start, at_start) = (offset, false);
        }
        follow(plugin, instruction, decode(&instruction.bytes, thumb).0, offset - start, privilege);
        offset += length;
    }
}

/// Has the beginning of a chunk told; that of the whole block if it has no markers.
fn begin(plugin: &Plugin, tb: *mut qemu::qemu_plugin_tb, first: &Instruction, has_markers: bool, chunk: usize) {
    let armed = plugin.word(std::mem::offset_of!(Words, armed));
    let (registers, ne) = (flags::QEMU_PLUGIN_CB_R_REGS, cond::QEMU_PLUGIN_COND_NE);
    if has_markers {
        return conditional(first.handle, chunk_begins, registers, armed, chunk);
    }
    // SAFETY: `tb` is the block being translated; the data is a number.
    unsafe {
        qemu::qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, Some(block_of_one), registers, ne, armed, 0, chunk as *mut c_void);
    }
}

/// Has an instruction counted, and told what it does: it is `offset` bytes from its chunk's beginning.
fn follow(plugin: &Plugin, instruction: &Instruction, class: Class, offset: u16, privilege: Privilege) {
    let Instruction { handle, bytes, .. } = instruction;
    let executed = plugin.word(std::mem::offset_of!(Words, executed));
    if matches!(class, Class::Return | Class::System(_)) {
        let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | usize::from(*byte));
        let armed = plugin.word(std::mem::offset_of!(Words, armed));
        conditional(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, armed, word | usize::from(offset) << 32);
    }
    let kernel = privilege == Privilege::Kernel;
    if kernel || plugin.counter.wants_tables() {
        let data = usize::from(offset) | usize::from(class == Class::AsUser) << 16 | usize::from(kernel) << 17;
        // SAFETY: the instruction is of the block being translated; the data is a number.
        unsafe {
            qemu::qemu_plugin_register_vcpu_mem_cb(
                *handle,
                Some(accessed),
                flags::QEMU_PLUGIN_CB_NO_REGS,
                qemu::qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW,
                data as *mut c_void,
            );
        }
    }
    let add = qemu::qemu_plugin_op::QEMU_PLUGIN_INLINE_ADD_U64;
    // SAFETY: as above.
    unsafe { qemu::qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(*handle, add, executed, 1) };
}

extern "C" fn block_begins(_: c_uint, _: *mut c_void) {
    with(|plugin, guest| plugin.block = guest.pc());
}

/// A block that is one chunk begins.
extern "C" fn block_of_one(_: c_uint, index: *mut c_void) {
    with(|plugin, guest| {
        let executed = plugin.executed();
        plugin.counter.chunk(&plugin.chunks[index as usize].0, guest.pc(), executed, guest);
    });
}

/// A chunk in a block with markers begins.
extern "C" fn chunk_begins(_: c_uint, index: *mut c_void) {
    with(|plugin, guest| {
        let executed = plugin.executed();
        let (chunk, offset) = &plugin.chunks[index as usize];
        plugin.counter.chunk(chunk, plugin.block.wrapping_add(u32::from(*offset)), executed, guest);
    });
}

extern "C" fn marked(_: c_uint, data: *mut c_void) {
    let data = data as usize;
    let privilege = if data >> 32 == 0 { Privilege::User } else { Privilege::Kernel };
    with(|plugin, guest| {
        let executed = plugin.executed();
        if let Some(marker) = Marker::from_immediate(data as u32) {
            plugin.counter.mark(marker, privilege, executed, guest);
            plugin.publish();
        }
    });
}

/// An instruction is about to be executed, if its condition holds.
extern "C" fn special(_: c_uint, data: *mut c_void) {
    let (word, offset) = (data as usize as u32, (data as usize >> 32) as u16);
    with(|plugin, guest| {
        if condition(word, guest.status()) {
            let value = guest.general(Operation::register(word));
            plugin.counter.special(Class::decode(&word.to_le_bytes()), offset, value);
        }
    });
}

extern "C" fn accessed(_: c_uint, info: qemu::qemu_plugin_meminfo_t, address: u64, data: *mut c_void) {
    let (data, address) = (data as usize, address as u32);
    let (offset, as_user, kernel) = (data as u16, data >> 16 & 1 != 0, data >> 17 & 1 != 0);
    with(|plugin, guest| {
        let armed = plugin.counter.is_armed();
        // SAFETY: `info` is this callback's.
        let (bytes, write) = unsafe { (1_u32 << qemu::qemu_plugin_mem_size_shift(info), qemu::qemu_plugin_mem_is_store(info)) };
        if write && plugin.counter.wants_tables() && (armed || kernel) {
            stored(guest, info, address, bytes as usize, kernel);
        }
        if armed {
            plugin.counter.access(offset, address, bytes, write, as_user, guest);
        }
    });
}

/// Keeps the copies of pages.
fn stored(guest: &mut Guest, info: qemu::qemu_plugin_meminfo_t, address: u32, bytes: usize, kernel: bool) {
    // SAFETY: `info` and `address` are those of the memory callback in progress.
    let place = unsafe { qemu::qemu_plugin_get_hwaddr(info, u64::from(address)) };
    // SAFETY: QEMU's, for the time of the callback.
    if place.is_null() || unsafe { qemu::qemu_plugin_hwaddr_is_io(place) } {
        return;
    }
    // SAFETY: as above.
    let physical = unsafe { qemu::qemu_plugin_hwaddr_phys_addr(place) } as u32;
    // SAFETY: as above; the member is that of the access's size.
    let value = unsafe {
        let data = qemu::qemu_plugin_mem_get_value(info).data;
        match bytes {
            1 => data.u8_.into(),
            2 => data.u16_.into(),
            4 => data.u32_.into(),
            _ => data.u64_,
        }
    };
    guest.stored(address, physical, &value.to_le_bytes()[..bytes.min(8)], kernel);
}

extern "C" fn machine_ends(_: qemu::qemu_plugin_id_t, _: *mut c_void) {
    // In use: a callback has ended the process, and there is nothing to report.
    let Some(plugin) = PLUGIN.0.try_borrow_mut().ok().and_then(|mut plugin| plugin.take()) else { return };
    plugin.arguments.write(plugin.counter.report().to_json().map_err(std::io::Error::from));
}
