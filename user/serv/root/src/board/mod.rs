// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the root server itself uses of the machine: a module for each board, with the same names in
//! all of them.
//!
//! `Line` is the first serial line, on which the root server prints without the console; `open`
//! gives access to it. `power_off` ends the machine. `Bus` is PCI.

#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
mod ports;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod pc;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub use pc::*;

#[cfg(target_arch = "wasm32")]
mod clipper;
#[cfg(target_arch = "wasm32")]
pub use clipper::*;

#[cfg(target_arch = "arm")]
mod versatilepb;
#[cfg(target_arch = "arm")]
pub use versatilepb::*;

#[cfg(target_arch = "mips64")]
mod malta;
#[cfg(target_arch = "mips64")]
pub use malta::*;

#[cfg(target_arch = "powerpc")]
mod amigaone;
#[cfg(target_arch = "powerpc")]
pub use amigaone::*;
