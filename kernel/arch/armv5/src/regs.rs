// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of the system-control coprocessor, by their names in the ARM Architecture Reference
//! Manual (DDI 0100I, chapter B3).

use core::arch::asm;

/// Control: the MMU; alignment faults; the data cache; the write buffer; the instruction cache;
/// vectors at `0xffff_0000`.
pub const CONTROL_SET: u32 = 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 12 | 1 << 13;
/// Control: big-endian; the old protection bits S and R; loads to the PC that do not change to
/// Thumb.
pub const CONTROL_CLEAR: u32 = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 15;

/// A function that reads a register.
macro_rules! read {
    ($(#[$meta:meta])* $name:ident, $register:literal) => {
        $(#[$meta])*
        pub fn $name() -> u32 {
            let value;
            // SAFETY: reads a register.
            unsafe { asm!(concat!("mrc p15, 0, {}, ", $register), out(reg) value, options(nomem, nostack, preserves_flags)) };
            value
        }
    };
}

/// A function that does something to a cache or the TLB, with an address or nothing.
macro_rules! operation {
    ($(#[$meta:meta])* $name:ident, $register:literal) => {
        $(#[$meta])*
        pub fn $name(value: u32) {
            // SAFETY: nothing is lost by it: what is written was written back, and what is dropped
            // is looked up again. (Not `nomem`: it comes after all writes before.)
            unsafe { asm!(concat!("mcr p15, 0, {}, ", $register), in(reg) value, options(nostack, preserves_flags)) };
        }
    };
}

read!(/// Which processor it is.
    id, "c0, c0, 0");
read!(/// Status of the last fault of data.
    data_fault_status, "c5, c0, 0");
read!(/// Address of the last fault of data.
    fault_address, "c6, c0, 0");
read!(/// The process identifier, in bits 31 to 25.
    process, "c13, c0, 0");

operation!(/// Drops a translation of data.
    flush_data_page, "c8, c6, 1");
operation!(/// Drops a translation of instructions.
    flush_instruction_page, "c8, c5, 1");
operation!(/// Drops all translations.
    flush_all, "c8, c7, 0");
operation!(/// Writes a line of data back.
    clean_line, "c7, c10, 1");
operation!(/// Drops a line of data, which was written back before.
    drop_line, "c7, c6, 1");
operation!(/// Drops a line of instructions.
    drop_instruction_line, "c7, c5, 1");
operation!(/// Drops all instructions, and what branches are predicted by.
    drop_instructions, "c7, c5, 0");
operation!(/// Drops what branches are predicted by: dropping a line of instructions leaves it.
    drop_branches, "c7, c5, 6");
operation!(/// Waits until all writes are in memory.
    drain, "c7, c10, 4");
operation!(/// XScale: walks the tables for an address of data, whose translation was dropped before, and locks what is found.
    lock_data_page, "c10, c8, 0");
operation!(/// XScale: whether lines of data that are filled are locked.
    set_locking, "c9, c2, 0");
operation!(/// XScale: unlocks all lines of data.
    unlock_lines, "c9, c2, 1");

/// Opens domains.
pub fn set_domains(access: u32) {
    // SAFETY: the kernel's own domain is among them in all that is passed here.
    unsafe { asm!("mcr p15, 0, {}, c3, c0, 0", in(reg) access, options(nostack, preserves_flags)) };
}

/// Writes the process identifier.
pub fn set_process(identifier: u32) {
    // SAFETY: the kernel's own addresses are all above those that are relocated.
    unsafe {
        asm!("mcr p15, 0, {}, c13, c0, 0", in(reg) identifier, options(nostack, preserves_flags))
    };
}

/// Waits for an interrupt, which may be masked.
pub fn wait_for_interrupt() {
    // SAFETY: nothing but waiting.
    unsafe { asm!("mcr p15, 0, {}, c7, c0, 4", in(reg) 0, options(nostack, preserves_flags)) };
}
