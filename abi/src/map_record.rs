// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one `Map` does, in up to sixteen records.

use crate::syscall::MAX_SLOTS;
use crate::{CacheOp, Rights, Selector, UserAddr, Word};

/// A selector in 16 bits; 0 for one that no table has.
pub(crate) const fn fit(selector: Word) -> u32 {
    if selector < MAX_SLOTS as Word { selector as u32 } else { 0 }
}

/// A record of `Map`: four words.
///
/// ```text
///  word 0   .. Memory selector 16 15 Space or Segment selector 0
///  word 1   .. address (in a Segment: offset) 12 11 operation 8  7 0  6 uncached  5 rights 0
///  word 2   offset in the Memory, in bytes (of I/O ports: in ports)
///  word 3   length, in bytes (of I/O ports: in ports)
/// ```
/// I/O ports appear where they are: the address is ignored. `UNMAP` looks at the Memory only to see
/// whether it is of ports. `PROTECT` ignores Memory and offset, and so do the operations on caches,
/// which are those of `Cache`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapRecord(pub [Word; 4]);

impl MapRecord {
    /// Operation: make mappings; what was there before is replaced.
    pub const MAP: u32 = 0;
    /// Operation: remove mappings.
    pub const UNMAP: u32 = 1;
    /// Operation: change rights.
    pub const PROTECT: u32 = 2;
    /// Operation: the first of those on caches, in the order of [`CacheOp`].
    pub const CACHE: u32 = 3;
    /// Most records in one call.
    pub const MAX: u32 = 16;
    /// Flag in word 1, and in what `Lookup` returns: the pages are not cached.
    pub const UNCACHED: u32 = 1 << 6;

    /// A record. A selector that does not fit 16 bits names no slot: it becomes 0, which the kernel
    /// refuses.
    #[must_use]
    pub const fn new(
        op: u32,
        space: Word,
        address: Word,
        memory: Word,
        offset: Word,
        length: Word,
        rights: Rights,
    ) -> Self {
        let (selectors, low) = (fit(memory) << 16 | fit(space), (op & 15) << 8 | (rights.0 & 63));
        Self([selectors as Word, (address & !(crate::PAGE_SIZE - 1)) | low as Word, offset, length])
    }
    /// The operation.
    #[must_use]
    pub const fn op(&self) -> u32 {
        (self.0[1] >> 8) as u32 & 15
    }
    /// What is to be done to caches, if it is that.
    #[must_use]
    pub const fn cache_op(&self) -> Option<CacheOp> {
        match self.op().checked_sub(Self::CACHE) {
            Some(code) => CacheOp::from_code(code),
            None => None,
        }
    }
    /// A record that does something to the caches: of a Space, what lies in a range of whole pages.
    #[must_use]
    pub const fn cache(what: CacheOp, space: Word, address: Word, length: Word) -> Self {
        Self::new(Self::CACHE + what as u32, space, address, 0, 0, length, Rights::NONE)
    }
    /// The Space or Segment.
    #[must_use]
    pub const fn space(&self) -> Selector {
        Selector(self.0[0] & 0xffff)
    }
    /// The Memory.
    #[must_use]
    pub const fn memory(&self) -> Selector {
        Selector(self.0[0] >> 16)
    }
    /// Address in the Space, or offset in the Segment.
    #[must_use]
    pub const fn address(&self) -> UserAddr {
        UserAddr(self.0[1] & !(crate::PAGE_SIZE - 1))
    }
    /// The same record, which maps RAM uncached.
    #[must_use]
    pub const fn uncached(self) -> Self {
        let [selectors, word, offset, length] = self.0;
        Self([selectors, word | Self::UNCACHED as Word, offset, length])
    }
    /// Whether RAM is to be mapped uncached.
    #[must_use]
    pub const fn is_uncached(&self) -> bool {
        self.0[1] as u32 & Self::UNCACHED != 0
    }
    /// Rights asked for.
    #[must_use]
    pub const fn rights(&self) -> Rights {
        Rights(self.0[1] as u32 & 63)
    }
    /// Offset in the Memory.
    #[must_use]
    pub const fn offset(&self) -> Word {
        self.0[2]
    }
    /// Bytes, or ports.
    #[must_use]
    pub const fn length(&self) -> Word {
        self.0[3]
    }
}
