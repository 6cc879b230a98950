// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of the processor, by their names in the Intel SDM (volume 3, chapter 2; MSRs:
//! volume 4).

use core::arch::asm;
use x86_64_context::selector::KERNEL_DATA;

/// RFLAGS: trap flag.
pub const RFLAGS_TF: u64 = 1 << 8;
/// RFLAGS: interrupts enabled.
pub const RFLAGS_IF: u64 = 1 << 9;
/// RFLAGS: direction.
pub const RFLAGS_DF: u64 = 1 << 10;
/// RFLAGS: what I/O privilege user mode has.
pub const RFLAGS_IOPL: u64 = 3 << 12;
/// RFLAGS: nested task.
pub const RFLAGS_NT: u64 = 1 << 14;
/// RFLAGS: the next instruction raises no breakpoint.
pub const RFLAGS_RF: u64 = 1 << 16;
/// RFLAGS: virtual 8086 mode, which exists in long mode only in QEMU.
pub const RFLAGS_VM: u64 = 1 << 17;
/// RFLAGS: alignment check; in the kernel it allows access to user pages.
pub const RFLAGS_AC: u64 = 1 << 18;
/// CR0: task switched: the FPU traps.
pub const CR0_TS: u64 = 1 << 3;
/// CR0: paging.
pub const CR0_PG: u64 = 1 << 31;
/// CR0: protected mode.
pub const CR0_PE: u64 = 1;
/// CR0 as the kernel needs it: protected mode, monitor coprocessor, a bit that is always set,
/// native error, write protect, paging. The FPU does not trap yet.
const CR0: u64 = CR0_PE | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 16 | CR0_PG;
/// CR4: entries of 64 bits.
pub const CR4_PAE: u64 = 1 << 5;
/// CR4: machine checks are reported.
pub const CR4_MCE: u64 = 1 << 6;
/// CR4: global pages.
pub const CR4_PGE: u64 = 1 << 7;
/// CR4: `fxsave`, SSE; SSE exceptions.
pub const CR4_FXSR: u64 = 1 << 9 | 1 << 10;
/// CR4: users cannot read where descriptor tables are.
pub const CR4_UMIP: u64 = 1 << 11;
/// CR4: translations have a tag, the PCID in the lowest 12 bits of CR3.
pub const CR4_PCIDE: u64 = 1 << 17;
/// CR4: `xsave`.
pub const CR4_OSXSAVE: u64 = 1 << 18;
/// CR4: the kernel executes no page of users.
pub const CR4_SMEP: u64 = 1 << 20;
/// CR4: the kernel reads and writes no page of users.
pub const CR4_SMAP: u64 = 1 << 21;

/// Extended features.
pub const EFER: u32 = 0xc000_0080;
/// EFER: `syscall`.
pub const EFER_SCE: u64 = 1;
/// EFER: long mode.
pub const EFER_LME: u64 = 1 << 8;
/// EFER: pages that are not executed.
pub const EFER_NXE: u64 = 1 << 11;
/// Segments of `syscall` and `sysret`.
pub const STAR: u32 = 0xc000_0081;
/// Where `syscall` goes.
pub const LSTAR: u32 = 0xc000_0082;
/// Where `syscall` goes from 32-bit code.
pub const CSTAR: u32 = 0xc000_0083;
/// Which flags `syscall` clears.
pub const FMASK: u32 = 0xc000_0084;
/// The vulnerabilities that the processor does not have.
pub const ARCH_CAPABILITIES: u32 = 0x10a;
/// In that: Meltdown (RDCL_NO).
pub const RDCL_NO: u64 = 1;
/// In that: that programs find out what is in the processor's buffers (MDS_NO).
pub const MDS_NO: u64 = 1 << 5;
/// What the processor is to do about predictions.
const PRED_CMD: u32 = 0x49;
/// In that: it drops those of branches (IBPB).
const IBPB: u64 = 1;
/// Where the local APIC is, and how it is accessed.
pub const APIC_BASE: u32 = 0x1b;
/// In that: the APIC is enabled; it is accessed by MSRs; the address of its registers.
pub const APIC_ON: u64 = 1 << 11;
/// See [`APIC_ON`].
pub const APIC_BY_MSR: u64 = 1 << 10;
/// See [`APIC_ON`].
pub const APIC_ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// When the local APIC's timer is due, by the time-stamp counter.
pub const TSC_DEADLINE: u32 = 0x6e0;
/// The base of FS.
pub const FS_BASE: u32 = 0xc000_0100;
/// The base of GS.
pub const GS_BASE: u32 = 0xc000_0101;
/// What `swapgs` exchanges it with.
const KERNEL_GS_BASE: u32 = 0xc000_0102;
/// The code segment of `sysenter`; 0: there is none, and `sysenter` faults.
const SYSENTER_CS: u32 = 0x174;
/// What is recorded, and whether a single step is one branch.
const DEBUGCTL: u32 = 0x1d9;
/// What `rdtscp` tells users besides the counter.
const TSC_AUX: u32 = 0xc000_0103;
/// The memory types that the bits of an entry select.
const PAT: u32 = 0x277;
/// The same as after a reset.
const PAT_OF_RESET: u64 = 0x0007_0406_0007_0406;
/// DR7 without breakpoints.
const NO_BREAKPOINTS: u64 = 1 << 10;
/// DR6 when no debug condition was met.
const NOTHING_MET: u64 = 0xffff_0ff0;

