// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the assembly fast paths with the portable kernel: `differential KERNEL [SEED]
//! [EVENTS]`.
//!
//! A machine in the processor's folder executes the kernel's entry code, as it was built, on the
//! state of a simulated system; then `kcore` handles the same event. If the fast path completes,
//! all registers, the space, and every word of the pool that has a meaning must be the same. If it
//! gives up, it must have changed only its scratch words.
//!
//! Each test in the fast path must be needed, too. For each test that was made, the event is tried
//! once more with the opposite result of that test. Each test must at least once be the only one
//! that prevents a wrong result, or there is a reason why it cannot be.
//!
//! The contract is that of one processor, so there is a program for each: by the feature `ia32`,
//! which is the default, `arm`, `mips`, `powerpc`, `wide` for x86-64, or `alpha`, whose path is
//! assembled by itself. A processor's folder implements the trait of `processor.rs`. The other
//! modules use each other in this order: `memory`, `clock`, `elf`, `processor`, `compare`,
//! `system`, `scenario`, `step`, `run`; `x86` is what IA-32 and x86-64 have in common.
//!
//! It owns the systems, the events and the comparison. It must not know what a fast path does: it
//! sees only the state before and after.
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
