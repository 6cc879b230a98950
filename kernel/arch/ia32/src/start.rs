// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting: from the boot loader to the first thread.
//!
//! `start.S` turns paging on, with the first 4 MiB of memory at `KERNEL_BASE`, and calls [`start`].

use crate::boot::{self, Boot, Spaces};
use crate::contract::Ia32;
use crate::layout::{self, ENTRY_STACK_TOP, KERNEL_BASE, POOL_BASE, POOL_PLACE};
use crate::{assembly, features, gdt, interrupts, lock, paging, regs, trap};
use abi::PhysAddr;
use abi::kip::{self, Kip};
use arch_common::stack::{KERNEL_STACK, STACK_BYTES};
use core::arch::global_asm;
use core::sync::atomic::Ordering;
use kcore::Kernel;
use kcore::boot::{Machine, Range, thread_table};
use mmu::ia32::bits::{LARGE, PRESENT, WRITABLE};
use pool::Pool;

global_asm!(
    include_str!("start.S"),
    base = const KERNEL_BASE,
    directory = sym paging::DIRECTORY,
    kernel_entry = const (KERNEL_BASE >> 22) * 4,
    large = const PRESENT | WRITABLE | LARGE,
    paging = const regs::CR0_PG,
    pse = const regs::CR4_PSE,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    start = sym start,
);

/// Makes the kernel out of what the boot loader left, and the first thread; leaves to it.
extern "C" fn start(magic: u32, info: u32) -> ! {
    let boot = boot::find(magic, info);
    // SAFETY: boot, one processor, interrupts off.
    unsafe { features::set(boot.features) };
    paging::map_kernel(boot.pool, boot.features);
    paging::map_cpu_area();
    let (handlers, double_fault) = assembly::handlers();
    gdt::init(double_fault);
    if boot.features.sep {
        // SAFETY: the entry code is ready, and `CPU.current` is set before user mode is.
        unsafe { regs::init_sysenter(gdt::KERNEL_CODE, ENTRY_STACK_TOP, assembly::sysenter_entry as *const () as u32) };
    }
    regs::set_ts();
    interrupts::init(&handlers);
    let servers = match boot.spaces {
        Spaces::Auto => gdt::probe_limits(assembly::read_faults),
        Spaces::Force => true,
        Spaces::No => false,
    };
    if servers {
        gdt::limit_users();
    }

    let (_, reserved) = thread_table(boot.pool.bytes);
    // SAFETY: boot mapped the pool there, found it free, and nobody else knows of it.
    let pool = unsafe { Pool::new(POOL_BASE as *mut u8, boot.pool.bytes, reserved) };
    // SAFETY: boot; the one place that sets it.
    let kernel = unsafe { lock::set(Kernel::new(pool, Ia32::new(boot.features, boot.tsc, assembly::ways(), servers))) };
    POOL_PLACE.index_mask.store(kernel.threads.count - 1, Ordering::Relaxed);

    let machine = Machine {
        ram: boot.ram.ranges(),
        devices: [Range { base: boot.ram_end, bytes: 0xffff_f000 - boot.ram_end.0 }, Range { base: PhysAddr(0xa_0000), bytes: 0x6_0000 }],
        special: Range { base: PhysAddr(0), bytes: 0x1_0000 },
        windows: Range { base: PhysAddr(layout::WINDOWS), bytes: abi::USER_END - layout::WINDOWS },
        image: boot.image,
        header: boot.header,
        irq_lines: &interrupts::COMPONENT_LINES,
    };
    if let Err(error) = kernel.start_root(&machine, &information_page(&boot, servers, kernel.threads.count)) {
        panic!("the machine has too little memory: {}", error.text());
    }
    trap::leave(kernel);
    // SAFETY: the current thread's context is complete (`Port::start`) and its space is loaded.
    unsafe { assembly::leave_kernel() }
}

fn information_page(boot: &Boot, servers: bool, threads: u32) -> Kip {
    let feature = |present: bool, bit: u32| if present { bit } else { 0 };
    let mut text = [0; 64];
    let version = concat!("Macadamia ", env!("CARGO_PKG_VERSION"), ", IA-32").as_bytes();
    text.iter_mut().zip(version).for_each(|(to, from)| *to = *from);
    Kip {
        magic: kip::MAGIC,
        version: kip::VERSION,
        features: feature(boot.features.sep, abi::arch::ia32::kip::FEATURE_SYSENTER)
            | feature(boot.features.fxsr, abi::arch::ia32::kip::FEATURE_FXSR)
            | feature(boot.features.sse, abi::arch::ia32::kip::FEATURE_SSE)
            | feature(servers, abi::arch::ia32::kip::FEATURE_SERVERS),
        max_threads: threads,
        clock: kip::Clock { base: boot.tsc.base, mult: boot.tsc.mult, shift: boot.tsc.shift },
        slice_ns: 10_000_000,
        pool_bytes: boot.pool.bytes,
        text,
    }
}
