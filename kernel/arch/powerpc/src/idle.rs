// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel does while no thread runs: it sweeps zombies from the hashed table, clears pages
//! for a component that asked for that ([`CacheOp::Clear`](abi::CacheOp::Clear)), and waits
//! (Dougan, Mackerras, Yodaiken 1999, sections 7, 9 and 10.1). It works in steps, and checks for
//! interrupts between two of them.

use crate::cache::{Lines, on_lines};
use crate::layout::{REACHED, UNCACHED};
use crate::options::{Clear, Options};
use crate::space::Spaces;
use crate::{regs, space};
use abi::{Error, PAGE_SIZE, UserAddr};
use core::ops::Range;
use kcore::Space;
use mmu::powerpc::bits;
use pool::{Link, Pool, Ref};

/// What is to be done.
pub struct Idle {
    clear: Clear,
    locks: bool,
    /// The space whose pages are to be cleared.
    space: Link<Space>,
    /// The pages that are left to clear.
    left: Range<UserAddr>,
    /// How many of its pages were cleared.
    done: u32,
    /// How many pages of all spaces were cleared since boot.
    cleared: u32,
}

impl Idle {
    /// No space has asked for any.
    pub const fn new(options: &Options) -> Self {
        let left = UserAddr(0)..UserAddr(0);
        Self {
            clear: options.clear,
            locks: options.locks,
            space: Link::NULL,
            left,
            done: 0,
            cleared: 0,
        }
    }

    /// Takes a space's range of pages to be cleared, in place of the previous range of any space.
    /// Returns how many pages of the space's own previous range were cleared.
    pub fn want(&mut self, space: Ref<Space>, pages: Range<UserAddr>) -> Result<u32, Error> {
        if self.clear == Clear::Off {
            return Err(Error::Unsupported);
        }
        let is_last = self.space.is(space);
        let done = if is_last && self.clear != Clear::Unused { self.done } else { 0 };
        if is_last || !pages.is_empty() {
            (self.space, self.left, self.done) = (space.link(), pages, 0);
        }
        Ok(done)
    }

    /// A space ends.
    pub fn dropped(&mut self, space: Ref<Space>) {
        if self.space.is(space) {
            self.space = Link::NULL;
        }
    }

    /// How many pages were cleared, since boot.
    pub const fn cleared(&self) -> u32 {
        self.cleared
    }

    /// Clears a page. Returns whether there was one to clear.
    fn clear(&mut self, pool: &Pool) -> bool {
        let Some(space) = self.space.get().filter(|_| self.left.start < self.left.end) else {
            return false;
        };
        // One that went, or may not be written, ends it: those before it are counted.
        let Some(page) = space::page(pool, space, self.left.start).and_then(cached_ram) else {
            self.left.end = self.left.start;
            return false;
        };
        match self.clear {
            Clear::Off => return false,
            // SAFETY: RAM that is mapped one to one, and that the space may write itself.
            Clear::Cached if !self.locks => unsafe {
                core::ptr::write_bytes(page as *mut u8, 0, PAGE_SIZE as usize)
            },
            // A line cannot be made in a locked cache (`dcbz`).
            // SAFETY: as above.
            Clear::Cached => unsafe { clear_words(page) },
            Clear::Uncached | Clear::Unused => {
                on_lines(page, PAGE_SIZE, Lines::Drop);
                // SAFETY: the same RAM, of which the cache has nothing, past the cache; boot has
                // shown it there.
                unsafe { clear_words(UNCACHED + page) }
            }
        }
        self.left.start += PAGE_SIZE;
        self.done += 1;
        self.cleared = self.cleared.wrapping_add(1);
        true
    }
}

/// Clears a page word by word.
///
/// # Safety
/// As for a write to each word.
unsafe fn clear_words(page: u32) {
    for word in (page..page + PAGE_SIZE).step_by(4) {
        // SAFETY: the caller's.
        unsafe { (word as *mut u32).write_volatile(0) };
    }
}

/// The physical address of a page that may be written, if it is cached RAM that the kernel can
/// access.
fn cached_ram(page: u32) -> Option<u32> {
    let is_cached =
        page & (bits::UNCACHED | bits::GUARDED) == 0 && page & bits::READ_ONLY == bits::READ_WRITE;
    Some(page & bits::ADDRESS).filter(|address| is_cached && *address < REACHED)
}

/// Does one step of work, or waits if there is none.
pub fn step(idle: &mut Idle, spaces: &mut Spaces, pool: &Pool) {
    if idle.locks {
        regs::lock_caches(true);
    }
    if !spaces.sweep() && !idle.clear(pool) {
        spaces.show_counts(idle.cleared());
        regs::wait();
    }
    if idle.locks {
        regs::lock_caches(false);
    }
}
