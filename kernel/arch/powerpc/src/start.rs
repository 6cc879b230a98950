// SPDX-License-Identifier: MIT OR Apache-2.0
//! From reset to the first thread.
//!
//! `start.S` maps memory for the kernel by BATs, and calls [`begin`].

use crate::boot;
use crate::contract::{KERNEL, PowerPc};
use crate::idle::Idle;
use crate::layout::{REACHED, UNCACHED, WINDOWS};
use crate::options::Options;
use crate::patch::{Jumps, jump};
use crate::space::Spaces;
use crate::{assembly, cache, regs, time, trap};
use abi::PhysAddr;
use abi::arch::powerpc::kip::FEATURE_SERVERS;
use arch_common::stack::{KERNEL_STACK, STACK_BYTES};
use arch_common::{lines, start};
use core::arch::global_asm;
use kcore::boot::{Machine, Range};
use mmu::vsid::{Contexts, SEGMENTS, vsid};
use plat_amigaone::{DEVICES, pic, uart};
use powerpc_context::msr;

/// A BAT of 256 MiB for the supervisor only (*Programming Environments*, table 7-10): bits of its
/// upper word.
const SUPERVISOR: u32 = ((REACHED >> 17) - 1) << 2 | 2;
/// Bits of its lower word: both may read and write; and nothing is cached or read ahead.
const READ_WRITE: u32 = 2;
const DEVICE: u32 = 0x28 | READ_WRITE;
/// The first RAM, which is not cached.
const UNCACHED_RAM: u32 = 0x20 | READ_WRITE;

global_asm!(
    include_str!("start.S"),
    device = const DEVICE,
    devices = const DEVICES >> 16,
    kernel_msr = const msr::KERNEL,
    read_write = const READ_WRITE,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES - 16,
    start = sym begin,
    supervisor = const SUPERVISOR,
);

/// Interrupt lines that components may have: all but the one that connects the two controllers.
const COMPONENT_LINES: [u32; pic::LINES - 1] = lines::all_but(&[pic::CASCADE]);

/// Carries out the boot words: changes the kernel's code, and maps RAM past the cache.
fn change_code(options: &Options) {
    let by_software = regs::fills_tlb_by_software();
    let jumps = [
        (Jumps::Slow, by_software || !options.fast_reload),
        (Jumps::Search, by_software && options.searches),
        (Jumps::Uncached, by_software && !options.searches && options.uncached_tables),
        (Jumps::UncachedInsert, options.uncached_tables),
        (Jumps::Preload, options.preloads),
        (Jumps::Block, options.shows_blocks),
    ];
    for (jumps, _) in jumps.into_iter().filter(|(_, wanted)| *wanted) {
        // SAFETY: there is no user yet, and those of a 603 are for that.
        unsafe { jump(jumps) };
    }
    // SAFETY: there is nothing else. Who accesses anything there drops its lines first.
    unsafe { regs::show_uncached(UNCACHED | SUPERVISOR, UNCACHED_RAM) };
}

/// Makes the kernel out of what the machine has, and the first thread; leaves to it.
extern "C" fn begin() -> ! {
    regs::init_caches();
    time::tick_late();
    regs::drop_all();
    uart::init();
    plat_amigaone::init();
    let options = Options::read();
    let (boot, place) = boot::find(&options);
    // There is nothing yet, and above users' addresses there never is.
    (0..SEGMENTS).for_each(|segment| regs::set_segment(segment, vsid(0, segment)));
    pic::init();
    let contexts = Contexts::new(place.map_or(options.contexts, |place| place.contexts));
    // SAFETY: boot found it free, and nobody else knows of it.
    let tables = place.map(|place| unsafe { place.set_up() });
    change_code(&options);
    let clock = time::clock();
    // SAFETY: boot; the pool is mapped one to one, and only the kernel gets it.
    let kernel = unsafe {
        start::kernel(
            &KERNEL,
            boot.new_pool(),
            PowerPc::new(Spaces::new(&options, contexts, tables), Idle::new(&options), clock),
        )
    };
    let windows = Range { base: PhysAddr(WINDOWS), bytes: abi::USER_END - WINDOWS };
    let machine = Machine {
        special: Range { base: PhysAddr(0), bytes: 1 << 16 },
        windows,
        ..boot.machine(&COMPONENT_LINES)
    };
    start::root(kernel, &machine, "PowerPC", FEATURE_SERVERS, clock);
    // The boot image was moved as data: its code comes to the instruction cache by way of memory.
    cache::clean_all();
    trap::leave(kernel);
    // SAFETY: the current thread's context is complete (`Registers::start`).
    unsafe { assembly::leave_kernel() }
}
