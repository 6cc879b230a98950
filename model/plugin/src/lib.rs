// SPDX-License-Identifier: GPL-2.0-or-later
//! Tells [`model_core::Counter`] what QEMU executes (TCG plugin interface 4, QEMU 9.2 and later).
//!
//! ```text
//! qemu-system-i386 -plugin libmodel_plugin.so,out=FILE[,server=FROM-TO] ...
//! ```
//!
//! Markers are always watched. Everything else has callbacks that QEMU skips while
//! no interval is open. The kernel's blocks read EIP when they begin, because
//! QEMU shares a block among all addresses that its page is mapped at. At the machine's end the
//! report goes to FILE as JSON.
#![warn(missing_docs)]

mod registers;

use model_core::{Class, Counter, Marker, Privilege, Site};
use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use registers::Registers;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The version of the interface that this is written for; QEMU looks for it.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 4;

/// What the callbacks work on. QEMU runs one processor, on one thread.
struct Plugin {
    counter: Counter,
    registers: Option<Registers>,
    /// Address of the kernel block in execution.
    block: u32,
    /// Not 0 while an interval is open; QEMU tests it before it calls.
    counting: Counting,
    out: String,
    /// Where the watched server's code is.
    server: Range<u64>,
}

/// A 64-bit word that QEMU keeps for each processor.
#[derive(Clone, Copy)]
struct Counting(qemu::qemu_plugin_u64);

// SAFETY: a handle that QEMU's functions take on any thread.
unsafe impl Send for Counting {}

static PLUGIN: Mutex<Option<Plugin>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Plugin>> {
    PLUGIN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// QEMU calls it once, when it loads the plugin. `out=FILE` is where the report
/// goes, `server=FROM-TO` (hexadecimal addresses) where the code of a watched server is.
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
    if target != "i386" {
        eprintln!("model: the processor is {target}; only qemu-system-i386 is modelled");
        return -1;
    }
    let mut out = None;
    let mut server = 0..0;
    for index in 0..argc as usize {
        // SAFETY: QEMU passes `argc` strings.
        let argument = unsafe { CStr::from_ptr(*argv.add(index)) }.to_string_lossy();
        match argument.split_once('=') {
            Some(("out", file)) => out = Some(file.to_string()),
            Some(("server", range)) if let Some(range) = parse_range(range) => server = range,
            _ => {
                eprintln!("model: `{argument}` is none of out=FILE and server=FROM-TO");
                return -1;
            }
        }
    }
    let Some(out) = out else {
        eprintln!("model: no out=FILE for the report");
        return -1;
    };
    // SAFETY: functions of the interface, called while the plugin is installed; the callbacks
    // are functions, so they live as long as the plugin is loaded.
    unsafe {
        let score = qemu::qemu_plugin_scoreboard_new(size_of::<u64>());
        let counting = Counting(qemu::qemu_plugin_u64 { score, offset: 0 });
        *lock() = Some(Plugin { counter: Counter::default(), registers: None, block: 0, counting, out, server });
        qemu::qemu_plugin_register_vcpu_init_cb(id, Some(processor_starts));
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translate));
        qemu::qemu_plugin_register_atexit_cb(id, Some(machine_ends), std::ptr::null_mut());
    }
    0
}

/// Two hexadecimal numbers with a dash between them.
fn parse_range(text: &str) -> Option<Range<u64>> {
    let (from, to) = text.split_once('-')?;
    Some(u64::from_str_radix(from, 16).ok()?..u64::from_str_radix(to, 16).ok()?)
}

unsafe extern "C" fn processor_starts(_: qemu::qemu_plugin_id_t, index: c_uint) {
    if index > 0 {
        eprintln!("model: only one processor is modelled; start QEMU with -smp 1");
        std::process::exit(1);
    }
    if let Some(plugin) = lock().as_mut() {
        // SAFETY: this is the processor's own initialisation callback.
        plugin.registers = unsafe { Registers::find() };
        if plugin.registers.is_none() {
            eprintln!("model: this QEMU does not tell EIP, CS, EFLAGS and CR0");
            std::process::exit(1);
        }
    }
}

