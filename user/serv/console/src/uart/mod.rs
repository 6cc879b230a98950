// SPDX-License-Identifier: MIT OR Apache-2.0
//! Serial lines: a module for each kind, with the same names in all of them. A board has one kind.

#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
mod ns16550;
#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
pub use ns16550::Uart;

#[cfg(target_arch = "arm")]
mod pl011;
#[cfg(target_arch = "arm")]
pub use pl011::Uart;
