// SPDX-License-Identifier: MIT OR Apache-2.0
//! A serial line: a module for each kind, of which a board has one, with the same names in all of
//! them.

#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64"
))]
mod ns16550;
#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64"
))]
pub use ns16550::Uart;

#[cfg(target_arch = "arm")]
mod pl011;
#[cfg(target_arch = "arm")]
pub use pl011::Uart;
