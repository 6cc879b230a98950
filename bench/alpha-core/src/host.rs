// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same events on the host.

extern crate std;

use crate::kernels::{POOL_BYTES, run};
use crate::outcome::Outcome;
use std::alloc::{Layout, alloc_zeroed};
use std::vec::Vec;

/// This many random events by a seed. Returns their outcome, and the last kernel's memory.
///
/// # Panics
/// If the host has no memory.
#[must_use]
pub fn on_host(seed: u64, events: u32) -> (Outcome, Vec<u8>) {
    let bytes = POOL_BYTES as usize;
    let layout = Layout::from_size_align(bytes, abi::PAGE_SIZE as usize).expect("pages");
    // SAFETY: the layout is not empty. The memory is never freed, and nobody else has it.
    let memory = unsafe { alloc_zeroed(layout) };
    assert!(!memory.is_null(), "the host has no memory");
    // SAFETY: see above.
    let outcome = unsafe { run(memory, seed, events) };
    // SAFETY: the pool is gone, and nobody writes there any more.
    (outcome, unsafe { std::slice::from_raw_parts(memory, bytes) }.to_vec())
}
