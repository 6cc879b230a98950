// SPDX-License-Identifier: GPL-2.0-or-later
//! Tells [`model_core::Counter`] what QEMU executes (TCG plugin interface 4, QEMU 9.2 and later).
//!
//! ```text
//! qemu-system-i386 -plugin libmodel_plugin.so,out=FILE[,server=FROM-TO][,cpu=FILE][,check=on]
//!     [,user=FROM-TO][,window=LINEAR+BYTES][,symbols=FILE][,latency=on] ...
//! qemu-system-i386 -plugin libmodel_plugin.so,out=FILE,sample=N[,interval=N][,bounds=FROM-TO][,code=FROM-TO] ...
//! qemu-system-arm -plugin libmodel_plugin.so,out=FILE[,server=FROM-TO][,cpu=FILE][,check=on][,symbols=FILE] ...
//! ```
//!
//! With `sample=N` it takes samples and does nothing else (`sampler`): FILE gets them. Else:
//!
//! Instructions are counted by code that QEMU makes part of each block, markers are always watched.
//! Everything else has callbacks that QEMU skips (or, for memory, that return at once) until the first
//! marker; with `check=on` they act from the machine's start. With `latency=on` each block of the kernel
//! has one more, which acts always. A block's callback reads EIP, because
//! QEMU shares a block among all addresses that its page is mapped at, but not among code segments: where
//! that begins is known when the block is translated. At the machine's end the report goes to FILE as JSON.
#![warn(missing_docs)]

mod arguments;
mod arm;
mod guest;
mod latency;
mod registers;
mod sampler;
mod translation;

use arguments::Arguments;
use guest::Guest;
use model_core::{Chunk, Class, Counter, Marker, Privilege, World};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use registers::Registers;
use sampler::Sampler;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use translation::{Instruction, always, conditional, instructions};

/// The version of the interface that this is written for; QEMU looks for it.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 4;

/// Numbers of general registers in encodings.
const EAX: u8 = 0;
const ECX: u8 = 1;
/// Bytes of a case's name, at most.
const LONGEST_NAME: usize = 64;

/// What the callbacks work on.
struct Plugin {
    counter: Counter,
    /// What takes samples; then nothing is counted.
    sampler: Option<Sampler>,
    guest: Option<Guest>,
    /// Linear address of the block in execution.
    block: u32,
    score: *mut qemu::qemu_plugin_scoreboard,
    words: *mut Words,
    chunks: Chunks,
    /// Encodings of the `invlpg` instructions that were translated.
    invlpg: Vec<Vec<u8>>,
    arguments: Arguments,
}

/// What QEMU's own code reads and writes for the processor.
#[repr(C)]
struct Words {
    /// Not 0 while the counter is armed; QEMU tests it before it calls.
    armed: u64,
    /// Not 0 while the kernel's next block is the first one of an entry.
    entering: u64,
    /// Instructions executed, without markers.
    executed: u64,
    /// Counts the instructions of blocks that begin up to 2^64: a sample is due when it has passed that
    /// and is small.
    until: u64,
}

/// Chunks of code, and where in its block each begins. Callbacks are given an index.
#[derive(Default)]
struct Chunks {
    all: Vec<(Chunk, u16)>,
    index: HashMap<(Chunk, u16), usize>,
}

impl Chunks {
    fn intern(&mut self, chunk: Chunk, offset: u16) -> usize {
        *self.index.entry((chunk, offset)).or_insert_with_key(|key| {
            self.all.push(key.clone());
            self.all.len() - 1
        })
    }
}

/// A place that only one thread at a time looks at.
struct Single(RefCell<Option<Plugin>>);

// SAFETY: QEMU runs one processor (`processor_starts` ends it otherwise). Installation comes before that
// processor's thread, all callbacks are on that thread, and the last one when it has stopped.
unsafe impl Sync for Single {}

static PLUGIN: Single = Single(RefCell::new(None));

