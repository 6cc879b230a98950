// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that C calls. WebAssembly's memory is the machine's memory, so addresses are
//! physical ones.

use crate::kernels::run;
use crate::outcome::Outcome;
use core::panic::PanicInfo;

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    /// Ends the machine.
    safe fn failed() -> !;
}

/// Random events by a seed. Their outcome is written to an address. The pool is where the kernel
/// has it.
#[unsafe(no_mangle)]
extern "C" fn core_run(seed: u64, events: u32, outcome: *mut Outcome) {
    let memory = core::ptr::with_exposed_provenance_mut(pool::BASE as usize);
    // SAFETY: nothing else is in the pool's memory, nor where the caller wants the outcome.
    unsafe { outcome.write(run(memory, seed, events)) };
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    failed()
}
