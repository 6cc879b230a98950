// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what boot found to the first thread: the kernel's instance and the root server.

use crate::lock::Lock;
use crate::place::POOL_PLACE;
use abi::kip::{self, Clock, Kip};
use core::sync::atomic::Ordering;
use kcore::Kernel;
use kcore::boot::Machine;
use kcore::port::Port;
use pool::Pool;

/// Nanoseconds of a time slice.
const SLICE: u32 = 10_000_000;

/// How a counter with this many ticks a second is converted into time, from this count on.
#[must_use]
pub const fn clock(base: u64, frequency: u32) -> Clock {
    const SHIFT: u32 = 26;
    Clock { base, mult: ((1_000_000_000 << SHIFT) / frequency as u64) as u32, shift: SHIFT }
}

/// Makes the kernel.
///
/// # Safety
/// Once, at boot.
#[expect(
    clippy::mut_from_ref,
    reason = "it is the first reference, and the callers of the lock keep that there is one at a time"
)]
pub unsafe fn kernel<P: Port>(
    lock: &'static Lock<P>,
    pool: Pool,
    port: P,
) -> &'static mut Kernel<P> {
    // SAFETY: the caller's; the one place that sets it.
    let kernel = unsafe { lock.set(Kernel::new(pool, port)) };
    POOL_PLACE.index_mask.store(kernel.threads.count - 1, Ordering::Relaxed);
    kernel
}

/// Makes the first thread, of the root server, which is given the machine. The information page
/// names the processor, and has its features and its clock.
pub fn root<P: Port>(
    kernel: &mut Kernel<P>,
    machine: &Machine<'_>,
    processor: &str,
    features: u32,
    clock: Clock,
) {
    let mut text = [0; 64];
    let version = concat!("Macadamia ", env!("CARGO_PKG_VERSION"), ", ");
    text.iter_mut().zip(version.bytes().chain(processor.bytes())).for_each(|(to, from)| *to = from);
    let page = Kip {
        magic: kip::MAGIC,
        version: kip::VERSION,
        features,
        max_threads: kernel.threads.count,
        clock,
        slice_ns: SLICE,
        pool_bytes: kernel.pool.bytes(),
        text,
    };
    if let Err(error) = kernel.start_root(machine, &page) {
        panic!("the machine has too little memory: {}", error.text());
    }
}
