// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the boot loader to the first thread.
//!
//! `start.S` turns on long mode, with the first 4 MiB of memory at `KERNEL_BASE`, and calls
//! [`begin`].

use crate::contract::{KERNEL, X86_64};
use crate::layout::{DIRECTORY_BASE, KERNEL_BASE, WINDOWS, wide};
use crate::paging::{self, LARGE_PAGE};
use crate::{apic, area, assembly, boot, gdt, interrupts, regs, time, trap};
use abi::arch::x86_64::kip::FEATURE_SERVERS;
use abi::{PhysAddr, USER_END};
use arch_common::stack::{KERNEL_STACK, STACK_BYTES};
use arch_common::start;
use arch_common::{multiboot2, pvh};
use core::arch::global_asm;
use kcore::boot::{Machine, Range};
use mmu::x86_64::bits::{LARGE, PRESENT, WRITABLE};
use plat_pc::pic;

/// CPUID leaf 8000_0001, EDX: numbers of bits.
const LONG_MODE: u32 = 29;
const NO_EXECUTE: u32 = 20;
/// The selector of the 64-bit code segment of `gdt`, which the jump needs before that table exists.
const CODE: u64 = 0x0020_9b00_0000_0000;
/// The first serial line.
const SERIAL: u16 = 0x3f8;

global_asm!(
    include_str!("start.S"),
    memory_map = const multiboot2::MEMORY_MAP,
    module = const multiboot2::MODULE,
    multiboot = const multiboot2::HEADER,
    pvh = const pvh::MAGIC,
    pvh_note = const pvh::NOTE,
    minus_base = const wide(KERNEL_BASE).wrapping_neg(),
    code = const CODE,
    directory = sym paging::DIRECTORY,
    efer = const regs::EFER,
    kernel_entry = const ((KERNEL_BASE - DIRECTORY_BASE) / LARGE_PAGE) * 8,
    large = const PRESENT | WRITABLE | LARGE,
    large_page = const LARGE_PAGE,
    last = const 511 * 8,
    long_and_nx = const regs::EFER_LME | regs::EFER_NXE,
    long_mode = const LONG_MODE,
    no_execute = const NO_EXECUTE,
    pae = const regs::CR4_PAE,
    paging = const regs::CR0_PG | regs::CR0_PE,
    serial = const SERIAL,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    start = sym begin,
    table = const PRESENT | WRITABLE,
    top = sym paging::TOP,
    upper = sym paging::UPPER,
);

/// Makes the kernel out of what the boot loader left, and the first thread; leaves to it.
extern "C" fn begin(magic: u32, info: u32) -> ! {
    let (memory, options, tables) = boot::find(magic, info);
    paging::map_kernel(memory.pool);
    paging::map_cpu_area();
    gdt::init();
    // SAFETY: the entry code is ready, and `Cpu::current` is set before user mode is entered.
    unsafe { assembly::open_syscall() };
    regs::set_ts();
    let has_pic = pic::is_there();
    let apic = apic::find(has_pic);
    let clock = time::clock(apic.as_ref());
    let apic = apic.filter(|apic| apic.start(&clock, interrupts::TIMER_VECTOR));
    interrupts::init(assembly::handlers(), has_pic, apic);
    area::init();
    let has_pcids = regs::read_cr4() & regs::CR4_PCIDE != 0;
    let mut port = X86_64::new(clock, has_pcids, options.shows_pcids, options.has_servers);
    port.set_barriers(options.drops_predictions, options.clears_buffers);
    if options.isolates {
        port.isolate();
    }
    // SAFETY: boot; it is mapped, and only the kernel gets it.
    let kernel = unsafe { start::kernel(&KERNEL, memory.new_pool(), port) };
    let legacy = Range { base: PhysAddr(0xa_0000), bytes: 0x6_0000 };
    let machine = memory.machine(&interrupts::COMPONENT_LINES);
    let machine = Machine {
        devices: [machine.devices[0], legacy],
        special: Range { base: PhysAddr(0), bytes: 0x1_0000 },
        windows: Range { base: PhysAddr(WINDOWS), bytes: USER_END - WINDOWS },
        tables: tables.range,
        list: tables.list,
        ..machine
    };
    let features = if options.has_servers { FEATURE_SERVERS } else { 0 };
    start::root(kernel, &machine, "x86-64", features, clock);
    let tables = trap::leave(kernel);
    // SAFETY: the current thread's context is complete (`Registers::start`), and `leave` has
    // prepared this exit.
    unsafe { assembly::leave_first(tables) }
}