/// What a callback does, until the machine's end. Callbacks do not nest.
fn with(act: impl FnOnce(&mut Plugin)) {
    if let Some(plugin) = PLUGIN.0.borrow_mut().as_mut() {
        act(plugin);
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
        let entering = self.counter.latency().is_some_and(|latency| latency.is_entry());
        // SAFETY: as in `executed`.
        let words = unsafe { &mut *self.words };
        (words.armed, words.entering) = (u64::from(self.counter.is_armed()), u64::from(entering));
    }

    /// How many samples are due; what is left counts for the next.
    fn take_due(&mut self, every: u64) -> u64 {
        // SAFETY: as in `executed`.
        let until = unsafe { &mut (*self.words).until };
        let due = 1 + *until / every;
        *until = (*until % every).wrapping_sub(every);
        due
    }

    /// Counts towards the next sample, or stops; so many instructions of the block in execution are still to come.
    fn set_sampling(&mut self, rest: u64) {
        let Some(sampler) = &mut self.sampler else { return };
        // SAFETY: as in `executed`.
        sampler.switch(unsafe { &mut (*self.words).until }, rest);
    }

    /// A word of the scoreboard, for QEMU's code.
    fn word(&self, offset: usize) -> qemu::qemu_plugin_u64 {
        qemu::qemu_plugin_u64 { score: self.score, offset }
    }
}

/// QEMU calls it once, when it loads the plugin; the crate's head has the arguments.
/// Returns 0, or -1 after a sentence on the standard error.
///
/// # Safety
/// `info` and `argv` are QEMU's: valid for the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu::qemu_plugin_id_t,
    info: *const qemu::qemu_info_t,
    argc: c_int,
    argv: *mut *mut c_char,
) -> c_int {
    // SAFETY: the caller's promise; the target's name is a string that lives as long.
    let target = unsafe { CStr::from_ptr((*info).target_name) }.to_string_lossy();
    // SAFETY: QEMU passes `argc` strings.
    let given = (0..argc as usize).map(|index| unsafe { CStr::from_ptr(*argv.add(index)) }.to_string_lossy().into_owned());
    let installed = Arguments::parse(given).and_then(|arguments| match &*target {
        "i386" => install(id, arguments),
        "arm" => arm::install(id, arguments),
        _ => Err(format!("the processor is {target}; only qemu-system-i386 and qemu-system-arm are modelled")),
    });
    match installed {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("model: {error}");
            -1
        }
    }
}

/// Installs what is for IA-32.
fn install(id: qemu::qemu_plugin_id_t, mut arguments: Arguments) -> Result<(), String> {
    // SAFETY: functions of the interface, called while the plugin is installed; the callbacks
    // are functions, so they live as long as the plugin is loaded.
    let score = unsafe {
        qemu::qemu_plugin_register_vcpu_init_cb(id, Some(processor_starts));
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translate));
        qemu::qemu_plugin_register_atexit_cb(id, Some(machine_ends), std::ptr::null_mut());
        qemu::qemu_plugin_scoreboard_new(size_of::<Words>())
    };
    *PLUGIN.0.borrow_mut() = Some(Plugin {
        counter: Counter::new(arguments.setup()),
        sampler: (arguments.sampling.every > 0).then(|| Sampler::new(std::mem::take(&mut arguments.sampling))),
        guest: None,
        block: 0,
        score,
        words: std::ptr::null_mut(),
        chunks: Chunks::default(),
        invlpg: Vec::new(),
        arguments,
    });
    Ok(())
}

extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    if index > 0 {
        eprintln!("model: only one processor is modelled; start QEMU with -smp 1");
        std::process::exit(1);
    }
    with(|plugin| {
        // SAFETY: this is the processor's own initialisation callback; its part of the scoreboard has just been made.
        let registers = unsafe {
            plugin.words = qemu::qemu_plugin_scoreboard_find(plugin.score, 0).cast();
            Registers::find()
        };
        let Some(registers) = registers else {
            eprintln!("model: this QEMU does not tell a register that is needed");
            std::process::exit(1);
        };
        let guest = plugin.guest.insert(Guest::new(registers, plugin.arguments.window.clone()));
        if plugin.arguments.check {
            plugin.counter.arm(0, guest);
        }
        plugin.publish();
        plugin.set_sampling(0);
    });
}

