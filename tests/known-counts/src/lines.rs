// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads of memory, line by line or page by page.

use core::sync::atomic::{AtomicU32, Ordering};

/// Repetitions of each interval: the first ones miss in TLBs and caches, medians are tested.
pub const REPETITIONS: u32 = 21;
/// Bytes of one read.
pub const WORD: usize = size_of::<AtomicU32>();
/// Bytes of a page.
pub const PAGE: usize = abi::PAGE_SIZE as usize;

/// The offset in a page at which reading begins: away from the stack's lines in the cache.
const OFFSET: usize = 1024;

/// Reads a word each `stride` bytes, `count` of them, from the first page boundary in `memory` and
/// [`OFFSET`] on. The only other data that it touches are a few lines of its stack. Not part of its
/// callers, so that the same code is executed each time.
#[inline(never)]
pub fn read(memory: &[AtomicU32], count: usize, stride: usize) -> u32 {
    let first = (memory.as_ptr() as usize).wrapping_neg() % PAGE / WORD + OFFSET / WORD;
    let words = memory.iter().skip(first).step_by(stride / WORD).take(count);
    words.fold(0, |sum, word| sum.wrapping_add(word.load(Ordering::Relaxed)))
}
