// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the boot loader to the first thread.
//!
//! `start.S` turns on paging, with the first 4 MiB of memory at `KERNEL_BASE`, and calls [`begin`].

use crate::boot::{self, Spaces};
use crate::contract::{Ia32, KERNEL};
use crate::features::{self, Features};
use crate::layout::{self, ENTRY_STACK_TOP, KERNEL_BASE};
use crate::{assembly, gdt, interrupts, paging, regs, time, trap};
use abi::PhysAddr;
use abi::arch::ia32::kip;
use arch_common::stack::{KERNEL_STACK, STACK_BYTES};
use arch_common::start;
use core::arch::global_asm;
use kcore::boot::{Machine, Range};
use mmu::ia32::bits::{LARGE, PRESENT, WRITABLE};

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
    start = sym begin,
);

/// Makes the kernel out of what the boot loader left, and the first thread; leaves to it.
extern "C" fn begin(magic: u32, info: u32) -> ! {
    let boot = boot::find(magic, info);
    let memory = &boot.memory;
    let clock = time::clock();
    // SAFETY: boot, one processor, interrupts off.
    unsafe { features::set(boot.features) };
    paging::map_kernel(memory.pool, boot.features);
    paging::map_cpu_area();
    let (handlers, double_fault) = assembly::handlers();
    gdt::init(double_fault);
    if boot.features.sep {
        // SAFETY: the entry code is ready, and `CPU.current` is set before user mode is.
        unsafe {
            regs::init_sysenter(
                gdt::KERNEL_CODE,
                ENTRY_STACK_TOP,
                assembly::sysenter_entry as *const () as u32,
            )
        };
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

    // SAFETY: boot; it is mapped, and only the kernel gets it.
    let kernel = unsafe {
        let pool = memory.new_pool();
        start::kernel(&KERNEL, pool, Ia32::new(boot.features, clock, assembly::ways(), servers))
    };
    let legacy = Range { base: PhysAddr(0xa_0000), bytes: 0x6_0000 };
    let machine = memory.machine(&interrupts::COMPONENT_LINES);
    let machine = Machine {
        devices: [machine.devices[0], legacy],
        special: Range { base: PhysAddr(0), bytes: 0x1_0000 },
        windows: Range { base: PhysAddr(layout::WINDOWS), bytes: abi::USER_END - layout::WINDOWS },
        ..machine
    };
    start::root(kernel, &machine, "IA-32", told(boot.features, servers), clock);
    trap::leave(kernel);
    // SAFETY: the current thread's context is complete (`Port::start`) and its space is loaded.
    unsafe { assembly::leave_kernel() }
}

/// What the information page says of the processor.
fn told(features: Features, servers: bool) -> u32 {
    let feature = |present: bool, bit: u32| if present { bit } else { 0 };
    feature(features.sep, kip::FEATURE_SYSENTER)
        | feature(features.fxsr, kip::FEATURE_FXSR)
        | feature(features.sse, kip::FEATURE_SSE)
        | feature(servers, kip::FEATURE_SERVERS)
}