/// A block is translated: what its instructions are is known here, who executes
/// it follows from the mode that the processor is in (QEMU keeps blocks of
/// different modes apart).
extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: *mut qemu::qemu_plugin_tb) {
    with(|plugin| if plugin.sampler.is_some() { watch(plugin, tb) } else { instrument(plugin, tb) });
}

/// Has the instructions of a block counted, and where sampling begins and ends told.
fn watch(plugin: &mut Plugin, tb: *mut qemu::qemu_plugin_tb) {
    let (Some(sampler), Some(guest)) = (&plugin.sampler, &plugin.guest) else { return };
    let instructions = instructions(tb);
    let segment = code_segment(guest, &instructions);
    let until = plugin.word(std::mem::offset_of!(Words, until));
    let (add, lt) = (qemu::qemu_plugin_op::QEMU_PLUGIN_INLINE_ADD_U64, cond::QEMU_PLUGIN_COND_LT);
    let (registers, data) = (flags::QEMU_PLUGIN_CB_R_REGS, segment as usize as *mut c_void);
    let count = instructions.len();
    // SAFETY: `tb` is the block being translated; QEMU carries out what is registered first first.
    unsafe {
        qemu::qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, add, until, count as u64);
        qemu::qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, Some(enough), registers, lt, until, sampler::SMALL, data);
    }
    for (index, Instruction { handle, address, bytes }) in instructions.into_iter().enumerate() {
        let bound = sampler.sampling.bounds.as_ref().is_some_and(|bounds| [bounds.start, bounds.end].contains(&address));
        let told = match Marker::decode(&bytes) {
            Some(marker) => Some((sample_marked as extern "C" fn(c_uint, *mut c_void), marker.immediate())),
            None if bound => Some((crossed as _, address)),
            None => (Class::decode(&bytes) == Class::WriteCr3).then_some((root_changes as _, 0)),
        };
        if let Some((callback, data)) = told {
            always(handle, callback, registers, data as usize | (count - index - 1) << 32);
        }
    }
}

/// A block begins with which enough instructions were executed for a sample. `segment` is where the code segment begins.
extern "C" fn enough(_: c_uint, segment: *mut c_void) {
    with(|plugin| {
        let every = plugin.sampler.as_ref().map_or(1, |sampler| sampler.sampling.every);
        let due = plugin.take_due(every);
        if let (Some(sampler), Some(guest)) = (&mut plugin.sampler, &mut plugin.guest) {
            sampler.sample(guest, due, segment as u32);
        }
    });
}

/// `data` has a marker's immediate, and above that how many instructions of the block come after it.
extern "C" fn sample_marked(_: c_uint, data: *mut c_void) {
    with(|plugin| {
        if let (Some(sampler), Some(marker)) = (&mut plugin.sampler, Marker::from_immediate(data as u32)) {
            sampler.mark(marker);
        }
        plugin.set_sampling(data as u64 >> 32);
    });
}

/// `data` has an address, and above that how many instructions of the block come after it.
extern "C" fn crossed(_: c_uint, data: *mut c_void) {
    with(|plugin| {
        if let (Some(sampler), Some(guest)) = (&mut plugin.sampler, &mut plugin.guest) {
            sampler.cross(guest, data as u32);
        }
        plugin.set_sampling(data as u64 >> 32);
    });
}

/// The linear address at which the code segment of these begins. QEMU translates what it is about to execute, so EIP is that of
/// the first.
fn code_segment(guest: &Guest, instructions: &[Instruction]) -> u32 {
    instructions.first().map_or(0, |first| first.address.wrapping_sub(guest.eip()))
}

