// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to the host: the real contract over simulated registers, for tests of
//! the portable kernel. Translation tables have IA-32's format; nothing walks them
//! but tests.
#![warn(missing_docs)]

use abi::frame::vector;
use abi::kip::Kip;
use abi::{CacheOp, Error, Frame, Rights};
use bytemuck::Zeroable;
use ia32_context::ports::PortMap;
use ia32_context::{ARGUMENTS, word};
use kcore::boot::{self, Machine, thread_table};
use kcore::port::{Area, Change, Context, FaultIn};
use kcore::{Cpu, Irq, Kernel, Port, Segment, Space, Table, Thread};
use mmu::ia32::Ia32;
use pool::{Link, Pool, Ref};
use std::alloc::{Layout, alloc};
use std::collections::HashMap;
use std::ops::Range;

/// Where the pool pretends to be.
pub const POOL_BASE: u32 = pool::BASE;
/// Bytes of the pool.
pub const POOL_BYTES: u32 = 4 << 20;
/// Physical minus pretended address of the pool.
const POOL_PHYSICAL: u32 = 0x0700_0000;
/// The RAM that the root server gets.
pub const RAM: boot::Range = boot::Range { base: 0x0100_0000, bytes: 16 << 20 };

/// Interrupt lines: more than a word has bits.
pub const LINES: usize = 40;

/// Selectors in the root server's table.
pub mod slot {
    pub use abi::boot::slot::*;
    /// First slot that is empty.
    pub const FREE: u32 = IRQ + super::LINES as u32;
}

/// A place for the kernel's part of a native space that is not at its start. Its first page has UTCBs, the last but one the
/// information page.
pub const ELSEWHERE: Area = Area { start: 0x2000_0000, end: 0x2040_0000, kip: 0x203f_e000, first_slot: 0x2000_0000 };

/// Where the kernel reaches UTCBs if not in the pool ([`Host::window`]).
const WINDOW: u32 = 0xc000_0000;

/// A simulated processor and board.
pub struct Host {
    cpu: Cpu,
    /// The time, which tests advance.
    pub now: u64,
    /// What the timer was last set to.
    pub timer: Option<u64>,
    /// Whether long operations are told that an interrupt waits.
    pub pending: bool,
    /// Ranges whose translations were dropped.
    pub invalidated: Vec<(u32, u32, u32)>,
    /// How often all translations were dropped.
    pub all_invalidated: u32,
    /// Tables as a walker finds them in memory if nothing but `entries_written` brings them there.
    pub walker: HashMap<u32, [u32; mmu::ENTRIES]>,
    /// Where the kernel's part of a native space is.
    pub area: Area,
    /// Whether the kernel reaches UTCBs by other addresses than those in the pool, as with caches that are virtual.
    pub window: bool,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            cpu: Cpu::default(),
            now: 0,
            timer: None,
            pending: false,
            invalidated: Vec::new(),
            all_invalidated: 0,
            walker: HashMap::new(),
            area: Area::ALL,
            window: false,
        }
    }
}

impl Port for Host {
    type Format = Ia32;
    type Irqs = [Link<Irq>; LINES];
    type Special = PortMap;

