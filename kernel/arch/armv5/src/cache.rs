// SPDX-License-Identifier: MIT OR Apache-2.0
//! The caches. They are indexed and tagged by (modified) virtual addresses, and write back.
//!
//! An operation on a line takes the line's address. Each processor cleans its whole cache in its
//! own way: ARM926EJ-S by test-and-clean (DDI 0198E, section 2.3.6), an XScale core by allocating
//! as many lines for other addresses as the cache has, which displaces all (Intel XScale Core
//! Developer's Manual, section 6.3.3).
//!
//! Which spaces may have lines where is recorded by `mmu::fass`, not here.

use crate::layout::CLEANING;
use crate::regs;
use abi::PAGE_SIZE;
use core::arch::asm;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a line.
pub const LINE: u32 = 32;
/// Bytes of each cache of an XScale core: 32 sets of 32 lines.
const XSCALE_BYTES: u32 = 32 << 10;
/// Intel's number as the maker of the processor.
const INTEL: u32 = 0x69;

/// How the whole cache is cleaned.
static IS_XSCALE: AtomicBool = AtomicBool::new(false);

/// Finds out which processor it is.
pub fn init() {
    IS_XSCALE.store(regs::id() >> 24 == INTEL, Ordering::Relaxed);
}

/// Whether it is a processor of ARM's own. On others waiting for an interrupt, and locking, are
/// different.
pub fn is_arms_own() -> bool {
    !IS_XSCALE.load(Ordering::Relaxed)
}

fn lines(range: Range<u32>) -> impl Iterator<Item = u32> {
    let start = range.start & !(LINE - 1);
    (start..range.end).step_by(LINE as usize)
}

/// Does something for each line of a range. Whole pages, which are the usual case, are done four
/// lines at a time, because the loop itself would take as long as the operations.
fn each_line(range: Range<u32>, operation: impl Fn(u32)) {
    if !(range.start | range.end).is_multiple_of(PAGE_SIZE) {
        return lines(range).for_each(operation);
    }
    for line in range.step_by(4 * LINE as usize) {
        operation(line);
        operation(line + LINE);
        operation(line + 2 * LINE);
        operation(line + 3 * LINE);
    }
}

/// Writes back the lines of a range.
pub fn clean(range: Range<u32>) {
    each_line(range, regs::clean_line);
    regs::drain(0);
}

/// Writes back the data lines of a range, and drops them.
pub fn clean_and_drop_data(range: Range<u32>) {
    each_line(range, |line| {
        // XScale has no operation for both.
        regs::clean_line(line);
        regs::drop_line(line);
    });
    regs::drain(0);
}

/// The same, and drops the range's instruction lines.
pub fn clean_and_drop(range: Range<u32>) {
    each_line(range, |line| {
        regs::clean_line(line);
        regs::drop_line(line);
        regs::drop_instruction_line(line);
    });
    regs::drop_branches(0);
    regs::drain(0);
}

/// Writes back the data lines of a range, and drops its instruction lines: they are fetched again.
pub fn synchronise(range: Range<u32>) {
    each_line(range, |line| {
        regs::clean_line(line);
        regs::drop_instruction_line(line);
    });
    regs::drop_branches(0);
    regs::drain(0);
}

/// Writes the whole data cache back and drops it, and drops all instruction lines. No line may be
/// locked: a locked line would stay, even if it is dirty.
pub fn clean_all() {
    if IS_XSCALE.load(Ordering::Relaxed) {
        push_out();
    } else {
        // SAFETY: it cleans line after line until the flags say that none is dirty, and changes
        // nothing but flags.
        unsafe { asm!("2:", "mrc p15, 0, apsr_nzcv, c7, c14, 3", "bne 2b", options(nostack)) };
    }
    regs::drain(0);
    regs::drop_instructions(0);
}

/// Writes the whole data cache back. Instruction lines stay. No data line may be locked.
pub fn clean_all_data() {
    if IS_XSCALE.load(Ordering::Relaxed) {
        push_out();
    } else {
        // SAFETY: as in `clean_all`.
        unsafe { asm!("2:", "mrc p15, 0, apsr_nzcv, c7, c10, 3", "bne 2b", options(nostack)) };
    }
    regs::drain(0);
}

/// Locks the lines of a range of addresses that can be read, so that they stay until all are
/// unlocked. Only an XScale core does.
pub fn lock(range: Range<u32>) {
    regs::drain(0);
    regs::set_locking(1);
    let end = range.end.next_multiple_of(LINE);
    // SAFETY: the range is mapped, as the caller says, and is read. What is there already would not
    // be locked: it is written back and dropped before. Nothing else is read meanwhile, which would
    // be locked, too.
    unsafe {
        asm!(
            "2:",
            "mcr p15, 0, {line}, c7, c10, 1",
            "mcr p15, 0, {line}, c7, c6, 1",
            "ldr {word}, [{line}]",
            "add {line}, {line}, #{bytes}",
            "teq {line}, {end}",
            "bne 2b",
            line = inout(reg) range.start & !(LINE - 1) => _,
            word = out(reg) _,
            end = in(reg) end,
            bytes = const LINE,
            options(nostack),
        );
    }
    regs::drain(0);
    regs::set_locking(0);
}

/// Allocates each line of the cache for an address that is not used, and drops these lines.
fn push_out() {
    /// Which of two ranges was used last. Lines of the same range must not be allocated twice in
    /// turn, although they are dropped.
    static SECOND: AtomicBool = AtomicBool::new(false);
    let second = SECOND.load(Ordering::Relaxed);
    SECOND.store(!second, Ordering::Relaxed);
    let start = CLEANING + if second { XSCALE_BYTES } else { 0 };
    // SAFETY: the addresses are mapped, cached, and belong to nobody. All that was dirty has been
    // written back by lines for them, which hold nothing, before all are dropped. Nothing is
    // written between.
    unsafe {
        asm!(
            "2:",
            "mcr p15, 0, {line}, c7, c2, 5",
            "add {line}, {line}, #{bytes}",
            "mcr p15, 0, {line}, c7, c2, 5",
            "add {line}, {line}, #{bytes}",
            "teq {line}, {end}",
            "bne 2b",
            "mcr p15, 0, {line}, c7, c10, 4",
            "mcr p15, 0, {line}, c7, c6, 0",
            line = inout(reg) start => _,
            end = in(reg) start + XSCALE_BYTES,
            bytes = const LINE,
            options(nostack),
        );
    }
}
