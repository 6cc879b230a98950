// SPDX-License-Identifier: MIT OR Apache-2.0
//! RAM as boot loaders report it: in the first 4 GiB, and, where a physical address has more than
//! 32 bits, above them.

use abi::{PAGE_SIZE, PhysAddr, Word};
use kcore::boot::Range;
use kcore::ram::Ram;

/// The last page of the first 4 GiB, which is never used, so that ends of ranges fit into 32 bits.
pub const LAST_PAGE: PhysAddr = PhysAddr(0xffff_f000);

/// Where RAM begins again after the first 4 GiB.
const HIGH: u64 = 1 << 32;

/// Whether a range is in the first 4 GiB.
#[must_use]
pub fn is_low(range: &Range) -> bool {
    range.end() <= LAST_PAGE
}

/// The whole pages among this many bytes from `base` on, if there are any and a word can have their
/// address.
#[must_use]
pub fn pages(base: u64, bytes: u64) -> Option<Range> {
    let end = PhysAddr(Word::try_from(base.checked_add(bytes)?).ok()?).align_down(PAGE_SIZE);
    let base = PhysAddr(Word::try_from(base.checked_next_multiple_of(PAGE_SIZE.into())?).ok()?);
    (base < end).then(|| Range { base, bytes: end - base })
}

/// Adds this many bytes of RAM from `base` on, whole pages. A range that crosses the end of the
/// first 4 GiB is divided there.
pub fn add(ram: &mut Ram, base: u64, bytes: u64) {
    let (end, last) = (base.saturating_add(bytes), u64::from(LAST_PAGE.0));
    let mut part = |base: u64, end: u64| ram.add(PhysAddr(base as Word), PhysAddr(end as Word));
    part(base.min(last), end.min(last));
    if Word::BITS > u32::BITS {
        part(base.max(HIGH), end.max(HIGH));
    }
}
