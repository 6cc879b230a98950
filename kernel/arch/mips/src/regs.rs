// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of coprocessor 0, and the TLB (*MIPS R4000 Microprocessor User's Manual*, chapters 4
//! and 5).
//!
//! If an instruction needs what a previous one wrote to coprocessor 0, an R4000 does not wait until
//! the write has taken effect: the instruction may see the old value, which is called a *hazard*
//! (appendix F of the manual). So the code here and in the assembly has at least this many other
//! instructions in between:
//!
//! | what is written | what needs it | instructions between |
//! |---|---|---|
//! | EntryHi, EntryLo, Index, PageMask | `tlbwi`, `tlbwr` | 1 |
//! | EntryHi, PageMask | `tlbp` | 3 |
//! | Index, by `tlbp` | `mfc0` | 2 |
//! | EPC, Status | `eret` | 2 |
//! | an entry of the TLB | `eret`, because the next instruction is fetched by that entry | 3 |
//! | any register | `mfc0` of any register | 1 |
//!
//! An R4600 needs less. QEMU has no hazards, so a test examines the code instead (`malta.hazards`).
//! The test does not see two things. Up to five instructions after a write of Status may be
//! executed in the new mode, so EXL is set before user mode is (`entry.S`). And the kernel's next
//! access after a write of EntryHi may use the old ASID, but the kernel accesses nothing through
//! the TLB.

use crate::layout::KSEG0;
use core::arch::{asm, global_asm};
use mips_context::cause;

/// The register Status.
pub mod status {
    use super::cause;

    /// IE: interrupts are enabled.
    pub const INTERRUPTS: u32 = 1;
    /// EXL: an exception was taken; the processor is in kernel mode, and interrupts are disabled.
    pub const EXCEPTION: u32 = 1 << 1;
    /// KSU: user mode.
    pub const USER: u32 = 2 << 3;
    /// UX: users have addresses and operations of 64 bits, and a refill vector of their own.
    pub const USER_64: u32 = 1 << 5;
    /// IM: the interrupt lines that are enabled.
    pub const LINES: u32 = cause::TIMER | cause::LINES;
    /// While Rust of the kernel runs. No other coprocessor is enabled, and BEV, ERL and RE are 0.
    pub const KERNEL: u32 = USER_64 | LINES;
    /// The same with EXL, as after an exception: with it the processor is in kernel mode, whatever
    /// KSU says.
    pub const CLOSED: u32 = KERNEL | EXCEPTION;
    /// What the exit code loads: user mode from `eret` on.
    pub const LEAVING: u32 = CLOSED | USER | INTERRUPTS;
}

/// How many entries the TLB has, of two pages each.
pub const ENTRIES: u32 = 48;
/// The bits of EntryHi that are an ASID.
pub const ASIDS: u64 = 0xff;
/// The bits of an address that an entry of the TLB has: the part that two pages have in common, of
/// 40 bits.
const PAIR: u64 = 0xff_ffff_e000;

/// Registers that are read.
macro_rules! read {
    ($($(#[$doc:meta])* $name:ident: $instruction:literal, $number:literal, $kind:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> $kind {
            let value: u64;
            // SAFETY: reads a register.
            unsafe { asm!(".set noat", concat!($instruction, " {}, $", $number), out(reg) value, options(nomem, nostack, preserves_flags)) };
            value as $kind
        }
    )*};
}

read! {
    /// Count: it counts by itself, modulo 2 to the power of 32.
    count: "mfc0", 9, u32;
    /// Cause: why an exception was taken, and which interrupt lines are pending.
    cause: "mfc0", 13, u32;
    /// EntryHi: which ASID is valid, and the address that was missed last.
    entry_hi: "dmfc0", 10, u64;
}

/// Compare: the timer's line is quiet until Count has this value.
pub fn set_compare(count: u32) {
    // SAFETY: interrupts are closed in the kernel.
    unsafe {
        asm!(".set noat", "mtc0 {}, $11", "nop", in(reg) count, options(nomem, nostack, preserves_flags))
    };
}

/// Makes an ASID the valid one: TLB entries with it are used from now on.
pub fn set_asid(asid: u32) {
    // SAFETY: the kernel needs no TLB entry, so nothing of its own changes.
    unsafe {
        asm!(".set noat", "dmtc0 {}, $10", "nop", in(reg) u64::from(asid), options(nostack, preserves_flags))
    };
}

/// An address for an empty entry of the TLB, which no access uses: in kseg0, and another one for
/// each entry, because two entries for one address shut an R4000 down.
const fn nothing(index: u32) -> u64 {
    (!0 << 32 | KSEG0 as u64) + index as u64 * 0x2000
}