/// Puts callbacks and counting into a block that is being translated.
fn instrument(plugin: &mut Plugin, tb: *mut qemu::qemu_plugin_tb) {
    let Some(guest) = &plugin.guest else { return };
    let privilege = guest.privilege();
    let kernel = privilege == Privilege::Kernel;
    let instructions = instructions(tb);
    let segment = code_segment(guest, &instructions);
    let markers = instructions.iter().any(|instruction| Marker::decode(&instruction.bytes).is_some());
    let armed = plugin.word(std::mem::offset_of!(Words, armed));
    let executed = plugin.word(std::mem::offset_of!(Words, executed));
    if markers {
        // It may arm the counter in the middle, and must then know where it is.
        // SAFETY: `tb` is the block being translated.
        unsafe {
            let data = segment as usize as *mut c_void;
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(tb, Some(block_begins), flags::QEMU_PLUGIN_CB_R_REGS, data);
        }
    }
    if kernel {
        latency::follow(plugin, &instructions);
    }
    let (mut start, mut offset, mut at_start) = (0, 0, true);
    for (index, Instruction { handle, bytes, .. }) in instructions.iter().enumerate() {
        let length = bytes.len() as u16;
        if let Some(marker) = Marker::decode(bytes) {
            let data = marker.immediate() as usize | usize::from(kernel) << 32;
            always(*handle, marked, flags::QEMU_PLUGIN_CB_R_REGS, data);
            offset += length;
            at_start = true;
            continue;
        }
        if at_start {
            let rest =
                instructions[index..].iter().map(|instruction| &instruction.bytes).take_while(|bytes| Marker::decode(bytes).is_none());
            let lengths: Vec<u8> = rest.map(|bytes| bytes.len() as u8).collect();
            let chunk = Chunk { segment, ..Chunk::new(privilege, &lengths, plugin.arguments.per_line) };
            let chunk = plugin.chunks.intern(chunk, offset);
            if markers {
                conditional(*handle, chunk_begins, flags::QEMU_PLUGIN_CB_R_REGS, armed, chunk);
            } else {
                let (registers, ne) = (flags::QEMU_PLUGIN_CB_R_REGS, cond::QEMU_PLUGIN_COND_NE);
                // SAFETY: `tb` is the block being translated; the data is a number.
                unsafe {
                    qemu::qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, Some(block_of_one), registers, ne, armed, 0, chunk as *mut c_void);
                }
            }
            (start, at_start) = (offset, false);
        }
        let class = Class::decode(bytes);
        // SAFETY: as above; the data are numbers.
        unsafe {
            if class == Class::WriteCr3 {
                // Also before the counter is armed: the first tables are those of the kernel alone.
                let data = std::ptr::null_mut();
                qemu::qemu_plugin_register_vcpu_insn_exec_cb(*handle, Some(root_changes), flags::QEMU_PLUGIN_CB_R_REGS, data);
            }
            if class != Class::Plain {
                let mut data = usize::from(offset - start) | (class as usize) << 16;
                if class == Class::Invlpg {
                    data |= plugin.invlpg.len() << 24;
                    plugin.invlpg.push(bytes.clone());
                }
                conditional(*handle, special, flags::QEMU_PLUGIN_CB_R_REGS, armed, data);
            }
            if kernel || plugin.counter.wants_user_accesses() {
                qemu::qemu_plugin_register_vcpu_mem_cb(
                    *handle,
                    Some(accessed),
                    flags::QEMU_PLUGIN_CB_NO_REGS,
                    qemu::qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW,
                    usize::from(offset - start) as *mut c_void,
                );
            }
            let add = qemu::qemu_plugin_op::QEMU_PLUGIN_INLINE_ADD_U64;
            qemu::qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(*handle, add, executed, 1);
        }
        offset += length;
    }
}

