// SPDX-License-Identifier: MIT OR Apache-2.0
//! The current thread's UTCB, word by word: the kernel writes it, so no reference to
//! it is ever made.

use crate::STACK_BYTES;
use crate::sys::BY_INT;
use abi::utcb::Utcb;
use core::mem::offset_of;

/// The last word of the current thread's stack: its UTCB's address, and [`BY_INT`] below that.
pub(crate) fn stack_word() -> u32 {
    let stack: u32;
    // SAFETY: reads the stack pointer.
    unsafe { core::arch::asm!("mov {}, esp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
    // SAFETY: start-up (`start.rs`, `thread.rs`) wrote it to the last word of each stack.
    unsafe { (((stack | (STACK_BYTES - 1)) - 3) as *const u32).read_volatile() }
}

/// Address of the current thread's UTCB.
#[must_use]
pub fn address() -> u32 {
    stack_word() & !BY_INT
}

fn read(offset: usize) -> u32 {
    // SAFETY: inside the UTCB, which the kernel keeps mapped for as long as the thread lives.
    unsafe { ((address() + offset as u32) as *const u32).read_volatile() }
}

fn write(offset: usize, value: u32) {
    // SAFETY: as `read`.
    unsafe { ((address() + offset as u32) as *mut u32).write_volatile(value) };
}

/// Message word `index`, 0 to 63.
#[must_use]
pub fn word(index: usize) -> u32 {
    assert!(index < 64, "message word {index}");
    read(offset_of!(Utcb, words) + index * 4)
}

/// Sets message word `index`, 0 to 63.
pub fn set_word(index: usize, value: u32) {
    assert!(index < 64, "message word {index}");
    write(offset_of!(Utcb, words) + index * 4, value);
}

/// Names the notification bits that receives accept from now on.
pub fn accept(bits: u32) {
    write(offset_of!(Utcb, accept), bits);
}

/// Notification bits that wait, without a system call.
#[must_use]
pub fn pending() -> u32 {
    read(offset_of!(Utcb, pending))
}

/// Where received capabilities go.
pub fn set_receive_slot(slot: u32) {
    write(offset_of!(Utcb, receive_slot), slot);
}

/// Capability `index` (0 to 2) to send.
pub fn set_send_cap(index: usize, item: abi::utcb::CapItem) {
    assert!(index < 3, "capability {index}");
    write(offset_of!(Utcb, send_caps) + index * 4, item.0);
}
