// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segment descriptors, which in long mode have little more than a ring, and the task-state
//! segment: the stack of ring 0, the stacks of exceptions that may come when that stack cannot be
//! used, and the I/O bitmap (Intel SDM, volume 3, chapters 3 and 7).

use crate::layout::{IO_BITMAP, TASK as TASK_ADDRESS, TSS, wide};
use crate::paging::{self, physical_of};
use arch_common::shared::{Lines, Page, Shared};
use core::arch::asm;
use mmu::area::Page as Part;
use x86_64_context::selector::{
    KERNEL_CODE, KERNEL_DATA, SERVER_CODE, SERVER_DATA, TASK, USER_CODE, USER_DATA,
};

const ENTRIES: usize = 10;

/// Bytes from the task-state segment to the end of the I/O bitmap and the byte of ones after it.
const TASK_LIMIT: u32 = IO_BITMAP + 8192 - TSS;
/// Offset of the I/O bitmap in the task-state segment.
const IO_OFFSET: u16 = (IO_BITMAP - TSS) as u16;
/// An offset beyond the segment: no port is allowed.
const NO_IO: u16 = 0xffff;

/// Descriptors, with their *accessed* bit set.
mod descriptor {
    const PRESENT: u64 = 1 << 47;
    const RING1: u64 = 1 << 45;
    const RING3: u64 = 3 << 45;
    const SEGMENT: u64 = 1 << 44;
    const LONG: u64 = 1 << 53;
    pub const CODE: u64 = PRESENT | SEGMENT | LONG | 0b1011 << 40;
    pub const DATA: u64 = PRESENT | SEGMENT | 0b0011 << 40;
    pub const SERVER_CODE: u64 = CODE | RING1;
    pub const SERVER_DATA: u64 = DATA | RING1;
    pub const USER_CODE: u64 = CODE | RING3;
    pub const USER_DATA: u64 = DATA | RING3;
    /// A task-state segment that is available.
    pub const TASK: u64 = PRESENT | 0b1001 << 40;
}

/// 32-bit words of the task-state segment.
pub mod task {
    /// Ring 0's stack pointer, two words.
    pub const RSP0: usize = 1;
    /// The upper half of ring 0's stack pointer: the lower one is `Cpu::current`.
    pub const RSP0_HIGH: usize = 2;
    /// The first of seven stack pointers of two words each.
    pub const IST1: usize = 9;
    /// The upper half is the offset of the I/O bitmap.
    pub const IO: usize = 25;
}

/// Exceptions that have a stack of their own, by its number, from 1 on. They may come at an
/// instruction of the entry code that has no kernel stack yet, or when the stack cannot be used.
#[derive(Clone, Copy)]
pub enum Stack {
    /// The double fault.
    DoubleFault = 1,
    /// The interrupt that cannot be masked.
    Nmi = 2,
    /// The machine check.
    MachineCheck = 3,
    /// The debug exception.
    Debug = 4,
}

/// Bytes of such a stack: only the words that the processor pushes stay there.
const STACK_BYTES: usize = 256;
const STACKS: usize = 4;
static EXCEPTION_STACKS: Shared<Lines<[[u8; STACK_BYTES]; STACKS]>> =
    Shared::new(Lines([[0; STACK_BYTES]; STACKS]));

static GDT: Shared<Page<[u64; ENTRIES]>> = Shared::new(Page([0; ENTRIES]));

/// Where the table is: in a page of its own.
pub fn physical() -> u32 {
    physical_of(&GDT)
}

/// The operand of `lgdt` and `lidt`.
#[repr(C, packed)]
pub struct Pointer {
    /// The last byte's offset.
    pub limit: u16,
    /// Address of the table.
    pub base: u64,
}

/// The descriptor of the task-state segment: two entries.
const fn task_descriptor() -> [u64; 2] {
    let base = TASK_ADDRESS;
    let low = (base & 0xff_ffff) << 16 | (base >> 24 & 0xff) << 56;
    let limit = (TASK_LIMIT & 0xffff) as u64 | (TASK_LIMIT as u64 >> 16) << 48;
    [descriptor::TASK | low | limit, base >> 32]
}

/// Loads the table and the task register.
pub fn init() {
    // SAFETY: one processor at boot; nobody else has a reference.
    let gdt = unsafe { &mut (*GDT.get()).0 };
    for (selector, descriptor) in [
        (KERNEL_CODE, descriptor::CODE),
        (KERNEL_DATA, descriptor::DATA),
        (USER_DATA, descriptor::USER_DATA),
        (USER_CODE, descriptor::USER_CODE),
        (SERVER_CODE, descriptor::SERVER_CODE),
        (SERVER_DATA, descriptor::SERVER_DATA),
    ] {
        gdt[usize::from(selector >> 3)] = descriptor;
    }
    let task = usize::from(TASK >> 3);
    gdt[task..task + 2].copy_from_slice(&task_descriptor());
    set_task_word(task::RSP0_HIGH, u32::MAX);
    for stack in [Stack::DoubleFault, Stack::Nmi, Stack::MachineCheck, Stack::Debug] {
        let (number, word) = (stack as u32, task::IST1 + 2 * (stack as usize - 1));
        set_task_word(word, EXCEPTION_STACKS.address() + number * STACK_BYTES as u32);
        set_task_word(word + 1, u32::MAX);
    }
    open_io(false);
    paging::map_area(Part::Segments as usize, physical(), false);
    let pointer = Pointer { limit: (ENTRIES * 8 - 1) as u16, base: wide(GDT.address()) };
    // Where it is for good: nobody can write it there, but the processor has noted already what it
    // notes in it.
    let last = Pointer { base: Part::Segments.address(), ..pointer };
    // SAFETY: the table is static and filled in. The selectors name the descriptors above, of which
    // the kernel's are as those that boot left the processor with.
    unsafe {
        asm!(
            "lgdt [{gdt}]",
            "push {code}", "lea {t}, [rip + 2f]", "push {t}", "retfq", "2:",
            "mov {t:e}, {data}", "mov ss, {t:e}",
            "xor {t:e}, {t:e}", "mov ds, {t:e}", "mov es, {t:e}", "mov fs, {t:e}", "mov gs, {t:e}", "lldt {t:x}",
            "mov {t:e}, {task}", "ltr {t:x}", "lgdt [{last}]",
            gdt = in(reg) &pointer, last = in(reg) &last, t = out(reg) _,
            code = const KERNEL_CODE, data = const KERNEL_DATA, task = const TASK,
        );
    }
}

fn set_task_word(word: usize, value: u32) {
    // SAFETY: a word of the task-state segment, which lies in the processor's page, which boot
    // mapped; `Cpu::current` is none of those that are set here.
    unsafe { (wide(TSS) as *mut u32).add(word).write_volatile(value) };
}

/// Shows the I/O bitmap to the processor, or hides it.
pub fn open_io(open: bool) {
    set_task_word(task::IO, io_word(open));
}

/// The word of the task-state segment that shows the I/O bitmap, or hides it.
pub fn io_word(open: bool) -> u32 {
    u32::from(if open { IO_OFFSET } else { NO_IO }) << 16
}
