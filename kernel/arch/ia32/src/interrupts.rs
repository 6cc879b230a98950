// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vectors and interrupt lines: the IDT, which lines there are, and interrupts while the kernel
//! runs.
//!
//! Interrupts are disabled in the kernel, except in [`open`]. An interrupt there is only recorded,
//! by `from_kernel` in `entry.S`.

use crate::gdt::{DOUBLE_FAULT_TASK, KERNEL_CODE, Pointer};
use arch_common::lines;
use arch_common::shared::{Lines, Shared};
use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};
use plat_pc::pic;

/// Vector of an alien's system call.
pub const ALIEN_CALL: u8 = 0x80;
const DOUBLE_FAULT: usize = 8;

/// Line of the timer.
pub const TIMER_LINE: u32 = 0;
/// Interrupt lines that components may have: all but the timer's and the cascade.
pub const COMPONENT_LINES: [u32; pic::LINES - 2] = lines::all_but(&[TIMER_LINE, pic::CASCADE]);

/// A gate's type: an interrupt gate, or a task gate; both present.
const INTERRUPT_GATE: u32 = 0x8e00;
const TASK_GATE: u32 = 0x8500;
/// Ring 3 may use the gate by `int`.
const FOR_USERS: u32 = 3 << 13;

static IDT: Shared<Lines<[[u32; 2]; 256]>> = Shared::new(Lines([[0; 2]; 256]));

/// Interrupt lines that came in [`open`], a bit each.
pub static PENDING: AtomicU32 = AtomicU32::new(0);

/// Loads the IDT and starts the interrupt controller. `handlers` are the entry points of the
/// vectors 0 to 255, or 0 for vectors without one.
pub fn init(handlers: &[u32; 256]) {
    // SAFETY: one processor at boot; nobody else has a reference.
    let idt = unsafe { &mut (*IDT.get()).0 };
    for (vector, handler) in handlers.iter().enumerate().filter(|(_, handler)| **handler != 0) {
        let users = if matches!(vector, 3 | 4) || vector >= 0x30 { FOR_USERS } else { 0 };
        idt[vector] = [
            u32::from(KERNEL_CODE) << 16 | handler & 0xffff,
            handler & 0xffff_0000 | INTERRUPT_GATE | users,
        ];
    }
    idt[DOUBLE_FAULT] = [u32::from(DOUBLE_FAULT_TASK) << 16, TASK_GATE];
    let pointer = Pointer { limit: 256 * 8 - 1, base: IDT.address() };
    // SAFETY: the table is static and filled in; its gates lead to the entry code.
    unsafe { asm!("lidt [{}]", in(reg) &pointer) };
    pic::init();
    pic::set_enabled(TIMER_LINE, true);
}

/// Enables interrupts for a moment, or until one comes (`wait`). The lines that came are in
/// [`PENDING`].
pub fn open(wait: bool) {
    // SAFETY: in kernel mode an interrupt only sets a bit in `PENDING` and closes interrupts again
    // (`from_kernel`). `sti` takes effect after the next instruction, so none can slip in before
    // `hlt`.
    unsafe {
        if wait {
            asm!("sti", "hlt", "cli");
        } else {
            asm!("sti", "nop", "nop", "cli");
        }
    }
}

/// Whether lines came in [`open`].
pub fn is_pending() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

/// Takes the lines that came in [`open`].
pub fn take_pending() -> u32 {
    PENDING.swap(0, Ordering::Relaxed)
}
