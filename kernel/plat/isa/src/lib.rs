// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel drives of a PC, and of boards that descend from it.
//!
//! | module | room for |
//! |---|---|
//! | [`lines`] | what keeps an interrupt controller's lines quiet |
//! | `pic` | the interrupt controllers |
//! | `uart` | the serial line |
//!
//! A program of the host has no ports: it tests `lines`.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod lines;
#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
pub mod pic;
#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
pub mod uart;
