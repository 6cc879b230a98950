// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting: from the boot loader to the first thread.
//!
//! `start.S` turns translation and caches on, with the first 8 MiB of memory at `KERNEL_BASE`, and calls [`start`].

use crate::assembly::{self, ABORT, IRQ, SAVED, SUPERVISOR, UNDEFINED};
use crate::boot::{self, Boot};
use crate::contract::Armv5;
use crate::directory::DIRECTORY;
use crate::layout::{INDEX_MASK, KERNEL_BASE, KERNEL_BYTES, POOL_BASE, UTCB_BYTES, UTCBS};
use crate::{cache, lock, paging, regs, time, trap};
use abi::arch::armv5::kip::FEATURE_LOCKED_LINES;
use abi::kip::{self, Kip};
use arch_common::stack::{KERNEL_STACK, STACK_BYTES};
use core::arch::global_asm;
use core::sync::atomic::Ordering;
use kcore::Kernel;
use kcore::boot::{Machine, Range, thread_table};
use mmu::armv5::{SECTION_BYTES, kernel_section};
use mmu::fass::{ALL, KERNEL};
use plat_versatilepb::{timer, uart, vic};
use pool::Pool;

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
    start = sym start,
    supervisor = const SUPERVISOR,
    undefined = const UNDEFINED,
);

/// Lines of the board that components may have: all but the timer's and that of the second controller.
const COMPONENT_LINES: [u32; vic::LINES - 2] = {
    let (mut lines, mut count, mut line) = ([0; vic::LINES - 2], 0, 0);
    while line < vic::LINES as u32 {
        if line != timer::LINE && line != vic::CASCADE {
            lines[count] = line;
            count += 1;
        }
        line += 1;
    }
    lines
};

/// Makes the kernel out of what the boot loader left, and the first thread; leaves to it.
extern "C" fn start(tags: u32) -> ! {
    cache::init();
    paging::map_devices();
    uart::init();
    let boot = boot::find(tags);
    paging::map_kernel(boot.pool);
    vic::init();
    timer::init();
    vic::set_enabled(timer::LINE, true);
    time::tick_in(time::LONGEST);

    let (_, reserved) = thread_table(boot.pool.bytes);
    // SAFETY: boot mapped the pool there, found it free, and nobody else knows of it. The port maps UTCBs, which are memory of the
    // pool, in that window, and no cache has them by their addresses in the pool (`utcb_page`).
    let pool = unsafe {
        let mut pool = Pool::new(POOL_BASE as *mut u8, boot.pool.bytes, reserved);
        pool.add_window(UTCBS, UTCB_BYTES);
        pool
    };
    let clock = time::clock();
    // SAFETY: boot; the one place that takes the directory, and sets the kernel.
    let kernel = unsafe { lock::set(Kernel::new(pool, Armv5::new(&mut *DIRECTORY.get(), clock))) };
    INDEX_MASK.store(kernel.threads.count - 1, Ordering::Relaxed);
    let machine = Machine {
        ram: boot.ram.ranges(),
        devices: [Range { base: boot.ram_end, bytes: 0xffff_f000 - boot.ram_end.0 }, Range::default()],
        special: Range::default(),
        windows: Range::default(),
        image: boot.image,
        header: boot.header,
        irq_lines: &COMPONENT_LINES,
    };
    if let Err(error) = kernel.start_root(&machine, &information_page(&boot, clock, kernel.threads.count)) {
        panic!("the machine has too little memory: {}", error.text());
    }
    trap::leave(kernel);
    // SAFETY: the current thread's context is complete (`Registers::start`).
    unsafe { assembly::leave_kernel() }
}

fn information_page(boot: &Boot, clock: kip::Clock, threads: u32) -> Kip {
    let mut text = [0; 64];
    let version = concat!("Macadamia ", env!("CARGO_PKG_VERSION"), ", ARMv5").as_bytes();
    text.iter_mut().zip(version).for_each(|(to, from)| *to = *from);
    Kip {
        magic: kip::MAGIC,
        version: kip::VERSION,
        features: if cache::is_arms_own() { 0 } else { FEATURE_LOCKED_LINES },
        max_threads: threads,
        clock,
        slice_ns: 10_000_000,
        pool_bytes: boot.pool.bytes,
        text,
    }
}
