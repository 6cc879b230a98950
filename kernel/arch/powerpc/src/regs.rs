// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of the processor (*Programming Environments for 32-bit Microprocessors*, chapters 2
//! and 7).

use crate::layout::IDLE;
use core::arch::asm;
use kcore::port::CONTEXT_WORDS;
use powerpc_context::msr;

/// Processors, by the upper half of the version register.
pub mod version {
    /// The first 603, and the 603e, 603ev.
    pub const SOFTWARE_TLB: [u32; 3] = [3, 6, 7];
}

/// Special-purpose registers that are read only.
macro_rules! read {
    ($($(#[$doc:meta])* $name:ident: $number:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> u32 {
            let value: u32;
            // SAFETY: reads a register.
            unsafe { asm!(concat!("mfspr {}, ", $number), out(reg) value, options(nomem, nostack, preserves_flags)) };
            value
        }
    )*};
}

read! {
    /// The address of an access to data that failed.
    fault_address: 19;
    /// Why it failed: bits of [`dsisr`].
    fault_status: 18;
    /// Ticks of the time base until the decrementer passes 0. It continues to count below 0.
    decrementer: 22;
    /// Which processor it is.
    processor_version: 287;
}

/// Bits that say why an access to data failed.
pub mod dsisr {
    /// It was a store.
    pub const STORE: u32 = 1 << 25;
}

