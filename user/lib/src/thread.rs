// SPDX-License-Identifier: MIT OR Apache-2.0
//! More threads in the own space.
//!
//! All threads of a component share its heap, whose lock spins: threads of one
//! component run at one priority, or those above the others do not allocate.

use crate::sys::BY_INT;
use crate::{Quota, Result, Rights, STACK_BYTES, Space, Thread, map, utcb};
use abi::PAGE_SIZE;
use alloc::alloc::{Layout, alloc_zeroed};
use core::arch::global_asm;

global_asm!(
    ".section .text.thread, \"ax\", @progbits",
    ".global macadamia_thread",
    // ESI: argument; on the stack: the function. Never returns.
    "macadamia_thread:",
    "pop eax",
    "xor ebp, ebp",
    "push esi",
    "call eax",
    "ud2",
);

unsafe extern "C" {
    fn macadamia_thread();
}

/// Starts a thread in the own space with a stack from the heap. Its capability goes
/// to `slot`; its exceptions go to the root server, which takes the component down.
/// A thread that is stopped keeps its stack.
///
/// # Errors
/// `PoolExhausted` if the heap has no room for the stack; what the kernel says.
pub fn spawn(function: extern "C" fn(u32) -> !, argument: u32, slot: u32) -> Result<Thread> {
    let (thread, bound) = Quota(image::slot::QUOTA).create_thread(Space(image::slot::SPACE), slot, None)?;
    thread.set_handler(Some(Thread(image::slot::ROOT)))?;
    let top = new_stack(bound.utcb, function)?;
    thread.start(macadamia_thread as *const () as u32, top, argument)?;
    Ok(thread)
}

/// A stack from the heap with the UTCB's address in its last word, and the function below that. Its first
/// page is read-only, so that an overflow is an exception.
fn new_stack(address: u32, function: extern "C" fn(u32) -> !) -> Result<u32> {
    let Ok(layout) = Layout::from_size_align(STACK_BYTES as usize, STACK_BYTES as usize) else { return Err(crate::Error::BadArgument) };
    // SAFETY: the layout is not empty.
    let stack = unsafe { alloc_zeroed(layout) };
    if stack.is_null() {
        return Err(crate::Error::PoolExhausted);
    }
    let stack = stack as u32;
    let top = stack + STACK_BYTES - 8;
    let words = [function as *const () as u32, address | utcb::stack_word() & BY_INT];
    // SAFETY: the stack was just allocated, and nobody else knows it; these are its last words.
    unsafe { (top as *mut [u32; 2]).write(words) };
    map::protect(Space(image::slot::SPACE), stack, PAGE_SIZE, Rights::READ)?;
    Ok(top)
}
