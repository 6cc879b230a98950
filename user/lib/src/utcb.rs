// SPDX-License-Identifier: MIT OR Apache-2.0
//! The current thread's UTCB, word by word: the kernel writes it, so no reference to
//! it is ever made.

use crate::{STACK_BYTES, arch};
use abi::Word;
use abi::utcb::Utcb;
use core::mem::offset_of;

/// The last two words of the current thread's stack: where its component counts messages
/// (`image::layout`), then its UTCB's address, and flags of the processor's library below that.
pub(crate) fn stack_words() -> [Word; 2] {
    let last =
        (arch::stack_pointer() | (STACK_BYTES as Word - 1)) + 1 - size_of::<[Word; 2]>() as Word;
    // SAFETY: start-up (`arch`, `thread.rs`) wrote them to the end of each stack.
    unsafe { (last as *const [Word; 2]).read_volatile() }
}

/// Address of the current thread's UTCB.
#[must_use]
pub fn address() -> Word {
    stack_words()[1] & !arch::STACK_FLAGS
}

fn read<T: Copy>(offset: usize) -> T {
    // SAFETY: inside the UTCB, which the kernel keeps mapped for as long as the thread lives. `T`
    // is an integer.
    unsafe { ((address() as usize + offset) as *const T).read_volatile() }
}

fn write<T: Copy>(offset: usize, value: T) {
    // SAFETY: as `read`.
    unsafe { ((address() as usize + offset) as *mut T).write_volatile(value) };
}

/// Message word `index`, 0 to 63.
#[must_use]
pub fn word(index: usize) -> Word {
    assert!(index < 64, "message word {index}");
    read(offset_of!(Utcb, words) + index * size_of::<Word>())
}

/// Sets message word `index`, 0 to 63.
pub fn set_word(index: usize, value: Word) {
    assert!(index < 64, "message word {index}");
    write(offset_of!(Utcb, words) + index * size_of::<Word>(), value);
}

/// Sets the notification bits that the thread accepts when it receives.
pub fn accept(bits: u32) {
    write(offset_of!(Utcb, accept), bits);
}

/// The pending notification bits; it makes no system call.
#[must_use]
pub fn pending() -> u32 {
    read(offset_of!(Utcb, pending))
}

/// Sets the first slot for received capabilities.
pub fn set_receive_slot(slot: u32) {
    write(offset_of!(Utcb, receive_slot), slot);
}

/// Sets capability `index` (0 to 2) of the next message.
pub fn set_send_cap(index: usize, item: abi::utcb::CapItem) {
    assert!(index < 3, "capability {index}");
    write(offset_of!(Utcb, send_caps) + index * 4, item.0);
}
