// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tests know of the processor: machine code for their threads, and the layout of a [`Frame`].
//! There is a module for each processor, with the same names in all of them; cases that only one
//! processor has may use more.
//!
//! Code of a few instructions is assembled when this crate is built, and is part of the read-only
//! data. It can be executed at any address, and after other code. Native threads find the argument
//! of `start` where [`code::read`] and similar functions expect an address.
//!
//! It owns machine code and layouts. It does not know what a case tests with them.
#![no_std]
#![cfg_attr(target_arch = "mips64", feature(asm_experimental_arch))]

use abi::frame::WORDS;
use abi::{Frame, Word};
use macadamia::alloc::vec::Vec;

/// Whether a span that is mapped as a whole is one page: QEMU's Alpha has one size of pages.
pub const HAS_LARGE_PAGES: bool = !cfg!(target_arch = "wasm32");

/// Defines functions that return code.
#[cfg(not(target_arch = "wasm32"))]
macro_rules! code {
    ($($(#[$doc:meta])* $name:ident: $($line:literal),+;)+) => {$(
        core::arch::global_asm!(
            ".pushsection .rodata.code, \"a\"",
            concat!("code_", stringify!($name), ":"),
            $($line,)+
            concat!("code_", stringify!($name), "_end:"),
            ".popsection",
        );

        $(#[$doc])*
        #[must_use]
        pub fn $name() -> &'static [u8] {
            unsafe extern "C" {
                #[link_name = concat!("code_", stringify!($name))]
                static START: u8;
                #[link_name = concat!("code_", stringify!($name), "_end")]
                static END: u8;
            }
            let (start, end) = (&raw const START, &raw const END);
            // SAFETY: the assembly above defines both, the end after the start, in data that
            // nobody writes.
            unsafe { core::slice::from_raw_parts(start, end.addr() - start.addr()) }
        }
    )+};
}

#[cfg(target_arch = "wasm32")]
mod alpha;
#[cfg(target_arch = "wasm32")]
pub use alpha::*;

#[cfg(target_arch = "arm")]
mod armv5;
#[cfg(target_arch = "arm")]
pub use armv5::*;

#[cfg(target_arch = "mips64")]
mod mips;
#[cfg(target_arch = "mips64")]
pub use mips::*;

#[cfg(target_arch = "powerpc")]
mod powerpc;
#[cfg(target_arch = "powerpc")]
pub use powerpc::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "x86")]
mod ia32;
#[cfg(target_arch = "x86")]
pub use ia32::*;

/// A frame by offsets in bytes: [`PC`], [`SP`], [`ARGUMENT`], [`STATUS`], [`NUMBER`], [`RESULT`],
/// [`ARGUMENTS`].
pub trait Words {
    /// The word at an offset.
    fn word(&self, offset: usize) -> Word;
    /// Changes it.
    fn set(&mut self, offset: usize, value: Word);

    /// Continues after the invalid instruction at which it stopped.
    fn skip_invalid(&mut self) {
        self.set(PC, self.word(PC) + INVALID_BYTES);
    }
}

impl Words for Frame {
    fn word(&self, offset: usize) -> Word {
        bytemuck::cast::<Self, [Word; WORDS as usize]>(*self)[offset / size_of::<Word>()]
    }
    fn set(&mut self, offset: usize, value: Word) {
        let mut words: [Word; WORDS as usize] = bytemuck::cast(*self);
        words[offset / size_of::<Word>()] = value;
        *self = bytemuck::cast(words);
    }
}

/// A frame of zeros, except for these.
#[must_use]
pub fn frame(pc: Word, sp: Word) -> Frame {
    let mut frame = Frame::default();
    frame.set(PC, pc);
    frame.set(SP, sp);
    frame
}

/// Code as words, for memory that is written so; zeros after it.
#[must_use]
pub fn words(code: &[u8]) -> Vec<u32> {
    let byte = |bytes: &[u8], index: usize| bytes.get(index).copied().unwrap_or_default();
    code.chunks(4)
        .map(|bytes| u32::from_ne_bytes(core::array::from_fn(|index| byte(bytes, index))))
        .collect()
}
