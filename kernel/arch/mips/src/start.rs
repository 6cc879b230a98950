// SPDX-License-Identifier: MIT OR Apache-2.0
//! From reset to the first thread.

use crate::contract::{KERNEL, Mips};
use crate::regs::status;
use crate::{assembly, boot, regs, time, trap};
use abi::PhysAddr;
use arch_common::stack::{KERNEL_STACK, STACK_BYTES};
use arch_common::{lines, place, start};
use core::arch::global_asm;
use kcore::boot::{Machine, Range};
use plat_malta::{pic, uart};

global_asm!(
    include_str!("start.S"),
    kernel = const status::KERNEL,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    start = sym begin,
);

/// Interrupt lines that components may have: all but the one that connects the two controllers.
const COMPONENT_LINES: [u32; pic::LINES - 1] = lines::all_but(&[pic::CASCADE]);

/// Makes the kernel out of what the machine has, and the first thread; leaves to it.
extern "C" fn begin() -> ! {
    regs::init();
    regs::drop_all();
    regs::set_asid(0);
    // SAFETY: boot; that page is no free RAM (`boot.rs`).
    unsafe { assembly::set_vectors() };
    uart::init();
    time::tick_late();
    let boot = boot::find();
    place::set(boot.pool.base);
    pic::init();
    let clock = time::clock();
    // SAFETY: boot; the pool is in kseg0 at its address, and only the kernel gets it.
    let kernel = unsafe { start::kernel(&KERNEL, boot.new_pool(), Mips::new(clock)) };
    let machine = Machine {
        special: Range { base: PhysAddr(0), bytes: 1 << 16 },
        ..boot.machine(&COMPONENT_LINES)
    };
    start::root(kernel, &machine, "MIPS", 0, clock);
    trap::leave(kernel);
    // SAFETY: the current thread's context is complete (`Registers::start`).
    unsafe { assembly::leave_kernel() }
}
