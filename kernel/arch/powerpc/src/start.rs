// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting: from reset to the first thread.
//!
//! `start.S` lets the kernel reach memory by BATs, and calls [`start`].

use crate::boot::{self, Boot};
use crate::contract::{LONGEST, PowerPc};
use crate::layout::{INDEX_MASK, REACHED};
use crate::spaces::Spaces;
use crate::{assembly, hash, lock, regs, trap};
use abi::PhysAddr;
use abi::kip::{self, Clock, Kip};
use arch_common::stack::{KERNEL_STACK, STACK_BYTES};
use core::arch::global_asm;
use core::sync::atomic::Ordering;
use kcore::Kernel;
use kcore::boot::{Machine, Range, thread_table};
use mmu::vsid::{SEGMENTS, USER_SEGMENTS, vsid};
use plat_amigaone::{DEVICES, TIME_BASE, pic, uart};
use pool::Pool;
use powerpc_context::msr;

/// A BAT of 256 MiB for the supervisor only (*Programming Environments*, table 7-10): bits of its upper word.
const SUPERVISOR: u32 = ((REACHED >> 17) - 1) << 2 | 2;
/// Bits of its lower word: both may read and write; and nothing is cached or read ahead.
const READ_WRITE: u32 = 2;
const DEVICE: u32 = 0x28 | READ_WRITE;

global_asm!(
    include_str!("start.S"),
    device = const DEVICE,
    devices = const DEVICES >> 16,
    kernel_msr = const msr::KERNEL,
    read_write = const READ_WRITE,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES - 16,
    start = sym start,
    supervisor = const SUPERVISOR,
);

/// Interrupt lines that components may have: all but the one that joins the two controllers.
const COMPONENT_LINES: [u32; pic::LINES - 1] = {
    let (mut lines, mut count, mut line) = ([0; pic::LINES - 1], 0, 0);
    while line < pic::LINES as u32 {
        if line != pic::CASCADE {
            lines[count] = line;
            count += 1;
        }
        line += 1;
    }
    lines
};

/// How the time base becomes time.
fn clock() -> Clock {
    const SHIFT: u32 = 26;
    const MULT: u64 = (1_000_000_000 << SHIFT) / TIME_BASE as u64;
    Clock { base: regs::time_base(), mult: MULT as u32, shift: SHIFT }
}

/// Makes the kernel out of what the machine has, and the first thread; leaves to it.
extern "C" fn start() -> ! {
    regs::init_caches();
    regs::set_decrementer(LONGEST);
    regs::drop_all();
    uart::init();
    plat_amigaone::init();
    let boot = boot::find();
    // Above users' addresses there is nothing.
    (USER_SEGMENTS..SEGMENTS).for_each(|segment| regs::set_segment(segment, vsid(0, segment)));
    pic::init();
    // SAFETY: boot found it free, and nobody else knows of it.
    let table = boot.hash.map(|place| unsafe { hash::set_up(place) });

    let (_, reserved) = thread_table(boot.pool.bytes);
    // SAFETY: boot found it free, it is mapped one to one, and nobody else knows of it.
    let pool = unsafe { Pool::new(boot.pool.base.0 as *mut u8, boot.pool.bytes, reserved) };
    let clock = clock();
    // SAFETY: boot; the one place that sets it.
    let kernel = unsafe { lock::set(Kernel::new(pool, PowerPc::new(Spaces::new(table), clock))) };
    INDEX_MASK.store(kernel.threads.count - 1, Ordering::Relaxed);
    let machine = Machine {
        ram: boot.ram.ranges(),
        devices: [Range { base: boot.ram_end, bytes: 0xffff_f000 - boot.ram_end.0 }, Range::default()],
        special: Range { base: PhysAddr(0), bytes: 1 << 16 },
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

fn information_page(boot: &Boot, clock: Clock, threads: u32) -> Kip {
    let mut text = [0; 64];
    let version = concat!("Macadamia ", env!("CARGO_PKG_VERSION"), ", PowerPC").as_bytes();
    text.iter_mut().zip(version).for_each(|(to, from)| *to = *from);
    Kip {
        magic: kip::MAGIC,
        version: kip::VERSION,
        features: 0,
        max_threads: threads,
        clock,
        slice_ns: 10_000_000,
        pool_bytes: boot.pool.bytes,
        text,
    }
}
