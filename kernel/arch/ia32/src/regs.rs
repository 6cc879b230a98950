// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of the processor, by their names in the Intel SDM (volume 3,
//! chapter 2; MSRs: volume 4).

use core::arch::asm;

/// EFLAGS: trap flag.
pub const EFLAGS_TF: u32 = 1 << 8;
/// The next instruction raises no breakpoint.
pub const EFLAGS_RF: u32 = 1 << 16;
/// EFLAGS: interrupts enabled.
pub const EFLAGS_IF: u32 = 1 << 9;
/// CR0: task switched: the FPU traps.
pub const CR0_TS: u32 = 1 << 3;
/// CR0: paging.
pub const CR0_PG: u32 = 1 << 31;
/// CR0: monitor coprocessor, native error, write protect, paging.
pub const CR0_SET: u32 = 1 << 1 | 1 << 5 | 1 << 16 | CR0_PG;
/// CR0: emulate coprocessor, alignment mask, not write-through, cache disable.
pub const CR0_CLEAR: u32 = 1 << 2 | 1 << 18 | 1 << 29 | 1 << 30;
/// CR4: 4 MiB pages.
pub const CR4_PSE: u32 = 1 << 4;
/// CR4: global pages.
pub const CR4_PGE: u32 = 1 << 7;
/// CR4: `fxsave`, SSE; SSE exceptions.
pub const CR4_FXSR: u32 = 1 << 9 | 1 << 10;

const MSR_SYSENTER_CS: u32 = 0x174;
const MSR_SYSENTER_ESP: u32 = 0x175;
const MSR_SYSENTER_EIP: u32 = 0x176;

/// Page-fault address.
pub fn read_cr2() -> u32 {
    let value;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, cr2", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Physical address of the page directory.
pub fn read_cr3() -> u32 {
    let value;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, cr3", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Loads a page directory.
///
/// # Safety
/// It maps the kernel as boot's directory does.
pub unsafe fn write_cr3(directory: u32) {
    // SAFETY: the caller's; not `nomem`, as mappings change.
    unsafe { asm!("mov cr3, {}", in(reg) directory, options(nostack, preserves_flags)) };
}

/// Drops the translation of a page.
pub fn invlpg(address: u32) {
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

/// Sets a bit of CR4.
///
/// # Safety
/// The processor has the feature.
pub unsafe fn set_cr4(bits: u32) {
    // SAFETY: the caller's.
    unsafe {
        asm!("mov {0}, cr4", "or {0}, {1}", "mov cr4, {0}", out(reg) _, in(reg) bits, options(nostack))
    };
}

/// Drops all translations, including global ones, if the processor has global pages: a change of
/// that bit in CR4 does it.
pub fn flip_global() {
    // SAFETY: the bit is as it was afterwards, and only translations that are looked up again are
    // dropped.
    unsafe {
        asm!("mov {0}, cr4", "mov {1}, {0}", "and {1}, {2}", "mov cr4, {1}", "mov cr4, {0}", out(reg) _, out(reg) _, const !CR4_PGE, options(nostack));
    }
}

/// Sets up CR0 as the kernel needs it.
///
/// # Safety
/// Paging is on already.
pub unsafe fn init_cr0() {
    // SAFETY: the caller's.
    unsafe {
        asm!("mov {0}, cr0", "or {0}, {1}", "and {0}, {2}", "mov cr0, {0}", "fninit", out(reg) _, const CR0_SET, const !CR0_CLEAR, options(nostack));
    }
}

fn write_msr(register: u32, value: u32) {
    // SAFETY: only called with the registers below.
    unsafe {
        asm!("wrmsr", in("ecx") register, in("eax") value, in("edx") 0, options(nostack, preserves_flags))
    };
}

/// Sets up `sysenter`.
///
/// # Safety
/// The processor has it; `entry` and `stack` are the kernel's.
pub unsafe fn init_sysenter(code: u16, stack: u32, entry: u32) {
    write_msr(MSR_SYSENTER_CS, u32::from(code));
    write_msr(MSR_SYSENTER_ESP, stack);
    write_msr(MSR_SYSENTER_EIP, entry);
}

/// FS (low half) and GS.
pub fn fs_gs() -> u32 {
    let (fs, gs): (u32, u32);
    // SAFETY: reads two registers.
    unsafe {
        asm!("mov {0:e}, fs", "mov {1:e}, gs", out(reg) fs, out(reg) gs, options(nomem, nostack, preserves_flags))
    };
    fs & 0xffff | gs << 16
}

/// Loads FS and GS with selectors that the caller has checked (`ia32_context::checked_selectors`)
/// or 0.
pub fn set_fs_gs(fs_gs: u32) {
    // SAFETY: the kernel uses neither register, and the selectors are null or name segment
    // descriptors of data that are present.
    unsafe {
        asm!("mov fs, {0:x}", "mov gs, {1:x}", in(reg) fs_gs, in(reg) fs_gs >> 16, options(nostack, preserves_flags))
    };
}

/// Loads debug registers 0 to 3, 6 and 7.
pub fn load_debug(values: &[u32; 6]) {
    let [a, b, c, d, status, control] = *values;
    // SAFETY: `ia32_context::set_debug` lets no address of the kernel and no reserved bit in. DR7
    // is cleared first, so that no half-set breakpoint is live.
    unsafe {
        asm!("mov dr7, {}", in(reg) 0);
        asm!("mov dr0, {}", in(reg) a);
        asm!("mov dr1, {}", in(reg) b);
        asm!("mov dr2, {}", in(reg) c);
        asm!("mov dr3, {}", in(reg) d);
        asm!("mov dr6, {}", in(reg) status);
        asm!("mov dr7, {}", in(reg) control);
    }
}

/// Takes the debug status register, and clears it.
pub fn take_debug_status() -> u32 {
    let status: u32;
    // SAFETY: reads and clears a status register.
    unsafe { asm!("mov {0}, dr6", "mov dr6, {1}", out(reg) status, in(reg) 0) };
    status
}
