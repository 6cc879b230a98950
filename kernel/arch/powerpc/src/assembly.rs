// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's assembly as one unit: its files, and all that they know of Rust.
//!
//! | file | room for |
//! |---|---|
//! | `miss.S` | the TLB misses of a 603 |
//! | `entry.S` | vectors, entry, saving all registers, exit |
//!
//! A name in braces in these files is a constant or a symbol of the list below. The compiler refuses a name that is not in the list,
//! and one in the list that nobody uses.

use crate::layout::CPU;
use crate::trap;
use arch_common::stack::{KERNEL_STACK, PANIC_BYTES, PANIC_STACK, STACK_BYTES};
use core::arch::global_asm;
use core::mem::offset_of;
use kcore::Cpu;
use kcore::port::CONTEXT_WORDS;
use mmu::powerpc::bits;
use powerpc_context::{msr, vector, word};

/// In the machine state, its upper half: r0 to r3 are those of a TLB miss (*PowerPC 603e User's Manual*, table 2-2).
const SHADOW: u32 = 1 << 1;
/// The two words that a caller leaves for a function: where the caller's are, and where to return to.
const LINKAGE: usize = 16;

/// Where a saved register is, from a reference to its Thread: below it.
macro_rules! saved {
    ($name:ident) => {
        (word::$name as i32 - CONTEXT_WORDS as i32) * 4
    };
}

global_asm!(
    include_str!("miss.S"),
    include_str!("entry.S"),
    bug = sym trap::kernel_exception,
    context = const -((CONTEXT_WORDS * 4) as i32),
    cpu = sym CPU,
    cr = const saved!(CR),
    ctr = const saved!(CTR),
    current = const offset_of!(Cpu, current),
    data = const vector::DATA,
    decrementer = const vector::DECREMENTER,
    enter = sym trap::enter,
    fetch = const vector::FETCH,
    gpr = const saved!(GPR),
    interrupt = const vector::INTERRUPT,
    kernel_msr = const msr::KERNEL,
    large = const bits::LARGE,
    lr = const saved!(LR),
    msr = const saved!(MSR),
    panic_stack = sym PANIC_STACK,
    panic_stack_bytes = const PANIC_BYTES - LINKAGE,
    pc = const saved!(PC),
    present = const bits::PRESENT,
    reservation = const saved!(RESERVATION),
    shadow = const SHADOW,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES - LINKAGE,
    user = const msr::USER,
    vector = const saved!(VECTOR),
    xer = const saved!(XER),
);

unsafe extern "C" {
    /// Leaves to the thread in `Cpu::current`, whose context is complete and whose space was entered.
    pub fn leave_kernel() -> !;
}