/// A block is translated: what its instructions are is known here, who executes
/// it follows from the mode that the processor is in (QEMU keeps blocks of
/// different modes apart).
unsafe extern "C" fn translate(_: qemu::qemu_plugin_id_t, tb: *mut qemu::qemu_plugin_tb) {
    let mut guard = lock();
    let Some(plugin) = guard.as_mut() else { return };
    let Some(registers) = &plugin.registers else { return };
    // SAFETY: in a translation callback the processor's registers are up to date.
    let privilege = unsafe { Privilege::of(registers.cs(), registers.cr0(), registers.eflags()) };
    let counting = plugin.counting.0;
    let kernel = privilege == Privilege::Kernel;
    if kernel {
        // SAFETY: `tb` is the block being translated.
        unsafe {
            qemu::qemu_plugin_register_vcpu_tb_exec_cond_cb(
                tb,
                Some(block_begins),
                flags::QEMU_PLUGIN_CB_R_REGS,
                cond::QEMU_PLUGIN_COND_NE,
                counting,
                0,
                std::ptr::null_mut(),
            );
        }
    }
    let mut offset = 0;
    // SAFETY: `tb` is the block being translated.
    let count = unsafe { qemu::qemu_plugin_tb_n_insns(tb) };
    for index in 0..count {
        // SAFETY: the block's instructions are valid in this callback, and the buffer is as long as said.
        let (instruction, bytes) = unsafe {
            let instruction = qemu::qemu_plugin_tb_get_insn(tb, index);
            let mut bytes = [0_u8; 15];
            let length = qemu::qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len());
            (instruction, bytes[..length.min(15)].to_vec())
        };
        if let Some(marker) = Marker::decode(&bytes) {
            let data = (marker.immediate() as usize | usize::from(kernel) << 32) as *mut c_void;
            // SAFETY: as above; the data is a number.
            unsafe {
                qemu::qemu_plugin_register_vcpu_insn_exec_cb(instruction, Some(marked), flags::QEMU_PLUGIN_CB_NO_REGS, data);
            }
        } else {
            // SAFETY: as above.
            let server = !kernel && plugin.server.contains(&unsafe { qemu::qemu_plugin_insn_vaddr(instruction) });
            let site = Site { privilege, class: Class::decode(&bytes), offset, bytes: bytes.len() as u8, server };
            // SAFETY: as above; the data is a number.
            unsafe {
                qemu::qemu_plugin_register_vcpu_insn_exec_cond_cb(
                    instruction,
                    Some(executed),
                    flags::QEMU_PLUGIN_CB_NO_REGS,
                    cond::QEMU_PLUGIN_COND_NE,
                    counting,
                    0,
                    site.pack() as *mut c_void,
                );
                if kernel {
                    qemu::qemu_plugin_register_vcpu_mem_cb(
                        instruction,
                        Some(accessed),
                        flags::QEMU_PLUGIN_CB_NO_REGS,
                        qemu::qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW,
                        std::ptr::null_mut(),
                    );
                }
            }
        }
        offset += bytes.len() as u16;
    }
}

unsafe extern "C" fn block_begins(_: c_uint, _: *mut c_void) {
    if let Some(plugin) = lock().as_mut()
        && let Some(registers) = &plugin.registers
    {
        // SAFETY: the callback was registered with the right to read registers.
        plugin.block = unsafe { registers.eip() };
    }
}

unsafe extern "C" fn marked(processor: c_uint, data: *mut c_void) {
    let data = data as usize;
    let privilege = if data >> 32 == 0 { Privilege::User } else { Privilege::Kernel };
    if let Some(plugin) = lock().as_mut()
        && let Some(marker) = Marker::from_immediate(data as u32)
    {
        plugin.counter.mark(marker, privilege);
        // SAFETY: the scoreboard lives as long as the plugin.
        unsafe { qemu::qemu_plugin_u64_set(plugin.counting.0, processor, u64::from(plugin.counter.is_counting())) }
    }
}

unsafe extern "C" fn executed(_: c_uint, site: *mut c_void) {
    if let Some(plugin) = lock().as_mut() {
        plugin.counter.execute(Site::unpack(site as usize as u64), plugin.block);
    }
}

unsafe extern "C" fn accessed(_: c_uint, info: qemu::qemu_plugin_meminfo_t, address: u64, _: *mut c_void) {
    if let Some(plugin) = lock().as_mut()
        && plugin.counter.is_counting()
    {
        // SAFETY: `info` is this callback's; all members of the union begin at the same
        // address and the narrow ones are valid for wide values (little endian).
        let (bytes, value) = unsafe { (1 << qemu::qemu_plugin_mem_size_shift(info), qemu::qemu_plugin_mem_get_value(info).data.u32_) };
        plugin.counter.access(address as u32, bytes, value);
    }
}

unsafe extern "C" fn machine_ends(_: qemu::qemu_plugin_id_t, _: *mut c_void) {
    if let Some(plugin) = lock().take() {
        let written = plugin.counter.report().to_json().map_err(std::io::Error::from).and_then(|json| std::fs::write(&plugin.out, json));
        if let Err(error) = written {
            eprintln!("model: the report cannot be written to {}: {error}", plugin.out);
        }
    }
}
