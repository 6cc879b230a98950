// SPDX-License-Identifier: MIT OR Apache-2.0
//! Further threads in the component's own space.
//!
//! All threads of a component share its heap, whose lock spins. So all of them have the same
//! priority, or those of higher priority do not allocate.

use crate::{Quota, Result, Rights, STACK_BYTES, Space, Thread, arch, map, utcb};
use abi::{PAGE_SIZE, Word};
use alloc::alloc::{Layout, alloc_zeroed};

/// Starts a thread in the component's own space, with a stack from the heap, at the priority of the
/// calling thread. The thread executes `function`, which gets `argument`. Its capability goes to
/// the empty slot `slot` ([`Env::free_slot`](crate::Env::free_slot)). Its exceptions go to the root
/// server, which then takes the component down. A thread that is stopped keeps its stack.
///
/// # Errors
/// `PoolExhausted` if the heap has no room for the stack; what the kernel says.
pub fn spawn(function: extern "C" fn(Word) -> !, argument: Word, slot: Word) -> Result<Thread> {
    spawn_handled(function, argument, slot, Some(Thread(image::slot::ROOT as Word)))
}

/// The same with another handler for the thread's exceptions; without one, the kernel prints them.
///
/// # Errors
/// As [`spawn`].
pub fn spawn_handled(
    function: extern "C" fn(Word) -> !,
    argument: Word,
    slot: Word,
    handler: Option<Thread>,
) -> Result<Thread> {
    let (thread, bound) = Quota(image::slot::QUOTA as Word).create_thread(
        Space(image::slot::SPACE as Word),
        slot,
        None,
    )?;
    thread.set_handler(handler)?;
    let top = new_stack(bound.utcb, function)?;
    thread.start(arch::thread_entry(), top, argument)?;
    Ok(thread)
}

/// A stack from the heap with the UTCB's address in its last word, before that the address of the
/// count of messages, and below them the function. Its first page is read-only, so that an overflow
/// is an exception.
fn new_stack(address: Word, function: extern "C" fn(Word) -> !) -> Result<Word> {
    let Ok(layout) = Layout::from_size_align(STACK_BYTES as usize, STACK_BYTES as usize) else {
        return Err(crate::Error::BadArgument);
    };
    // SAFETY: the layout is not empty.
    let stack = unsafe { alloc_zeroed(layout) };
    if stack.is_null() {
        return Err(crate::Error::PoolExhausted);
    }
    let stack = stack as Word;
    let [messages, own] = utcb::stack_words();
    let words = [function as *const () as Word, messages, address | own & arch::STACK_FLAGS];
    let top = stack + STACK_BYTES as Word - size_of_val(&words) as Word;
    // SAFETY: the stack was just allocated, and nobody else knows it; these are its top words.
    unsafe { (top as *mut [Word; 3]).write(words) };
    map::protect(Space(image::slot::SPACE as Word), stack, PAGE_SIZE, Rights::READ)?;
    Ok(top)
}
