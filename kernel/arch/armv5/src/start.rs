// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the boot loader to the first thread.
//!
//! `start.S` turns on translation and caches, with the first 8 MiB of memory at `KERNEL_BASE`, and
//! calls [`begin`].

use crate::assembly::{self, ABORT, IRQ, SAVED, SUPERVISOR, UNDEFINED};
use crate::boot;
use crate::contract::{self, Armv5};
use crate::layout::{KERNEL_BASE, KERNEL_BYTES, UTCB_BYTES, UTCBS};
use crate::space::DIRECTORY;
use crate::{cache, paging, regs, time, trap};
use abi::arch::armv5::kip::FEATURE_LOCKED_LINES;
use arch_common::stack::{KERNEL_STACK, STACK_BYTES};
use arch_common::{lines, start};
use core::arch::global_asm;
use mmu::armv5::{SECTION_BYTES, kernel_section};
use mmu::fass::{ALL, KERNEL};
use plat_versatilepb::{timer, uart, vic};

global_asm!(
    include_str!("start.S"),
    abort = const ABORT,
    base = const KERNEL_BASE,
    control_clear = const regs::CONTROL_CLEAR,
    control_set = const regs::CONTROL_SET,
    directory = sym paging::DIRECTORY,
    domains = const ALL,
    irq = const IRQ,
    kernel_entry = const (KERNEL_BASE / SECTION_BYTES) * 4,
    kernel_sections = const KERNEL_BYTES / SECTION_BYTES,
    saved = sym SAVED,
    section = const kernel_section(0, KERNEL, true),
    section_bytes = const SECTION_BYTES,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    start = sym begin,
    supervisor = const SUPERVISOR,
    undefined = const UNDEFINED,
);

/// Interrupt lines that components may have: all but the timer's and that of the second controller.
const COMPONENT_LINES: [u32; vic::LINES - 2] = lines::all_but(&[timer::LINE, vic::CASCADE]);

/// Makes the kernel out of what the boot loader left, and the first thread; leaves to it.
extern "C" fn begin(tags: u32) -> ! {
    cache::init();
    paging::map_devices();
    uart::init();
    let boot = boot::find(tags);
    paging::map_kernel(boot.pool);
    vic::init();
    timer::init();
    vic::set_enabled(timer::LINE, true);
    time::tick_in(time::LONGEST);

    let clock = time::clock();
    // SAFETY: boot; it is mapped, and only the kernel gets it, and the directory. The
    // port maps UTCBs, which are memory of the pool, in that window, and no cache has them by their
    // addresses in the pool (`utcb_page`).
    let kernel = unsafe {
        let mut pool = boot.new_pool();
        pool.add_window(UTCBS, UTCB_BYTES);
        start::kernel(&contract::KERNEL, pool, Armv5::new(&mut *DIRECTORY.get(), clock))
    };
    let features = if cache::is_arms_own() { 0 } else { FEATURE_LOCKED_LINES };
    start::root(kernel, &boot.machine(&COMPONENT_LINES), "ARMv5", features, clock);
    trap::leave(kernel);
    // SAFETY: the current thread's context is complete (`Registers::start`).
    unsafe { assembly::leave_kernel() }
}
