// SPDX-License-Identifier: MIT OR Apache-2.0
//! The caches. They are physical, one for data and one for code: code that was written as data
//! reaches the code cache through memory.

use crate::regs;
use core::arch::asm;

/// Bytes of a line.
pub const LINE: u32 = 32;
/// Twice the size of the largest data cache, so that reading this much displaces everything else.
const PUSHED: u32 = 64 << 10;

/// Operations on lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Write them to memory.
    Clean,
    /// Write them to memory, and drop them.
    Drop,
    /// As `Clean`, and drop them from the instruction cache.
    Code,
}

/// Carries out an operation on the lines of a range of addresses that the kernel can access: with
/// translation off, any physical ones.
pub fn on_lines(start: u32, bytes: u32, what: Lines) {
    let lines = || (start & !(LINE - 1)..start + bytes).step_by(LINE as usize);
    for line in lines() {
        // SAFETY: lines change their place, not what they hold.
        unsafe {
            match what {
                Lines::Clean | Lines::Code => {
                    asm!("dcbst 0, {}", in(reg) line, options(nostack, preserves_flags))
                }
                Lines::Drop => asm!("dcbf 0, {}", in(reg) line, options(nostack, preserves_flags)),
            }
        }
    }
    regs::dropped();
    if what == Lines::Code {
        for line in lines() {
            // SAFETY: as above.
            unsafe { asm!("icbi 0, {}", in(reg) line, options(nostack, preserves_flags)) };
        }
        // SAFETY: orders what is fetched after it.
        unsafe { asm!("sync", "isync", options(nostack, preserves_flags)) };
    }
}

/// Writes all of the data cache to memory, and drops all of the instruction cache: 4,100
/// instructions.
pub fn clean_all() {
    for line in (0..PUSHED).step_by(LINE as usize) {
        // SAFETY: reads the kernel's image, which is there.
        unsafe {
            asm!("lbz {}, 0({})", out(reg) _, in(reg_nonzero) line + abi::PAGE_SIZE, options(nostack, readonly, preserves_flags))
        };
    }
    regs::dropped();
    regs::drop_code();
}
