// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words in the page before the boot image: how much RAM there is, and how many bytes the boot
//! image and the symbols have.

use crate::layout::WORDS;
use crate::panic::Malta;
use abi::PAGE_SIZE;
use arch_common::{options, shared};

/// A number that the loader has to give.
pub fn number(name: &str) -> u32 {
    // SAFETY: RAM in kseg0; nobody writes it.
    let page: &[u8] = unsafe { core::slice::from_raw_parts(shared::at(WORDS), PAGE_SIZE as usize) };
    options::number::<Malta>(page.iter().copied(), name)
}
