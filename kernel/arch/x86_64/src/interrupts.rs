// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vectors and interrupt lines: the IDT, which lines there are, and interrupts while the kernel
//! runs.
//!
//! Interrupts are disabled in the kernel, except in [`open`]. An interrupt there is only recorded,
//! by `from_kernel` in `entry.S`.

use crate::apic::{self, Apic};
use crate::gdt::{Pointer, Stack};
use crate::ioapic;
use crate::paging::{self, physical_of};
use crate::panic::Pc;
use arch_common::lines;
use arch_common::platform::refuse;
use arch_common::shared::{Page, Shared};
use core::arch::asm;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use mmu::area::Page as Part;
use plat_pc::pic;
use x86_64_context::selector::KERNEL_CODE;

/// Exceptions and interrupt lines: vectors that have a stub.
pub const VECTORS: usize = pic::LAST_VECTOR as usize + 1;
/// The debug exception.
pub const DEBUG: usize = 1;
/// The interrupt that cannot be masked.
pub const NMI: usize = 2;
/// The double fault.
pub const DOUBLE_FAULT: usize = 8;
/// The machine check.
pub const MACHINE_CHECK: usize = 18;

/// Line of the timer.
pub const TIMER_LINE: u32 = 0;
/// Interrupt lines that components may have: all but the timer's and the cascade.
pub const COMPONENT_LINES: [u32; pic::LINES - 2] = lines::all_but(&[TIMER_LINE, pic::CASCADE]);

/// A gate's type: an interrupt gate that is present.
const INTERRUPT_GATE: u64 = 0x8e00 << 32;
/// Ring 3 may use the gate by `int`.
const FOR_USERS: u64 = 3 << 45;

static IDT: Shared<Page<[[u64; 2]; 256]>> = Shared::new(Page([[0; 2]; 256]));

/// Interrupt lines that came in [`open`], a bit each.
pub static PENDING: AtomicU32 = AtomicU32::new(0);

/// The vector of the timer.
pub const TIMER_VECTOR: u8 = pic::FIRST_VECTOR + TIMER_LINE as u8;

/// Whether lines come by the PC's interrupt controllers; otherwise they come by the I/O APIC.
static HAS_PIC: AtomicBool = AtomicBool::new(true);

/// Loads the IDT and starts the interrupt controllers, the PC's if there are any. Their timer line
/// is unmasked if no local APIC's timer is used. `handlers` are the entry points of the first
/// vectors.
pub fn init(handlers: &[u64; VECTORS], has_pic: bool, apic: Option<Apic>) {
    // SAFETY: one processor at boot; nobody else has a reference.
    let idt = unsafe { &mut (*IDT.get()).0 };
    for (vector, handler) in handlers.iter().enumerate() {
        let stack = match vector {
            DEBUG => Stack::Debug as u64,
            NMI => Stack::Nmi as u64,
            DOUBLE_FAULT => Stack::DoubleFault as u64,
            MACHINE_CHECK => Stack::MachineCheck as u64,
            _ => 0,
        };
        idt[vector] = gate(vector, *handler, stack);
    }
    paging::map_area(Part::Interrupts as usize, physical_of(&IDT), false);
    let pointer = Pointer { limit: 256 * 16 - 1, base: Part::Interrupts.address() };
    // SAFETY: the table is static and filled in; its gates lead to the entry code.
    unsafe { asm!("lidt [{}]", in(reg) &pointer) };
    HAS_PIC.store(has_pic, Ordering::Relaxed);
    if has_pic {
        pic::init();
        pic::set_enabled(TIMER_LINE, apic.is_none());
    } else if !apic.and_then(|apic| apic.id()).is_some_and(ioapic::init) {
        refuse::<Pc>(
            "no interrupts: there are no PC's controllers, and an I/O APIC needs a local APIC whose timer counts",
        )
    }
}

/// Unmasks a line, or masks it.
pub fn set_enabled(line: u32, enabled: bool) {
    if HAS_PIC.load(Ordering::Relaxed) {
        pic::set_enabled(line, enabled);
    } else {
        ioapic::set_enabled(line, enabled);
    }
}

/// The gate of a vector: the address of its handler, and which of the exceptions' stacks it uses;
/// 0: the stack of ring 0.
pub fn gate(vector: usize, handler: u64, stack: u64) -> [u64; 2] {
    // The breakpoint instruction.
    let users = if vector == 3 { FOR_USERS } else { 0 };
    let low = handler & 0xffff
        | u64::from(KERNEL_CODE) << 16
        | stack << 32
        | INTERRUPT_GATE
        | users
        | (handler >> 16 & 0xffff) << 48;
    [low, handler >> 32]
}

/// The processor has taken a line's interrupt. Returns false if it is spurious.
pub fn take(line: u32) -> bool {
    if HAS_PIC.load(Ordering::Relaxed) {
        if line == TIMER_LINE {
            apic::end();
        }
        return pic::take(line);
    }
    let vector = pic::FIRST_VECTOR + line as u8;
    // What is spurious has the vector of the last line.
    if vector == pic::LAST_VECTOR && !apic::is_in_service(vector) {
        return false;
    }
    // It would come again at once while the line is high.
    if line != TIMER_LINE {
        ioapic::set_enabled(line, false);
    }
    apic::end();
    true
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
