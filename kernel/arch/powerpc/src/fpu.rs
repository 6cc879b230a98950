// SPDX-License-Identifier: MIT OR Apache-2.0
//! The FPU. A thread's registers stay in it until another thread uses the FPU, or until a call asks
//! for them.

use crate::regs;
use abi::utcb::{FPU_OFFSET, FPU_SIZE, Utcb, fpu as place};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::{Cpu, Thread};
use pool::{Link, Pool, Ref};
use powerpc_context::lazy;

global_asm!(
    ".section .text.fpu, \"ax\"",
    // r3: the area: 32 registers, and after them the status. What it has is hostile: exceptions of
    // the FPU are not raised in the kernel.
    "fpu_save:",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "stfd \\n, 8 * \\n(3)",
    ".endr",
    "mffs 0",
    "stfd 0, 256(3)",
    "blr",
    "fpu_load:",
    "lfd 0, 256(3)",
    "mtfsf 0xff, 0",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "lfd \\n, 8 * \\n(3)",
    ".endr",
    "blr",
);

unsafe extern "C" {
    fn fpu_save(area: *mut u8);
    fn fpu_load(area: *const u8);
}

/// Bytes that are used of an area.
const USED: u32 = 264;
const _: () = assert!(USED <= FPU_SIZE);

/// Writes into a thread's UTCB slot where its registers are.
fn note(pool: &mut Pool, thread: Ref<Thread>, place: u32) {
    let at = pool[thread].utcb + offset_of!(Utcb, fpu) as u32;
    pool.bytes_mut(at, 4).copy_from_slice(&place.to_ne_bytes());
}

/// A thread's area.
fn area(pool: &mut Pool, thread: Ref<Thread>) -> *mut u8 {
    let at = pool[thread].utcb + FPU_OFFSET;
    pool.bytes_mut(at, USED).as_mut_ptr()
}

/// The thread whose registers the FPU has: the only state that is loaded rarely on this processor.
const fn owner(cpu: &Cpu) -> Link<Thread> {
    Link::from_value(cpu.loaded)
}

/// Whether the FPU has a thread's registers, and has to be enabled for it.
pub fn is_open_to(cpu: &Cpu, thread: Ref<Thread>) -> bool {
    owner(cpu).is(thread)
}

/// A thread used the FPU while it was disabled. Afterwards the FPU has the thread's registers.
pub fn take(cpu: &mut Cpu, pool: &mut Pool, thread: Ref<Thread>) {
    regs::with_fpu(|| {
        if let Some(owner) = owner(cpu).get() {
            save(pool, owner);
        }
        let from = area(pool, thread);
        // SAFETY: an area in the pool; any bits are a value of the registers.
        unsafe { fpu_load(from) };
    });
    note(pool, thread, place::LOADED);
    pool[thread].lazy |= lazy::FPU;
    cpu.loaded = thread.address();
}

/// Removes a thread's registers from the FPU, if they are there, and saves them to its area if
/// `keep`.
pub fn give_up(cpu: &mut Cpu, pool: &mut Pool, thread: Ref<Thread>, keep: bool) {
    if is_open_to(cpu, thread) {
        if keep {
            regs::with_fpu(|| save(pool, thread));
        }
        cpu.loaded = 0;
    }
}

/// Saves the registers, which are a thread's, to its area. The FPU has to be enabled.
fn save(pool: &mut Pool, thread: Ref<Thread>) {
    let to = area(pool, thread);
    // SAFETY: an area in the pool, large enough.
    unsafe { fpu_save(to) };
    note(pool, thread, place::SAVED);
}
