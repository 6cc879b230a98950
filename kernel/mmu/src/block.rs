// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which block of a server's memory a block address translation register (BAT) of PowerPC can show:
//! adjacent large pages that begin at a multiple of the block's size, both in virtual and in
//! physical memory (*Programming Environments for 32-bit Microprocessors*, section 7.4.3).

use crate::Format;
use crate::powerpc::{PowerPc, bits};
use abi::UserAddr;

/// Bytes of a large page.
const SPAN: u32 = PowerPc::SPAN as u32;
/// Large pages of the largest block, 256 MiB.
const MOST: u32 = (256 << 20) / SPAN;
/// Bytes of the smallest block that there is.
const LEAST: u32 = 128 << 10;
/// Bits that are set in a directory's entry for a large page of cached RAM that is no Segment's,
/// and bits that are clear.
const WANTED: u32 = bits::PRESENT | bits::LARGE;
const UNWANTED: u32 = bits::SHARED | bits::UNCACHED | bits::GUARDED;
/// In a BAT's upper word: user mode sees the block (Vp). The supervisor does not.
pub const USERS: u32 = 1;
/// PP of a BAT, which knows no key: it may be read and written, or only read.
const READ_WRITE: u32 = 2;
const READ_ONLY: u32 = 3;

/// A BAT's two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// The virtual addresses, and which modes see the block.
    pub upper: u32,
    /// The physical address and the rights.
    pub lower: u32,
}

/// How many large pages the block has that begins with the first of these entries, which is that of
/// the large page with this number; 0 if that page cannot be in a block.
fn pages(entries: &[u32], number: u32) -> u32 {
    let Some(first) = entries.first().filter(|first| **first & (WANTED | UNWANTED) == WANTED)
    else {
        return 0;
    };
    let most = 1 << (number | (first / SPAN) | MOST).trailing_zeros();
    let run =
        entries.iter().zip(0..most).take_while(|(entry, page)| **entry == first + page * SPAN);
    1 << (run.count() as u32).ilog2()
}

/// The largest block among these entries of a directory, and the first of several such blocks; the
/// first entry is that of an address.
#[must_use]
pub fn largest(entries: &[u32], start: UserAddr) -> Option<Block> {
    let number = start.0 as u32 / SPAN;
    let (mut at, mut best) = (0, (0, 0));
    while at < entries.len() as u32 {
        let pages = pages(entries.get(at as usize..).unwrap_or_default(), number + at);
        if pages > best.0 {
            best = (pages, at);
        }
        at += pages.max(1);
    }
    let (pages, at) = best;
    let entry = *entries.get(at as usize).filter(|_| pages != 0)?;
    let rights = if entry & bits::READ_ONLY == bits::READ_WRITE { READ_WRITE } else { READ_ONLY };
    Some(Block {
        upper: ((number + at) * SPAN) | ((pages * SPAN / LEAST - 1) << 2) | USERS,
        lower: entry & bits::ADDRESS | rights,
    })
}
