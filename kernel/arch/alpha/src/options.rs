// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words in the page before the boot image: how much RAM there is, and how many bytes lie there.

use crate::layout::{WORDS, WORDS_BYTES};
use crate::panic::Clipper;
use arch_common::{options, shared};

/// A number that the loader has to give.
pub fn number(name: &str) -> u32 {
    // SAFETY: RAM; nobody writes it.
    let page: &[u8] =
        unsafe { core::slice::from_raw_parts(shared::at(WORDS), WORDS_BYTES as usize) };
    options::number::<Clipper>(page.iter().copied(), name)
}
