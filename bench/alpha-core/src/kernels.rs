// SPDX-License-Identifier: MIT OR Apache-2.0
//! One kernel after the other, to which random events happen.

use crate::events::{self, Random};
use crate::outcome::Outcome;
use crate::port::{LINES, Simulated};
use abi::boot::Header;
use abi::kip::Kip;
use abi::{PAGE_SIZE, PhysAddr};
use bytemuck::Zeroable;
use kcore::Kernel;
use kcore::boot::{Machine, Range, thread_table};
use pool::Pool;

/// Bytes of the pool: a power of two.
pub const POOL_BYTES: u32 = 1 << 20;
/// The most events of one kernel: after that a new kernel begins.
const EVENTS: u32 = 4000;

/// A kernel whose root server is about to run, in this pool.
///
/// # Panics
/// If it does not fit.
fn boot(pool: Pool) -> Kernel<Simulated> {
    let mut kernel = Kernel::new(pool, Simulated::default());
    let page = PAGE_SIZE as u32;
    let header = Header {
        root_bytes: page,
        root_address: abi::utcb::AREA_END as u32,
        root_offset: page,
        total: 2 * page,
        ..Header::zeroed()
    };
    let machine = Machine {
        ram: &[Range { base: PhysAddr(0x0400_0000), bytes: 16 << 20 }],
        devices: [Range { base: PhysAddr(0x801_fc00_0000), bytes: 0x10_0000 }, Range::default()],
        special: Range::default(),
        windows: Range::default(),
        tables: Range::default(),
        list: PhysAddr::default(),
        image: PhysAddr(0x0300_0000),
        header,
        irq_lines: &core::array::from_fn::<u32, LINES, _>(|line| line as u32),
    };
    assert!(kernel.start_root(&machine, &Kip::zeroed()).is_ok(), "the root server fits");
    kernel
}

/// This many random events. Returns their outcome.
///
/// # Safety
/// [`POOL_BYTES`] at `memory` are what [`Pool::new`] asks for.
pub unsafe fn run(memory: *mut u8, seed: u64, mut events: u32) -> Outcome {
    let (mut random, mut outcome) = (Random::new(seed), Outcome::default());
    let (_, reserved) = thread_table(POOL_BYTES);
    while events > 0 {
        // SAFETY: the caller's; the pool before it is gone.
        let mut kernel = boot(unsafe { Pool::new(memory, POOL_BYTES, reserved) });
        let most = events.min(EVENTS);
        let made = events::run(&mut kernel, &mut random, &mut outcome, most);
        events -= made;
        outcome.kernels += 1;
        for word in kernel.pool.bytes_at(pool::BASE, kernel.pool.bytes()).chunks_exact(8) {
            outcome.add(word.try_into().map_or(0, u64::from_le_bytes));
        }
    }
    outcome
}