/// `segment` is where the code segment begins.
extern "C" fn block_begins(_: c_uint, segment: *mut c_void) {
    with(|plugin| {
        if let Some(guest) = &plugin.guest {
            plugin.block = guest.eip().wrapping_add(segment as u32);
        }
    });
}

/// A block that is one chunk begins.
extern "C" fn block_of_one(_: c_uint, index: *mut c_void) {
    with(|plugin| {
        let executed = plugin.executed();
        if let Some(guest) = &mut plugin.guest {
            let chunk = &plugin.chunks.all[index as usize].0;
            plugin.counter.chunk(chunk, guest.eip().wrapping_add(chunk.segment), executed, guest);
        }
    });
}

/// A chunk in a block with markers begins.
extern "C" fn chunk_begins(_: c_uint, index: *mut c_void) {
    with(|plugin| {
        let executed = plugin.executed();
        if let Some(guest) = &mut plugin.guest {
            let (chunk, offset) = &plugin.chunks.all[index as usize];
            plugin.counter.chunk(chunk, plugin.block.wrapping_add(u32::from(*offset)), executed, guest);
        }
    });
}

extern "C" fn marked(_: c_uint, data: *mut c_void) {
    let data = data as usize;
    let privilege = if data >> 32 == 0 { Privilege::User } else { Privilege::Kernel };
    with(|plugin| {
        let executed = plugin.executed();
        if let (Some(guest), Some(marker)) = (&mut plugin.guest, Marker::from_immediate(data as u32)) {
            plugin.counter.mark(marker, privilege, executed, guest);
            if let (Marker::Case, Some(latency)) = (marker, plugin.counter.latency()) {
                let mut name = Vec::new();
                guest.read_bytes(guest.general(EAX), (guest.general(ECX) as usize).min(LONGEST_NAME), &mut name);
                latency.name(String::from_utf8_lossy(&name).into_owned());
            }
            plugin.publish();
        }
    });
}

extern "C" fn root_changes(_: c_uint, _: *mut c_void) {
    with(|plugin| {
        if let Some(guest) = &mut plugin.guest {
            let old = guest.root();
            guest.note_root(old);
        }
    });
}

extern "C" fn special(_: c_uint, data: *mut c_void) {
    let data = data as usize;
    let class = Class::ALL[data >> 16 & 0xff];
    with(|plugin| {
        let named = (class == Class::Invlpg).then(|| &plugin.invlpg[data >> 24]);
        let operand =
            named.zip(plugin.guest.as_ref()).and_then(|(bytes, guest)| Class::invlpg_address(bytes, |number| guest.general(number)));
        plugin.counter.special(class, data as u16, operand.unwrap_or(0));
    });
}

extern "C" fn accessed(_: c_uint, info: qemu::qemu_plugin_meminfo_t, address: u64, offset: *mut c_void) {
    with(|plugin| {
        let Some(guest) = plugin.guest.as_mut().filter(|_| plugin.counter.is_armed()) else { return };
        // SAFETY: `info` is this callback's.
        let (bytes, write) = unsafe { (1 << qemu::qemu_plugin_mem_size_shift(info), qemu::qemu_plugin_mem_is_store(info)) };
        // SAFETY: as above; all members of the union begin at the same address and the narrow ones
        // are valid for wide values (little endian).
        let value = || unsafe { qemu::qemu_plugin_mem_get_value(info).data.u32_ };
        plugin.counter.access(offset as usize as u16, address as u32, bytes, write, value, guest);
    });
}

extern "C" fn machine_ends(_: qemu::qemu_plugin_id_t, _: *mut c_void) {
    // In use: a callback has ended the process, and there is nothing to report.
    let Some(plugin) = PLUGIN.0.try_borrow_mut().ok().and_then(|mut plugin| plugin.take()) else { return };
    let report = match &plugin.sampler {
        Some(sampler) => sampler.samples().to_json(),
        None => plugin.counter.report().to_json(),
    };
    plugin.arguments.write(report.map_err(std::io::Error::from));
}
