// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segment descriptors: the GDT and the task-state segments (Intel SDM, volume 3, chapters 3 and
//! 7).

use crate::layout::{IO_BITMAP, KERNEL_BASE, TSS};
use crate::regs;
use arch_common::shared::{Lines, Shared};
use core::arch::asm;
use ia32_context::selector::{
    SERVER_CODE, SERVER_DATA, SMALL_CODE, SMALL_DATA, TLS, USER_CODE, USER_DATA,
};
use mmu::descriptor::{self, segment};

/// Ring-0 code; `sysenter` requires that ring-0 data, ring-3 code and ring-3 data follow.
pub const KERNEL_CODE: u16 = 0x08;
/// Ring-0 data.
pub const KERNEL_DATA: u16 = 0x10;
const TASK: u16 = 0x28;
/// The task that a double fault switches to.
pub const DOUBLE_FAULT_TASK: u16 = 0x48;
/// For the test whether the machine checks segment limits ([`probe_limits`]).
const PROBE: u16 = 0x30;
const ENTRIES: usize = 14;
/// Which byte of a segment descriptor says that it is present, its ring and its type.
pub const ACCESS_BYTE: usize = 5;

/// Bytes from the task-state segment to the end of the I/O bitmap and the byte of
/// ones after it.
const TASK_LIMIT: u32 = IO_BITMAP + 8192 - TSS;
/// Offset of the I/O bitmap in the task-state segment.
const IO_OFFSET: u16 = (IO_BITMAP - TSS) as u16;
/// An offset beyond the segment: no port is allowed.
const NO_IO: u16 = 0xffff;

/// Access parts of a segment descriptor's upper word.
mod access {
    /// Limits count pages.
    pub const PAGES: u32 = 1 << 23;
    pub const FLAT: u32 = PAGES | 1 << 22 | 1 << 15 | 1 << 12;
    /// The byte of presence, ring and type.
    pub const ALL: u32 = 0xff << (8 * (super::ACCESS_BYTE - 4));
    pub const CODE: u32 = 0b1011 << 8;
    pub const DATA: u32 = 0b0011 << 8;
    pub const RING1: u32 = 1 << 13;
    pub const RING3: u32 = 3 << 13;
    pub const TASK: u32 = 1 << 15 | 0b1001 << 8;
}

/// The access byte of the ring-3 segments of large spaces: code, data.
pub const USER_ACCESS: [u8; 2] = [user_access(access::CODE), user_access(access::DATA)];

const fn user_access(kind: u32) -> u8 {
    ((access::FLAT | kind | access::RING3) >> (8 * (ACCESS_BYTE - 4))) as u8
}

/// Limit of a segment that ends where the kernel begins, in pages.
const BELOW_KERNEL: u32 = (KERNEL_BASE >> 12) - 1;

/// Words of a task-state segment.
pub mod task {
    pub const WORDS: usize = 26;
    /// Stack segment of ring 0.
    pub const SS0: usize = 2;
    /// Stack pointer of ring 1. No gate enters ring 1, so the processor does not read this word.
    pub const ESP1: usize = 3;
    /// The same of ring 2.
    pub const ESP2: usize = 5;
    pub const CR3: usize = 7;
    pub const EIP: usize = 8;
    pub const EFLAGS: usize = 9;
    pub const ESP: usize = 14;
    pub const ES: usize = 18;
    pub const CS: usize = 19;
    pub const SS: usize = 20;
    pub const DS: usize = 21;
    /// The upper half is the offset of the I/O bitmap.
    pub const IO: usize = 25;
}

/// The global descriptor table. Only this module writes it, `fast/alien.S` the segment descriptors
/// of TLS, and `switch.S` those of small spaces.
pub static GDT: Shared<Lines<[[u32; 2]; ENTRIES]>> = Shared::new(Lines([[0; 2]; ENTRIES]));
static DOUBLE_FAULT_TSS: Shared<Lines<[u32; task::WORDS]>> = Shared::new(Lines([0; task::WORDS]));
static DOUBLE_FAULT_STACK: Shared<Lines<[u32; 1024]>> = Shared::new(Lines([0; 1024]));

/// The operand of `lgdt` and `lidt`.
#[repr(C, packed)]
pub struct Pointer {
    /// The last byte's offset.
    pub limit: u16,
    /// Linear address of the table.
    pub base: u32,
}

/// Changes the table.
fn change<T>(how: impl FnOnce(&mut [[u32; 2]; ENTRIES]) -> T) -> T {
    // SAFETY: one processor, interrupts off, and no `how` calls anything that changes it: nobody
    // else has a reference. The processor reads it only when a selector is loaded.
    how(unsafe { &mut (*GDT.get()).0 })
}