    fn argument(context: &Context, index: usize) -> u32 {
        ia32_context::argument(context, index)
    }
    fn set_result(context: &mut Context, index: usize, value: u32) {
        ia32_context::set_result(context, index, value);
    }
    fn frame(thread: &Thread) -> Frame {
        ia32_context::frame(thread)
    }
    fn load_frame(thread: &mut Thread, frame: &Frame) {
        ia32_context::load_frame(thread, frame);
    }
    fn start(context: &mut Context, entry: u32, stack: u32, utcb: u32, argument: u32) {
        ia32_context::start(context, entry, stack, utcb, argument);
    }
    fn resumes_fast(thread: &Thread) -> bool {
        ia32_context::resumes_fast(thread)
    }
    fn cpu(&mut self) -> &mut Cpu {
        &mut self.cpu
    }
    fn unload(&mut self, _: &mut Pool, _: Ref<Thread>, _: bool) {}
    fn set_state(thread: &mut Thread, item: u32, values: [u32; 2]) -> Result<u32, Error> {
        ia32_context::set_state(thread, item, values)
    }
    fn clear_fpu(area: &mut [u8]) {
        area.fill(0);
    }
    fn physical(&self, address: u32) -> u32 {
        address - POOL_BASE + POOL_PHYSICAL
    }
    fn pool_address(&self, physical: u32) -> u32 {
        physical - POOL_PHYSICAL + POOL_BASE
    }
    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        if let Some(top) = pool[space].region.top.get() {
            pool[space].hw[0] = self.physical(top.address());
        }
    }
    fn space_dropped(&mut self, _: &mut Pool, _: Ref<Space>) {}
    fn area(&mut self, _: &Pool, _: Ref<Space>) -> Area {
        self.area
    }
    fn utcb_page(&mut self, page: u32, _: u32) -> u32 {
        if self.window { page - POOL_BASE + WINDOW } else { page }
    }
    fn segment_created(&mut self, _: &mut Pool, _: Ref<Segment>) {}
    fn segment_dropped(&mut self, _: &mut Pool, _: Ref<Segment>) {}
    fn before_change(&mut self, _: &mut Pool, _: Ref<Space>, _: Range<u32>, _: Change) {}
    fn before_change_anywhere(&mut self, _: Change) {}
    fn entries_written(&mut self, pool: &Pool, table: Ref<Table>, range: Range<usize>) {
        let seen = self.walker.entry(table.address()).or_insert([0; mmu::ENTRIES]);
        seen[range.clone()].copy_from_slice(&pool[table].0[range]);
    }
    fn top_changed(&mut self, _: &mut Pool, _: Ref<Space>, _: usize) {}
    fn invalidate(&mut self, _: &mut Pool, space: Ref<Space>, range: Range<u32>) {
        self.invalidated.push((space.address(), range.start, range.end));
    }
    fn invalidate_all(&mut self) {
        self.all_invalidated += 1;
    }
    fn fault_in(&mut self, _: &mut Pool, _: Ref<Space>, _: u32, _: Rights) -> FaultIn {
        FaultIn::Report
    }
    fn cache(&mut self, _: &mut Pool, _: Ref<Space>, _: Range<u32>, _: CacheOp) {}
    fn now(&self) -> u64 {
        self.now
    }
    fn set_timer(&mut self, deadline: Option<u64>) {
        self.timer = deadline;
    }
    fn set_irq(&mut self, _: u32, _: bool) {}
    fn interrupt_pending(&mut self) -> bool {
        self.pending
    }
}

/// A thread's registers as if it had just made a system call by `sysenter`: the tag and `a0` to `a3`.
pub fn set_arguments(thread: &mut Thread, arguments: [u32; 5]) {
    thread.context[word::VECTOR] = vector::SYSENTER;
    for (index, argument) in ARGUMENTS.into_iter().zip(arguments) {
        thread.context[index] = argument;
    }
}

/// The registers that a system call's results are in.
#[must_use]
pub fn results(thread: &Thread) -> [u32; 5] {
    ARGUMENTS.map(|index| thread.context[index])
}

/// A kernel with a root server that is about to run.
///
/// # Panics
/// If the host has no memory.
#[must_use]
pub fn boot() -> Kernel<Host> {
    boot_with(POOL_BYTES)
}

/// As [`boot`], with a pool of this size, a multiple of a page.
///
/// # Panics
/// If the root server does not fit.
#[must_use]
pub fn boot_with(pool_bytes: u32) -> Kernel<Host> {
    boot_on(Host::default(), pool_bytes)
}

/// As [`boot`], with the kernel's part of a native space elsewhere, and UTCBs that the kernel does not reach in the pool.
///
/// # Panics
/// If the host has no memory.
#[must_use]
pub fn boot_elsewhere() -> Kernel<Host> {
    boot_on(Host { area: ELSEWHERE, window: true, ..Host::default() }, POOL_BYTES)
}

fn boot_on(host: Host, pool_bytes: u32) -> Kernel<Host> {
    let (_, reserved) = thread_table(pool_bytes);
    let layout = Layout::from_size_align(pool_bytes as usize, abi::PAGE_SIZE as usize).expect("a layout of pages");
    // SAFETY: the layout is not empty; the memory is never freed, and used by nobody else. The window has no memory of its own.
    let pool = unsafe {
        let mut pool = Pool::new(alloc(layout), pool_bytes, reserved);
        pool.add_window(WINDOW, pool_bytes);
        pool
    };
    let mut kernel = Kernel::new(pool, host);
    let header =
        abi::boot::Header { root_bytes: 4096, root_address: 0x40_0000, root_offset: 4096, total: 8192, ..abi::boot::Header::zeroed() };
    let machine = Machine {
        ram: &[RAM],
        devices: [boot::Range { base: 0x0800_0000, bytes: 0x10_0000 }, boot::Range { base: 0xa_0000, bytes: 0x6_0000 }],
        special: boot::Range { base: 0, bytes: 0x1_0000 },
        image: 0x0300_0000,
        header,
        irq_lines: &[1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 39],
    };
    kernel.start_root(&machine, &Kip::zeroed()).expect("the root server fits");
    kernel
}
