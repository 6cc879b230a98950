// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds the assembly fast paths against the portable kernel: `differential KERNEL [SEED]
//! [EVENTS]`.
//!
//! The kernel's entry code, as it was built, is executed by a machine in the processor's folder, on
//! the state of a simulated system; then `kcore` handles the same event. If the fast path went
//! through, every word of the pool that means anything, all registers and the space must be the
//! same; if it gave up, it must have changed nothing but its scratch words.
//!
//! The fast path's tests are held to be needed, too: an event is tried once more for each test that
//! was made, which finds the opposite then. Each test must have been the only one between an event
//! and a wrong result, or there is a reason why it cannot be.
//!
//! The contract is that of one processor, so there is a program for each: by the feature `ia32`,
//! which is the default, `arm`, `mips`, `powerpc`, `wide` for x86-64, or `alpha`, whose fast path is
//! all there is of it. A processor's folder implements
//! the trait of `processor.rs`. The others see each other in this order: `memory`, `clock`, `elf`,
//! `processor`, `compare`, `system`, `scenario`, `step`, `run`; `x86` is what IA-32 and x86-64 have
//! in common.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "alpha")]
mod alpha;
#[cfg(feature = "arm")]
mod armv5;
#[cfg(any(feature = "ia32", feature = "powerpc", feature = "wide"))]
mod clock;
mod compare;
mod elf;
#[cfg(feature = "ia32")]
mod ia32;
mod memory;
#[cfg(feature = "mips")]
mod mips;
#[cfg(feature = "powerpc")]
mod powerpc;
mod processor;
mod run;
mod scenario;
mod step;
mod system;
#[cfg(any(feature = "ia32", feature = "wide"))]
mod x86;
#[cfg(feature = "wide")]
mod x86_64;

#[cfg(feature = "alpha")]
use alpha::Alpha as FastPaths;
#[cfg(feature = "arm")]
use armv5::Armv5 as FastPaths;
#[cfg(feature = "ia32")]
use ia32::Ia32 as FastPaths;
#[cfg(feature = "mips")]
use mips::Mips as FastPaths;
#[cfg(feature = "powerpc")]
use powerpc::PowerPc as FastPaths;
#[cfg(feature = "wide")]
use x86_64::X86_64 as FastPaths;

fn main() -> anyhow::Result<()> {
    run::run::<FastPaths>()
}
