// SPDX-License-Identifier: MIT OR Apache-2.0
//! From reset to the first thread.

use crate::contract::{Alpha, KERNEL};
use crate::{boot, regs, time, trap};
use abi::PhysAddr;
use arch_common::{lines, place, start};
use kcore::boot::{Machine, Range};
use kcore::thread::ANCHOR;
use plat_clipper::{interrupts, pic, uart};

/// Interrupt lines that components may have: all but the one that joins the two controllers.
const COMPONENT_LINES: [u32; pic::LINES - 1] = lines::all_but(&[pic::CASCADE]);

/// Makes the kernel out of what the machine has, and the first thread; leaves to it.
#[unsafe(no_mangle)]
extern "C" fn kernel_begin() {
    uart::init();
    time::tick_never();
    let boot = boot::find();
    place::set(boot.pool.base);
    pic::init();
    interrupts::init();
    let clock = time::clock();
    // SAFETY: boot; the pool is RAM at its address, and only the kernel gets it.
    let kernel = unsafe { start::kernel(&KERNEL, boot.new_pool(), Alpha::new(clock)) };
    let table = kernel.threads;
    regs::set_threads(table.start + ANCHOR as u32, table.count - 1);
    let machine = Machine {
        special: Range { base: PhysAddr(0), bytes: 1 << 16 },
        // The board's devices are at I/O ports; those that are not are beyond 4 GiB.
        devices: [Range::default(); 2],
        ..boot.machine(&COMPONENT_LINES)
    };
    start::root(kernel, &machine, "Alpha", 0, clock);
    trap::leave(kernel)
}
