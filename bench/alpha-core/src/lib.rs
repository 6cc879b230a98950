// SPDX-License-Identifier: MIT OR Apache-2.0
//! The portable kernel under random system calls. The host and Alpha execute the same ones, and the
//! sums over all results, and over the kernel's memory, have to be the same (docs/alpha.md).
//!
//! | module | room for |
//! |---|---|
//! | [`port`] | a processor with Alpha's registers and tables, whose board is simulated |
//! | [`events`] | what happens next |
//! | `host` | the same events on the host |
//! | `wasm` | what C calls, if this is compiled to WebAssembly |
#![no_std]
#![warn(missing_docs)]

pub mod events;
#[cfg(not(target_arch = "wasm32"))]
mod host;
pub mod port;
#[cfg(target_arch = "wasm32")]
mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub use host::on_host;

use abi::boot::Header;
use abi::kip::Kip;
use abi::{PAGE_SIZE, PhysAddr};
use bytemuck::Zeroable;
use events::Random;
use kcore::Kernel;
use kcore::boot::{Machine, Range, thread_table};
use pool::Pool;
use port::{LINES, Simulated};

/// Bytes of the pool: a power of two.
pub const POOL_BYTES: u32 = 1 << 20;
/// Most events of one kernel: the next ones are those of a new one.
const EVENTS: u32 = 4000;

/// What has happened. C and the host read it as 64-bit words.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Over all results, in order, and the memory of each kernel at its end.
    pub sum: u64,
    /// System calls.
    pub calls: u64,
    /// Those of them that succeeded.
    pub good: u64,
    /// A bit for each operation of which one succeeded.
    pub operations: u64,
    /// Kernels.
    pub kernels: u64,
}

impl Outcome {
    /// Adds a word (FNV-1a, by 64 bits at once).
    const fn add(&mut self, word: u64) {
        self.sum = (self.sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
}

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
        image: PhysAddr(0x0300_0000),
        header,
        irq_lines: &core::array::from_fn::<u32, LINES, _>(|line| line as u32),
    };
    assert!(kernel.start_root(&machine, &Kip::zeroed()).is_ok(), "the root server fits");
    kernel
}

/// So many random events, and what came of them.
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
