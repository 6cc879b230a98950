// SPDX-License-Identifier: MIT OR Apache-2.0
//! More threads in the own space.
//!
//! All threads of a component share its heap, whose lock spins: threads of one
//! component run at one priority, or those above the others do not allocate.

use crate::{Quota, Result, STACK_BYTES, Space, Thread};
use alloc::alloc::{Layout, alloc_zeroed};
use core::arch::global_asm;

global_asm!(
    ".section .text.thread, \"ax\", @progbits",
    ".global macadamia_thread",
    // EBX: UTCB address; ESI: argument; on the stack: the function. Never returns.
    "macadamia_thread:",
    // Before the pop: behind it the stack pointer is that of the next block.
    "mov ecx, esp",
    "pop eax",
    "and ecx, {mask}",
    "mov [ecx], ebx",
    "xor ebp, ebp",
    "push esi",
    "call eax",
    "ud2",
    mask = const !(STACK_BYTES - 1),
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
    let (thread, _) = Quota(image::slot::QUOTA).create_thread(Space(image::slot::SPACE), slot, None)?;
    thread.set_handler(Some(Thread(image::slot::ROOT)))?;
    let stack = new_stack()?;
    // SAFETY: the stack was just allocated; its last word is inside it.
    unsafe { ((stack + STACK_BYTES - 4) as *mut u32).write(function as *const () as u32) };
    thread.start(macadamia_thread as *const () as u32, stack + STACK_BYTES - 4, argument)?;
    Ok(thread)
}

/// A stack from the heap.
fn new_stack() -> Result<u32> {
    let Ok(layout) = Layout::from_size_align(STACK_BYTES as usize, STACK_BYTES as usize) else { return Err(crate::Error::BadArgument) };
    // SAFETY: the layout is not empty.
    let stack = unsafe { alloc_zeroed(layout) };
    if stack.is_null() { Err(crate::Error::PoolExhausted) } else { Ok(stack as u32) }
}
