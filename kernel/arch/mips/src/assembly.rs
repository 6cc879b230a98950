// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's assembly as one unit: its files, and all that they know of Rust.
//!
//! | file | room for |
//! |---|---|
//! | `refill.S` | vectors, and the TLB misses of users |
//! | `entry.S` | entry, saving all registers, exit |
//!
//! A name in braces in these files is a constant or a symbol of the list below. The compiler
//! refuses a name that is not in the list, and one in the list that nobody uses.

use crate::layout::{HOT, Hot, KSEG0};
use crate::regs::status;
use crate::trap;
use abi::{PAGE_SIZE, USER_END};
use arch_common::shared;
use arch_common::stack::{KERNEL_STACK, PANIC_BYTES, PANIC_STACK, STACK_BYTES};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::Cpu;
use kcore::port::CONTEXT_WORDS;
use mips_context::{cause, word};
use mmu::Format;
use mmu::mips::Mips as Tables;
use mmu::mips::bits::FOLLOWED;

/// Where a saved register is, a word of the context, from a reference to its Thread: below it.
const fn saved(word: usize) -> i32 {
    (word as i32 - CONTEXT_WORDS as i32) * 8
}

/// How far an address goes down so that its index in a table of this level is that of an entry's
/// first byte.
const fn shift(level: u32) -> u32 {
    let index = Tables::ENTRIES.trailing_zeros();
    PAGE_SIZE.trailing_zeros() + level * index - ENTRY.trailing_zeros()
}
/// Bytes of an entry.
const ENTRY: usize = size_of::<<Tables as Format>::Entry>();
/// The bits of such an index.
const INDEX: usize = (Tables::ENTRIES - 1) * ENTRY;

global_asm!(
    include_str!("refill.S"),
    include_str!("entry.S"),
    bad_bits = const USER_END.trailing_zeros() - 32,
    bug = sym trap::kernel_exception,
    code = const cause::CODE,
    current = const offset_of!(Hot, cpu) + offset_of!(Cpu, current),
    enter = sym trap::enter,
    entry = const ENTRY,
    gpr = const saved(word::GPR),
    hi = const saved(word::HI),
    hot = sym HOT,
    index = const INDEX,
    interrupts = const status::INTERRUPTS,
    kernel = const status::KERNEL,
    leaf_shift = const shift(0),
    leaving = const status::LEAVING,
    lo = const saved(word::LO),
    pair = const INDEX - ENTRY,
    panic_bytes = const PANIC_BYTES,
    panic_stack = sym PANIC_STACK,
    pc = const saved(word::PC),
    directory_shift = const shift(1),
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    top = const offset_of!(Hot, top),
    top_shift = const shift(2),
    user = const status::USER,
);

// `refill.S`: a table that can be followed is a negative address, and there are three levels.
const _: () = assert!(FOLLOWED == 1 << 63 && Tables::LEVELS == 3 && USER_END.is_power_of_two());

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`, whose context is complete and whose space was
    /// entered.
    pub fn leave_kernel() -> !;
    static vectors: u8;
    static vectors_end: u8;
}

/// Puts the vectors where the processor has them.
///
/// # Safety
/// Once, at boot, when nobody else knows of the first page of RAM.
pub unsafe fn set_vectors() {
    let bytes = (&raw const vectors_end).addr() - (&raw const vectors).addr();
    // SAFETY: the code of the assembly goes to RAM that is the kernel's.
    unsafe { (&raw const vectors).copy_to(shared::at(KSEG0), bytes) };
}