/// Loads the table and the task register. A double fault goes to `double_fault`.
pub fn init(double_fault: u32) {
    change(|gdt| {
        gdt[1] = segment(0, 0xf_ffff, access::FLAT | access::CODE);
        gdt[2] = segment(0, 0xf_ffff, access::FLAT | access::DATA);
        gdt[3] = segment(0, 0xf_ffff, access::FLAT | access::CODE | access::RING3);
        gdt[4] = segment(0, 0xf_ffff, access::FLAT | access::DATA | access::RING3);
        gdt[usize::from(SERVER_CODE >> 3)] =
            segment(0, BELOW_KERNEL, access::FLAT | access::CODE | access::RING1);
        gdt[usize::from(SERVER_DATA >> 3)] =
            segment(0, BELOW_KERNEL, access::FLAT | access::DATA | access::RING1);
        gdt[usize::from(TASK >> 3)] = segment(TSS, TASK_LIMIT, access::TASK);
        gdt[usize::from(DOUBLE_FAULT_TASK >> 3)] =
            segment(DOUBLE_FAULT_TSS.address(), task::WORDS as u32 * 4 - 1, access::TASK);
    });
    init_double_fault(double_fault);
    // SAFETY: the task-state segment lies in the processor's page, which boot mapped; only the
    // fields of ring 0 and the bitmap's offset matter.
    unsafe { (TSS as *mut u32).add(task::SS0).write_volatile(u32::from(KERNEL_DATA)) };
    open_io(false);
    let pointer = Pointer { limit: (ENTRIES * 8 - 1) as u16, base: GDT.address() };
    // SAFETY: the table is static and filled in; the selectors name the segment descriptors above,
    // which are the flat ones that boot left the processor with.
    unsafe {
        asm!(
            "lgdt [{gdt}]",
            "push {code}", "lea {t}, [2f]", "push {t}", "retf", "2:",
            "mov {t}, {data}", "mov ds, {t:x}", "mov es, {t:x}", "mov ss, {t:x}",
            "xor {t:e}, {t:e}", "mov fs, {t:x}", "mov gs, {t:x}", "lldt {t:x}",
            "mov {t}, {task}", "ltr {t:x}",
            gdt = in(reg) &pointer, t = out(reg) _,
            code = const KERNEL_CODE, data = const KERNEL_DATA, task = const TASK,
        );
    }
}

/// A task of its own for the double fault, whose stack cannot be trusted.
fn init_double_fault(handler: u32) {
    // SAFETY: one processor at boot; the processor writes it only on a double fault, which ends
    // all.
    let tss = unsafe { &mut (*DOUBLE_FAULT_TSS.get()).0 };
    tss[task::CR3] = regs::read_cr3();
    tss[task::EIP] = handler;
    tss[task::EFLAGS] = 2;
    tss[task::ESP] = DOUBLE_FAULT_STACK.address() + 4096;
    for (index, selector) in [
        (task::ES, KERNEL_DATA),
        (task::CS, KERNEL_CODE),
        (task::SS, KERNEL_DATA),
        (task::DS, KERNEL_DATA),
    ] {
        tss[index] = u32::from(selector);
    }
}

/// Whether the machine checks segment limits: QEMU does not. It is called at boot, when exceptions
/// can be taken. `faults` tells whether a read through FS at this offset faults; FS is a segment of
/// one byte, at the start of the kernel's image.
pub fn probe_limits(faults: impl FnOnce(u32) -> bool) -> bool {
    let set = |descriptor| change(|gdt| gdt[usize::from(PROBE >> 3)] = descriptor);
    set(segment(KERNEL_BASE, 0, access::FLAT & !access::PAGES | access::DATA));
    regs::set_fs_gs(u32::from(PROBE));
    let hold = faults(1);
    regs::set_fs_gs(0);
    set([0; 2]);
    hold
}

/// Makes the segments of ring 3 end where the kernel begins, because a server at ring 1 can load
/// them, too.
pub fn limit_users() {
    change(|gdt| {
        gdt[3] = segment(0, BELOW_KERNEL, access::FLAT | access::CODE | access::RING3);
        gdt[4] = segment(0, BELOW_KERNEL, access::FLAT | access::DATA | access::RING3);
    });
}

/// Gives ring 3 only the segments of a small space (`mmu::descriptor::region`), or those of large
/// spaces. A thread whose space was small may still have the selectors of small spaces: in the
/// second case they name the segments of large spaces, too.
pub fn set_region(region: Option<[u32; 2]>) {
    change(|gdt| {
        let accesses = if region.is_some() { [0; 2] } else { USER_ACCESS };
        for (selector, access) in [USER_CODE, USER_DATA].into_iter().zip(accesses) {
            let high = &mut gdt[usize::from(selector >> 3)][1];
            *high = *high & !access::ALL | u32::from(access) << (8 * (ACCESS_BYTE - 4));
        }
        let large = [gdt[usize::from(USER_CODE >> 3)], gdt[usize::from(USER_DATA >> 3)]];
        let [code, data] =
            region.map_or(large, |[low, high]| [[low, high | descriptor::CODE], [low, high]]);
        gdt[usize::from(SMALL_CODE >> 3)] = code;
        gdt[usize::from(SMALL_DATA >> 3)] = data;
    });
}

/// Makes the first TLS segment descriptor one that cannot be loaded, but keeps its base and limit.
/// `switch.S` does the same.
pub fn hide_tls() {
    change(|gdt| gdt[usize::from(TLS >> 3)][1] &= !access::ALL);
}

/// Puts a thread's TLS segment descriptors (or empty ones) into the GDT.
pub fn load_tls(tls: &[[u32; 2]; 3]) {
    change(|gdt| gdt[usize::from(TLS >> 3)..][..3].copy_from_slice(tls));
}

/// Shows the I/O bitmap to the processor, or hides it.
pub fn open_io(open: bool) {
    let offset = if open { IO_OFFSET } else { NO_IO };
    // SAFETY: the bitmap's offset in the task-state segment; see `init`.
    unsafe { (TSS as *mut u16).add(2 * task::IO + 1).write_volatile(offset) };
}
