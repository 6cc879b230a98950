// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds the assembly fast paths against the portable kernel: `differential KERNEL [SEED] [EVENTS]`.
//!
//! The kernel's entry code, as it was built, is executed by a machine in the processor's folder, on the state of a simulated system;
//! then `kcore` handles the same event. If the fast path went through, every word of the pool that means anything, all registers and
//! the space must be the same; if it gave up, it must have changed nothing but its scratch words.
//!
//! The contract is that of one processor, so there is a program for each: by the feature `ia32`, which is the default, or `arm`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "arm")]
mod armv5;
#[cfg(feature = "ia32")]
mod ia32;
mod run;

#[cfg(feature = "arm")]
use armv5::Armv5 as FastPaths;
#[cfg(feature = "ia32")]
use ia32::Ia32 as FastPaths;

fn main() -> anyhow::Result<()> {
    run::run::<FastPaths>()
}
