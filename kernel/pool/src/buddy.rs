// SPDX-License-Identifier: MIT OR Apache-2.0
//! A buddy allocator whose free lists run through the free blocks.
//!
//! One byte for each [`MIN_BYTES`] block of the pool tells what starts there:
//! nothing (0), a free block of an order (`FREE | order`) or an allocated one
//! (`USED | order`). The map makes a wrong `free` a panic instead of a corrupted
//! list.

use crate::{BASE, Link, Object, Pool, Ref};
use bytemuck::{Pod, Zeroable};

/// Smallest block.
pub const MIN_BYTES: u32 = 64;
const MIN_ORDER: u32 = MIN_BYTES.trailing_zeros();
/// Largest block is 2 to this power: 4 MiB.
pub const MAX_ORDER: u32 = 22;
const ORDERS: usize = (MAX_ORDER + 1) as usize;

const FREE: u8 = 0x80;
const USED: u8 = 0x40;

/// Order of the smallest block that holds `bytes`; `None` if there is none.
#[must_use]
pub const fn order_of(bytes: u32) -> Option<u32> {
    if bytes == 0 || bytes > 1 << MAX_ORDER {
        return None;
    }
    let order = bytes.next_power_of_two().trailing_zeros();
    Some(if order < MIN_ORDER { MIN_ORDER } else { order })
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct FreeBlock {
    next: Link<FreeBlock>,
    prev: Link<FreeBlock>,
}
impl Object for FreeBlock {}

/// Heads of the free lists and where the map is.
pub struct Buddy {
    heads: [Link<FreeBlock>; ORDERS],
    map: u32,
    /// Start of what is allocated from, aligned to a page.
    start: u32,
    pub(crate) free_bytes: u32,
}

impl Buddy {
    pub(crate) const fn new() -> Self {
        Self { heads: [Link::NULL; ORDERS], map: 0, start: 0, free_bytes: 0 }
    }

    /// Places the map after the reserved bytes and frees the rest.
    pub(crate) fn start(pool: &mut Pool, reserved: u32) {
        let map_bytes = (pool.bytes / MIN_BYTES).next_multiple_of(abi::PAGE_SIZE as u32);
        assert!(reserved + map_bytes <= pool.bytes, "pool too small for its tables");
        pool.buddy.map = BASE + reserved;
        pool.buddy.start = BASE + reserved + map_bytes;
        let end = BASE + pool.bytes;
        let mut at = pool.buddy.start;
        while at < end {
            // The largest block that is aligned here and fits.
            let order = at.trailing_zeros().min((end - at).ilog2()).min(MAX_ORDER);
            Self::push(pool, at, order);
            at += 1 << order;
        }
    }

    fn mark(pool: &mut Pool, address: u32, value: u8) {
        let at = pool.buddy.map + (address - BASE) / MIN_BYTES;
        pool.bytes_mut(at, 1).fill(value);
    }

    fn marked(pool: &Pool, address: u32) -> u8 {
        let at = pool.buddy.map + (address - BASE) / MIN_BYTES;
        pool.bytes_at(at, 1).first().copied().unwrap_or(0)
    }

    fn push(pool: &mut Pool, address: u32, order: u32) {
        let block = Ref::<FreeBlock>::new(address);
        let head = pool.buddy.heads[order as usize];
        pool[block] = FreeBlock { next: head, prev: Link::NULL };
        if let Some(next) = head.get() {
            pool[next].prev = block.link();
        }
        pool.buddy.heads[order as usize] = block.link();
        pool.buddy.free_bytes += 1 << order;
        Self::mark(pool, address, FREE | order as u8);
    }

    fn remove(pool: &mut Pool, block: Ref<FreeBlock>, order: u32) {
        let FreeBlock { next, prev } = pool[block];
        if let Some(next) = next.get() {
            pool[next].prev = prev;
        }
        match prev.get() {
            Some(prev) => pool[prev].next = next,
            None => pool.buddy.heads[order as usize] = next,
        }
        pool.buddy.free_bytes -= 1 << order;
        Self::mark(pool, block.address(), 0);
    }

    pub(crate) fn allocate(pool: &mut Pool, order: u32) -> Option<u32> {
        let (from, block) =
            (order..=MAX_ORDER).find_map(|o| pool.buddy.heads[o as usize].get().map(|b| (o, b)))?;
        Self::remove(pool, block, from);
        // The upper halves that are not wanted go back.
        for half in (order..from).rev() {
            Self::push(pool, block.address() + (1 << half), half);
        }
        Self::mark(pool, block.address(), USED | order as u8);
        Some(block.address())
    }

    pub(crate) fn free(pool: &mut Pool, address: u32, order: u32) {
        let end = BASE + pool.bytes;
        assert!(
            address >= pool.buddy.start && address < end && address.is_multiple_of(MIN_BYTES),
            "freed {address:#x}: not a block"
        );
        assert!(
            Self::marked(pool, address) == USED | order as u8,
            "freed {address:#x}: not allocated with order {order}"
        );
        Self::mark(pool, address, 0);
        let (mut address, mut order) = (address, order);
        while order < MAX_ORDER {
            let buddy = address ^ (1 << order);
            let inside = buddy >= pool.buddy.start && buddy + (1 << order) <= end;
            if !inside || Self::marked(pool, buddy) != FREE | order as u8 {
                break;
            }
            Self::remove(pool, Ref::new(buddy), order);
            address &= !(1 << order);
            order += 1;
        }
        Self::push(pool, address, order);
    }
}