/// Page-fault address.
pub fn read_cr2() -> u64 {
    let value;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, cr2", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Physical address of the highest table, and the PCID.
pub fn read_cr3() -> u64 {
    let value;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, cr3", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Loads CR3: a highest table, and the other bits of a space's word (`mmu::pcid`).
///
/// # Safety
/// It maps the kernel as boot's does.
pub unsafe fn write_cr3(table: u64) {
    // SAFETY: the caller's; not `nomem`, as mappings change.
    unsafe { asm!("mov cr3, {}", in(reg) table, options(nostack, preserves_flags)) };
}

/// CR4.
pub fn read_cr4() -> u64 {
    let value;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, cr4", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Completes all writes to memory before anything that follows.
pub fn fence() {
    // SAFETY: waits.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) };
}

/// Drops all translations, of all PCIDs, and global ones.
pub fn drop_all_translations() {
    let value = read_cr4();
    // SAFETY: the bit is set after that as it was before; translations are looked up again.
    unsafe {
        asm!("mov cr4, {}", "mov cr4, {}", in(reg) value ^ CR4_PGE, in(reg) value, options(nostack, preserves_flags))
    };
}

/// Makes the processor keep no translation when the tables change, not even one whose entry is
/// global.
pub fn forbid_global_pages() {
    let value = read_cr4() & !CR4_PGE;
    // SAFETY: translations are looked up again.
    unsafe { asm!("mov cr4, {}", in(reg) value, options(nostack, preserves_flags)) };
}

/// Drops the translation of a page.
pub fn invlpg(address: u64) {
    // SAFETY: only a translation that is looked up again is dropped.
    unsafe { asm!("invlpg [{}]", in(reg) address, options(nostack, preserves_flags)) };
}

/// Enables the FPU.
pub fn clts() {
    // SAFETY: the kernel itself uses no FPU register.
    unsafe { asm!("clts", options(nomem, nostack, preserves_flags)) };
}

/// Makes the FPU trap.
pub fn set_ts() {
    // SAFETY: as `clts`.
    unsafe {
        asm!("mov {0}, cr0", "or {0}, {1}", "mov cr0, {0}", out(reg) _, const CR0_TS, options(nomem, nostack))
    };
}

/// Sets registers that a boot loader may have changed: CR0, CR4, and those with which users might
/// notice a difference: debug registers, those of `sysenter`, the bases of FS and GS, and memory
/// types. The kernel itself has no segment with a base.
///
/// # Safety
/// Once, at boot: long mode is on, and the processor has the features of these bits of CR4.
pub unsafe fn init(cr4: u64) {
    // SAFETY: the caller's; no breakpoint has an address of the kernel's any more.
    unsafe {
        asm!(
            "mov cr0, {cr0}", "mov cr4, {cr4}", "fninit",
            "mov dr7, {none}", "mov dr0, {zero}", "mov dr1, {zero}", "mov dr2, {zero}", "mov dr3, {zero}", "mov dr6, {met}",
            cr0 = in(reg) CR0, cr4 = in(reg) cr4, none = in(reg) NO_BREAKPOINTS, met = in(reg) NOTHING_MET, zero = in(reg) 0_u64,
            options(nostack)
        );
    }
    for (register, value) in [
        (SYSENTER_CS, 0),
        (FS_BASE, 0),
        (GS_BASE, 0),
        (KERNEL_GS_BASE, 0),
        (PAT, PAT_OF_RESET),
        (DEBUGCTL, 0),
    ] {
        // SAFETY: each processor with long mode has them, and they are as after a reset.
        unsafe { write_msr(register, value) };
    }
}

/// Makes `rdtscp` tell users nothing but the counter.
///
/// # Safety
/// The processor has that instruction.
pub unsafe fn clear_tsc_aux() {
    // SAFETY: the caller's; no code of the kernel reads it.
    unsafe { write_msr(TSC_AUX, 0) };
}

/// Reads a register by its number.
///
/// # Safety
/// The processor has it.
pub unsafe fn read_msr(register: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller's.
    unsafe {
        asm!("rdmsr", in("ecx") register, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
    };
    u64::from(high) << 32 | u64::from(low)
}

/// Writes a register by its number.
///
/// # Safety
/// The processor has it, and accepts the value; the kernel needs what changes by that.
pub unsafe fn write_msr(register: u32, value: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!("wrmsr", in("ecx") register, in("eax") value as u32, in("edx") (value >> 32) as u32, options(nostack, preserves_flags))
    };
}

/// Makes the processor forget where branches went, if it has IBPB.
// A test waits for it (`pc64.speculation`).
#[inline(never)]
pub fn drop_predictions() {
    // SAFETY: nothing changes but speed. `boot` asks the processor or its user whether it has it.
    unsafe { write_msr(PRED_CMD, IBPB) };
}

/// Makes the processor forget what its buffers have of memory, if it has MD_CLEAR (Intel,
/// *Microarchitectural Data Sampling*).
// A test waits for it (`pc64.speculation`).
#[inline(never)]
pub fn clear_buffers() {
    static DATA: u16 = KERNEL_DATA;
    // SAFETY: it asks whether a selector may be written by, and reads it.
    unsafe { asm!("verw word ptr [{}]", in(reg) &DATA, options(nostack, readonly)) };
}

/// Makes DS, ES, FS and GS null, if a thread has loaded any: 64-bit code does not use them, but
/// could pass information to the next thread by them. Returns whether one was loaded; the base of
/// FS may have changed then.
pub fn clear_selectors() -> bool {
    let any: u32;
    // SAFETY: reads four registers.
    unsafe {
        asm!(
            "mov {0:e}, ds", "mov {1:e}, es", "or {0:e}, {1:e}", "mov {1:e}, fs", "or {0:e}, {1:e}", "mov {1:e}, gs", "or {0:e}, {1:e}",
            out(reg) any, out(reg) _, options(nomem, nostack)
        )
    };
    let were_loaded = any & 0xffff != 0;
    if were_loaded {
        // SAFETY: null selectors; the kernel uses none of these registers.
        unsafe {
            asm!("mov ds, {0:e}", "mov es, {0:e}", "mov fs, {0:e}", "mov gs, {0:e}", in(reg) 0, options(nomem, nostack, preserves_flags))
        };
    }
    were_loaded
}

/// Loads debug registers 0 to 3, 6 and 7.
pub fn load_debug(values: &[u64; 6]) {
    let [a, b, c, d, status, control] = *values;
    // SAFETY: `set_debug` of `x86_64_context` lets no address of the kernel and no reserved bit in.
    // DR7 is cleared first, so that no half-set breakpoint is live.
    unsafe {
        asm!("mov dr7, {}", in(reg) 0_u64);
        asm!("mov dr0, {}", in(reg) a);
        asm!("mov dr1, {}", in(reg) b);
        asm!("mov dr2, {}", in(reg) c);
        asm!("mov dr3, {}", in(reg) d);
        asm!("mov dr6, {}", in(reg) status);
        asm!("mov dr7, {}", in(reg) control);
    }
}

/// Takes the debug status register, and clears it.
pub fn take_debug_status() -> u64 {
    let status: u64;
    // SAFETY: reads and clears a status register.
    unsafe { asm!("mov {0}, dr6", "mov dr6, {1}", out(reg) status, in(reg) 0_u64) };
    status
}

/// Sets the base of FS or GS: [`FS_BASE`] or [`GS_BASE`].
pub fn set_base(register: u32, base: u64) {
    // SAFETY: every processor of this kind has both, the kernel uses neither FS nor GS, and the base
    // is an address of users (`x86_64_context::State`), so it is canonical.
    unsafe { write_msr(register, base) };
}
