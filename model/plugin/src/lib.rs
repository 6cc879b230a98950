// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports to [`model_core::Counter`] what QEMU executes (TCG plugin interface 4, QEMU 9.2 and
//! later).
//!
//! ```text
//! qemu-system-i386 -plugin libmodel_plugin.so,out=FILE[,server=FROM-TO][,cpu=FILE][,check=on[,until=RULE...]]
//!     [,user=FROM-TO][,window=LINEAR+BYTES][,symbols=FILE][,latency=on] ...
//! qemu-system-i386 -plugin libmodel_plugin.so,out=FILE,sample=N[,interval=N][,bounds=FROM-TO][,code=FROM-TO] ...
//! qemu-system-arm -plugin libmodel_plugin.so,out=FILE[,server=FROM-TO][,cpu=FILE][,check=on[,until=RULE...]][,symbols=FILE]
//!     [,latency=on,look=ADDRESS] ...
//! qemu-system-ppc -plugin libmodel_plugin.so,out=FILE[,server=FROM-TO][,cpu=FILE][,check=on[,until=RULE...]][,symbols=FILE][,latency=on] ...
//! qemu-system-x86_64 -plugin libmodel_plugin.so,out=FILE[,server=FROM-TO][,cpu=FILE][,check=on[,until=RULE...]]
//!     [,window=LINEAR+BYTES][,symbols=FILE][,latency=on] ...
//! qemu-system-alpha -plugin libmodel_plugin.so,out=FILE[,symbols=FILE][,latency=on,look=ADDRESS] ...
//! qemu-system-mips64 -plugin libmodel_plugin.so,out=FILE[,cpu=FILE][,check=on[,until=RULE...]][,symbols=FILE][,latency=on] ...
//! ```
//!
//! With `sample=N` it only takes samples (`ia32::sampler`), and FILE gets them. Otherwise it
//! counts.
//!
//! Instructions are counted by code that QEMU makes part of each block, and markers are always
//! watched. Everything else has callbacks that QEMU skips (or, for memory, that return at once)
//! until the first marker; with `check=on` they act from the machine's start. With `latency=on`
//! each block of the kernel has one more callback, which always acts. With `until=RULE` the machine
//! ends when that rule is broken. At the machine's end the report goes to FILE as JSON.
//!
//! The crate owns the connection to QEMU. It must not count or judge anything: `model_core` does.
#![warn(missing_docs)]

mod alpha;
mod arguments;
mod armv5;
mod chunks;
mod end;
mod ia32;
mod latency;
mod mips;
mod plugin;
mod powerpc;
mod registers;
mod rings;
mod scoreboard;
mod translation;
mod x86_64;

use arguments::Arguments;
use qemu_plugin_sys as qemu;
use std::ffi::{CStr, c_char, c_int};

/// The version of the interface that this is written for; QEMU looks for it.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 4;

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
    let given = (0..argc as usize)
        .map(|index| unsafe { CStr::from_ptr(*argv.add(index)) }.to_string_lossy().into_owned());
    let installed = Arguments::parse(given).and_then(|arguments| match &*target {
        "i386" => ia32::install(id, arguments),
        _ if arguments.sampling.every > 0 => Err("samples are taken of IA-32 only".into()),
        "alpha" => alpha::install(id, arguments),
        "arm" => armv5::install(id, arguments),
        "ppc" => powerpc::install(id, arguments),
        "x86_64" => x86_64::install(id, arguments),
        "mips64" => mips::install(id, arguments),
        _ => Err(format!("the processor is {target}; only qemu-system-i386, qemu-system-alpha, qemu-system-arm, qemu-system-ppc, qemu-system-mips64 and qemu-system-x86_64 are modelled")),
    });
    match installed {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("model: {error}");
            -1
        }
    }
}