/// Ticks of the time base since the machine's start.
pub fn time_base() -> u64 {
    loop {
        let (high, low, again): (u32, u32, u32);
        // SAFETY: reads registers. The upper half is read twice, as the lower one may pass into it.
        unsafe {
            asm!("mftbu {}", "mftb {}", "mftbu {}", out(reg) high, out(reg) low, out(reg) again, options(nomem, nostack, preserves_flags))
        };
        if high == again {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

/// Sets the decrementer: it interrupts when it passes 0.
pub fn set_decrementer(ticks: u32) {
    // SAFETY: interrupts are off in the kernel.
    unsafe { asm!("mtspr 22, {}", in(reg) ticks, options(nomem, nostack, preserves_flags)) };
}

/// Gives a segment of users' addresses this VSID, from the next return to user mode on.
pub fn set_segment(segment: u32, vsid: u32) {
    // SAFETY: the kernel reaches memory by BATs only, so no address of its own changes.
    unsafe {
        asm!("mtsrin {}, {}", in(reg) vsid, in(reg) segment << 28, options(nostack, preserves_flags))
    };
}

/// Sets the address of the hashed table, which is a multiple of the table's size, a power of two
/// and at least 64 KiB.
///
/// # Safety
/// The table is the processor's from now on.
pub unsafe fn set_hash(table: u32, bytes: u32) {
    let mask = (bytes >> 16) - 1;
    // SAFETY: the caller's; no page is translated by it yet.
    unsafe {
        asm!("sync", "mtspr 25, {}", "isync", in(reg) table | mask, options(nostack, preserves_flags))
    };
}

/// Drops the TLB's entries for this address, of any space, and all others in the same set.
pub fn drop_page(address: u32) {
    // SAFETY: dropping translations has no effect but time.
    unsafe { asm!("tlbie {}", in(reg) address, options(nostack, preserves_flags)) };
}

/// Waits until no dropped entry is used any more.
pub fn dropped() {
    // SAFETY: orders accesses.
    unsafe { asm!("sync", options(nostack, preserves_flags)) };
}

/// Sets of the larger TLB, which the 604 has: 64 of two entries.
const SETS: u32 = 64;

/// Drops all entries of the TLB.
pub fn drop_all() {
    (0..SETS).for_each(|set| drop_page(set * abi::PAGE_SIZE));
    dropped();
}

/// Maps RAM a second time for the supervisor, uncached, by the third data BAT (*Programming
/// Environments*, tables 7-9 and 7-10).
///
/// # Safety
/// Nothing else is at these addresses. No line of what is accessed there is dirty in the cache.
pub unsafe fn show_uncached(upper: u32, lower: u32) {
    // SAFETY: the caller's.
    unsafe {
        asm!("mtspr 541, {}", "mtspr 540, {}", "isync", in(reg) lower, in(reg) upper, options(nostack, preserves_flags))
    };
}

/// Shows a block to user mode by the fourth instruction BAT and the fourth data BAT. `mmu::block`
/// makes their upper word; 0 shows nothing.
pub fn show_block(upper: u32) {
    // SAFETY: the kernel does not see it, and the way to user mode orders accesses.
    unsafe {
        asm!("mtspr 534, {0}", "mtspr 542, {0}", in(reg) upper, options(nostack, preserves_flags))
    };
}

/// Sets the physical address of the block that [`show_block`] shows: their lower words.
pub fn place_block(lower: u32) {
    show_block(0);
    // SAFETY: nothing is shown meanwhile.
    unsafe {
        asm!("mtspr 535, {0}", "mtspr 543, {0}", in(reg) lower, options(nostack, preserves_flags))
    };
}

/// HID0: doze while the machine state says WAIT; invalidate the instruction cache; caches on;
/// caches locked, so that no new line gets into them.
const DOZE: u32 = 1 << 23;
const LOCKED: u32 = 1 << 13 | 1 << 12;
const DROP_CODE: u32 = 1 << 11;
const DROP_DATA: u32 = 1 << 10;
const CACHES: u32 = 1 << 15 | 1 << 14;

fn set_hid0(value: u32) {
    // SAFETY: caches hold what memory is to hold, and are kept or written back by who calls this.
    unsafe {
        asm!("sync", "isync", "mtspr 1008, {}", "isync", in(reg) value, options(nostack, preserves_flags))
    };
}

/// Enables the caches, which are empty yet.
pub fn init_caches() {
    set_hid0(CACHES | DROP_CODE | DROP_DATA | DOZE);
    set_hid0(CACHES | DOZE);
}

/// Locks the caches, or unlocks them.
pub fn lock_caches(are_locked: bool) {
    set_hid0(CACHES | DOZE | if are_locked { LOCKED } else { 0 });
}

/// Drops all lines of the instruction cache.
pub fn drop_code() {
    set_hid0(CACHES | DOZE | DROP_CODE);
    set_hid0(CACHES | DOZE);
}

/// Waits for an interrupt, which is not handled here: the caller finds out which it is.
pub fn wait() {
    let idle = IDLE.address() + (CONTEXT_WORDS * 4) as u32;
    // SAFETY: what comes is saved in `IDLE` and goes on after the instruction, with interrupts off
    // (`entry.S`), as it found this.
    unsafe {
        asm!(
            "mfspr {thread}, 273",
            "mtspr 273, {idle}",
            "sync",
            "mtmsr {open}",
            "isync",
            "mtmsr {closed}",
            "mtspr 273, {thread}",
            thread = out(reg) _,
            idle = in(reg) idle,
            open = in(reg) msr::KERNEL | msr::INTERRUPTS | msr::WAIT,
            closed = in(reg) msr::KERNEL,
            options(nostack, preserves_flags),
        );
    }
}

/// The frame pointer, to start a backtrace from.
#[inline(always)]
pub fn frame() -> u32 {
    let frame: u32;
    // SAFETY: reads a register.
    unsafe { asm!("mr {}, 31", out(reg) frame, options(nomem, nostack, preserves_flags)) };
    frame
}

/// Records the directory of the space with whose addresses user mode runs, for the handlers that
/// fill the TLB of a 603.
pub fn set_directory(directory: u32) {
    // SAFETY: the register is the kernel's own, and only `miss.S` reads it.
    unsafe { asm!("mtspr 272, {}", in(reg) directory, options(nomem, nostack, preserves_flags)) };
}

/// Whether software fills the TLB.
pub fn fills_tlb_by_software() -> bool {
    version::SOFTWARE_TLB.contains(&(processor_version() >> 16))
}

/// Does something with the FPU enabled for the kernel.
pub fn with_fpu(what: impl FnOnce()) {
    // SAFETY: the kernel computes nothing with the FPU's registers, so the code that saves and
    // loads them is the only one.
    unsafe {
        asm!("mtmsr {}", "isync", in(reg) msr::KERNEL | msr::FPU, options(nostack, preserves_flags))
    };
    what();
    // SAFETY: as above.
    unsafe { asm!("mtmsr {}", "isync", in(reg) msr::KERNEL, options(nostack, preserves_flags)) };
}

/// Does something with data translation off: then all of RAM can be accessed. The kernel's own data
/// has the same addresses.
pub fn untranslated<T>(what: impl FnOnce() -> T) -> T {
    // SAFETY: the kernel's stack and statics are mapped one to one, and are cached either way.
    unsafe {
        asm!("mtmsr {}", "isync", in(reg) msr::KERNEL & !msr::DATA_TRANSLATED, options(nostack, preserves_flags))
    };
    let result = what();
    // SAFETY: as above.
    unsafe { asm!("mtmsr {}", "isync", in(reg) msr::KERNEL, options(nostack, preserves_flags)) };
    result
}
