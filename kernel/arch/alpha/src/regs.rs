// SPDX-License-Identifier: MIT OR Apache-2.0
//! What PALcode does for Rust (`entry.S`), each by a `CALL_PAL` of the kernel's own.

use kcore::thread::gate;
use kcore::{Cpu, Thread};
use pool::Ref;

unsafe extern "C" {
    safe fn alpha_time() -> u64;
    safe fn alpha_alarm(at: u64);
    safe fn alpha_wait();
    safe fn alpha_drop_all();
    safe fn alpha_forget_table();
    safe fn alpha_threads(first: u64, index_mask: u64);
    safe fn alpha_kernel_end() -> u64;
    fn alpha_leave(thread: u64, table: u64, loaded: u64, top_open: u64) -> !;
}

/// Nanoseconds since the machine's start.
pub fn nanoseconds() -> u64 {
    alpha_time()
}

/// Has the timer interrupt when so many nanoseconds have passed since the machine's start; 0: never.
pub fn set_alarm(at: u64) {
    alpha_alarm(at);
}

/// Waits for an interrupt, which is not taken.
pub fn wait() {
    alpha_wait();
}

/// The TLB has nothing. It has translations of one space only, as it has no tags.
pub fn drop_all() {
    alpha_drop_all();
}

/// The processor reads no tables, and the TLB has nothing.
pub fn forget_table() {
    alpha_forget_table();
}

/// Tells the fast path of the thread table: the reference to the first thread, and the bits of a
/// handle that are an index.
pub fn set_threads(first: u32, index_mask: u32) {
    alpha_threads(first.into(), index_mask.into());
}

/// Where the kernel ends in physical memory.
pub fn kernel_end() -> u32 {
    alpha_kernel_end() as u32
}

/// To user mode: to a thread, whose space has its highest table there.
///
/// # Safety
/// The thread's context is complete.
pub unsafe fn leave(thread: Ref<Thread>, table: u32, cpu: &Cpu) -> ! {
    // Who waits openly and is at least as urgent as every ready thread is not less than this.
    let top_open = u64::from(cpu.top) << 32 | u64::from(gate::OPEN);
    // SAFETY: the caller's.
    unsafe { alpha_leave(thread.address().into(), table.into(), cpu.loaded.into(), top_open) }
}

/// C has no chain of frames.
pub const fn frame() -> u32 {
    0
}