/// Writes an entry of the TLB. It changes the valid ASID.
fn write_entry(index: u32, entry_hi: u64, [even, odd]: [u32; 2]) {
    // SAFETY: the entry is of user addresses, or of addresses that are not translated.
    unsafe {
        asm!(
            ".set noat",
            "mtc0 {index}, $0",
            "dmtc0 {entry_hi}, $10",
            "mtc0 {even}, $2",
            "mtc0 {odd}, $3",
            "nop",
            "tlbwi",
            index = in(reg) index,
            entry_hi = in(reg) entry_hi,
            even = in(reg) even,
            odd = in(reg) odd,
            options(nostack, preserves_flags),
        );
    }
}

/// The entry for two pages of an ASID, if the TLB has one. It changes the valid ASID.
fn probe(entry_hi: u64) -> Option<u32> {
    let index: u64;
    // SAFETY: changes no entry.
    unsafe {
        asm!(".set noat", "dmtc0 {}, $10", "nop", "nop", "nop", "tlbp", "nop", "nop", "mfc0 {}, $0", in(reg) entry_hi, lateout(reg) index, options(nostack, preserves_flags));
    }
    let index = index as u32;
    (index >> 31 == 0).then_some(index)
}

/// The number of the TLB entry that would be replaced now: the register Random.
fn random() -> u32 {
    let index: u64;
    // SAFETY: reads a register.
    unsafe {
        asm!(".set noat", "mfc0 {}, $1", out(reg) index, options(nomem, nostack, preserves_flags))
    };
    index as u32 % ENTRIES
}

/// Two pages of an ASID, one of which is at `address`: as EntryHi has them.
const fn pages(address: u64, asid: u32) -> u64 {
    address & PAIR | asid as u64
}

/// Writes the TLB entry for these two pages at an address of an ASID, in place of the one that it
/// has for them.
pub fn fill(address: u64, asid: u32, pair: [u32; 2]) {
    let counts = entry_hi() & ASIDS;
    let pages = pages(address, asid);
    write_entry(probe(pages).unwrap_or_else(random), pages, pair);
    set_asid(counts as u32);
}

/// Drops the TLB entry for the two pages at an address of an ASID.
pub fn drop_pair(address: u64, asid: u32) {
    let counts = entry_hi() & ASIDS;
    if let Some(index) = probe(pages(address, asid)) {
        write_entry(index, nothing(index), [0; 2]);
    }
    set_asid(counts as u32);
}

/// Empties the TLB, whatever it has.
pub fn drop_all() {
    let counts = entry_hi() & ASIDS;
    (0..ENTRIES).for_each(|index| write_entry(index, nothing(index), [0; 2]));
    set_asid(counts as u32);
}

/// Sets registers that are not changed later: any entry of the TLB may be replaced, its entries are
/// for 4 KiB pages, and the caches are enabled.
pub fn init() {
    const CACHED: u64 = 3;
    // SAFETY: boot; the kernel needs no TLB entry.
    unsafe {
        asm!(
            ".set noat",
            "mtc0 $0, $6",
            "mtc0 $0, $5",
            "nop",
            "nop",
            options(nostack, preserves_flags)
        )
    };
    let config: u64;
    // SAFETY: reads a register.
    unsafe {
        asm!(".set noat", "mfc0 {}, $16", out(reg) config, options(nomem, nostack, preserves_flags))
    };
    // SAFETY: kseg0 is RAM, of which no cache has a line yet.
    unsafe {
        asm!(".set noat", "mtc0 {}, $16", "nop", "nop", "nop", in(reg) config & !7 | CACHED, options(nostack, preserves_flags));
    }
}

/// `wait`, which MIPS III does not have: an R4600 and its successors do, and QEMU's R4000.
const WAIT: u32 = 0x4200_0020;

global_asm!(
    ".section .text.wait, \"ax\"",
    ".set push",
    ".set noreorder",
    "wait_for_interrupt:",
    "mfc0 $2, $12",
    "ori $2, $2, {interrupts}",
    "mtc0 $2, $12",
    // An interrupt that comes before it waits goes on after it, too.
    "1:",
    ".4byte {wait}",
    "b 1b",
    "nop",
    // Where the entry goes on that takes the interrupt, which closed interrupts again (`entry.S`).
    ".global waited",
    "waited:",
    "jr $31",
    "nop",
    ".set pop",
    ".text",
    interrupts = const status::INTERRUPTS,
    wait = const WAIT,
);

unsafe extern "C" {
    fn wait_for_interrupt();
}

/// Waits until an interrupt is pending.
pub fn wait() {
    // SAFETY: the interrupt is only noted, by its line; no Rust runs for it.
    unsafe { wait_for_interrupt() };
}

/// The frame pointer.
#[inline(always)]
pub fn frame() -> u32 {
    let frame: u64;
    // SAFETY: reads a register.
    unsafe {
        asm!(".set noat", "move {}, $30", out(reg) frame, options(nomem, nostack, preserves_flags))
    };
    frame as u32
}
