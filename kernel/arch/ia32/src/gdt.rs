// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptor tables: GDT, IDT, task-state segments.

use crate::layout::{IO_BITMAP, TSS};
use crate::regs;
use core::arch::asm;
use core::cell::UnsafeCell;
use ia32_context::selector::TLS;
use mmu::descriptor::segment;

/// Ring-0 code; `sysenter` wants ring-0 data, ring-3 code and data to follow.
pub const KERNEL_CODE: u16 = 0x08;
/// Ring-0 data.
pub const KERNEL_DATA: u16 = 0x10;
const TASK: u16 = 0x28;
const DOUBLE_FAULT_TASK: u16 = 0x48;
const ENTRIES: usize = 10;

/// Bytes from the task-state segment to the end of the I/O bitmap and the byte of
/// ones behind it.
const TASK_LIMIT: u32 = IO_BITMAP + 8192 - TSS;
/// Offset of the I/O bitmap in the task-state segment.
pub const IO_OFFSET: u16 = (IO_BITMAP - TSS) as u16;
/// An offset beyond the segment: no port is allowed.
pub const NO_IO: u16 = 0xffff;

/// Access parts of a descriptor's upper word.
mod access {
    pub const FLAT: u32 = 1 << 23 | 1 << 22 | 1 << 15 | 1 << 12;
    pub const CODE: u32 = 0b1011 << 8;
    pub const DATA: u32 = 0b0011 << 8;
    pub const RING3: u32 = 3 << 13;
    pub const TASK: u32 = 1 << 15 | 0b1001 << 8;
}

/// A table that the processor reads and this module alone writes, and `fast/alien.S` the segment descriptors of TLS.
#[repr(C, align(64))]
pub struct Shared<T>(UnsafeCell<T>);
// SAFETY: one processor; written only with interrupts off, by this module.
unsafe impl<T> Sync for Shared<T> {}

/// The global descriptor table.
pub static GDT: Shared<[[u32; 2]; ENTRIES]> = Shared(UnsafeCell::new([[0; 2]; ENTRIES]));
static IDT: Shared<[[u32; 2]; 256]> = Shared(UnsafeCell::new([[0; 2]; 256]));
static DOUBLE_FAULT_TSS: Shared<[u32; 26]> = Shared(UnsafeCell::new([0; 26]));
static DOUBLE_FAULT_STACK: Shared<[u32; 1024]> = Shared(UnsafeCell::new([0; 1024]));

/// The operand of `lgdt` and `lidt`.
#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u32,
}

/// A gate for `vector`; `user` lets ring 3 use it by `int`.
fn set_gate(vector: usize, handler: u32, user: bool) {
    let flags = 0x8e00 | if user { 0x6000 } else { 0 };
    // SAFETY: `IDT` is written only here, at boot, with interrupts off.
    let idt = unsafe { &mut *IDT.0.get() };
    idt[vector] = [u32::from(KERNEL_CODE) << 16 | handler & 0xffff, handler & 0xffff_0000 | flags];
}

/// Loads both tables and the task register. `handlers` are the entry points of the
/// vectors 0 to 255, 0 where there is none.
pub fn init(handlers: &[u32; 256], double_fault: u32) {
    // SAFETY: one processor at boot; nobody else has a reference.
    let gdt = unsafe { &mut *GDT.0.get() };
    gdt[1] = segment(0, 0xf_ffff, access::FLAT | access::CODE);
    gdt[2] = segment(0, 0xf_ffff, access::FLAT | access::DATA);
    gdt[3] = segment(0, 0xf_ffff, access::FLAT | access::CODE | access::RING3);
    gdt[4] = segment(0, 0xf_ffff, access::FLAT | access::DATA | access::RING3);
    gdt[usize::from(TASK >> 3)] = segment(TSS, TASK_LIMIT, access::TASK);
    gdt[usize::from(DOUBLE_FAULT_TASK >> 3)] = segment(DOUBLE_FAULT_TSS.0.get() as u32, 103, access::TASK);
    for (vector, handler) in handlers.iter().enumerate().filter(|(_, handler)| **handler != 0) {
        set_gate(vector, *handler, matches!(vector, 3 | 4) || vector >= 0x30);
    }
    init_double_fault(double_fault);
    // SAFETY: the task-state segment lies in the processor's page, which boot mapped; only the
    // fields of ring 0 and the bitmap's offset matter.
    unsafe {
        let task = TSS as *mut u32;
        task.add(2).write_volatile(u32::from(KERNEL_DATA));
        (TSS as *mut u16).add(51).write_volatile(NO_IO);
    }
    let gdt_pointer = Pointer { limit: (ENTRIES * 8 - 1) as u16, base: GDT.0.get() as u32 };
    let idt_pointer = Pointer { limit: 256 * 8 - 1, base: IDT.0.get() as u32 };
    // SAFETY: both tables are static and filled in; the selectors name the descriptors above, which
    // are the flat ones that boot left the processor with.
    unsafe {
        asm!(
            "lgdt [{gdt}]", "lidt [{idt}]",
            "push {code}", "lea {t}, [2f]", "push {t}", "retf", "2:",
            "mov {t}, {data}", "mov ds, {t:x}", "mov es, {t:x}", "mov ss, {t:x}",
            "xor {t:e}, {t:e}", "mov fs, {t:x}", "mov gs, {t:x}", "lldt {t:x}",
            "mov {t}, {task}", "ltr {t:x}",
            gdt = in(reg) &gdt_pointer, idt = in(reg) &idt_pointer, t = out(reg) _,
            code = const KERNEL_CODE, data = const KERNEL_DATA, task = const TASK,
        );
    }
}

/// A task of its own for the double fault, whose stack cannot be trusted.
fn init_double_fault(handler: u32) {
    // SAFETY: one processor at boot; the processor writes it only on a double fault, which ends all.
    let tss = unsafe { &mut *DOUBLE_FAULT_TSS.0.get() };
    tss[7] = regs::read_cr3();
    tss[8] = handler;
    tss[9] = 2;
    tss[14] = DOUBLE_FAULT_STACK.0.get() as u32 + 4096;
    for (index, selector) in [(18, KERNEL_DATA), (19, KERNEL_CODE), (20, KERNEL_DATA), (21, KERNEL_DATA)] {
        tss[index] = u32::from(selector);
    }
    // SAFETY: as in `set_gate`; a task gate in place of an interrupt gate.
    let idt = unsafe { &mut *IDT.0.get() };
    idt[8] = [u32::from(DOUBLE_FAULT_TASK) << 16, 0x8500];
}

/// Puts a thread's TLS descriptors (or empty ones) into the GDT.
pub fn load_tls(tls: &[[u32; 2]; 3]) {
    // SAFETY: with interrupts off nobody reads the table but the processor, at segment loads.
    let gdt = unsafe { &mut *GDT.0.get() };
    gdt[usize::from(TLS >> 3)..][..3].copy_from_slice(tls);
}

/// Opens the I/O bitmap to the processor, or closes it.
pub fn open_io(open: bool) {
    // SAFETY: word 51 of the task-state segment is the bitmap's offset; see `init`.
    unsafe { (TSS as *mut u16).add(51).write_volatile(if open { IO_OFFSET } else { NO_IO }) };
}
