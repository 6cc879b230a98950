// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for pools. Tests boot thousands of kernels one after the other: new memory for each would
//! take the host longer than all that the kernels do.

use abi::PAGE_SIZE;
use std::alloc::{Layout, alloc};
use std::cell::RefCell;

thread_local! {
    /// Memory that no pool uses any more.
    static FREE: RefCell<Vec<Part>> = const { RefCell::new(Vec::new()) };
}

/// The start of a part of the memory, and its number of bytes.
type Part = (*mut u8, u32);

/// The memory of a pool. When it is dropped, a later pool of the same thread gets it.
pub struct Memory(Part);

impl Memory {
    /// This many bytes, a multiple of a page, and not 0. Their contents are arbitrary.
    ///
    /// # Panics
    /// If the host has no memory.
    pub fn of(bytes: u32) -> Self {
        let take = |free: &RefCell<Vec<Part>>| {
            let mut free = free.borrow_mut();
            let fits = free.iter().position(|(_, other)| *other == bytes)?;
            Some(free.swap_remove(fits))
        };
        Self(FREE.with(take).unwrap_or_else(|| new(bytes)))
    }

    /// Where it starts, at a page.
    pub const fn start(&self) -> *mut u8 {
        self.0.0
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A thread that ends needs none.
        _ = FREE.try_with(|free| free.borrow_mut().push(self.0));
    }
}

/// Memory that no pool has used yet.
fn new(bytes: u32) -> Part {
    let layout =
        Layout::from_size_align(bytes as usize, PAGE_SIZE as usize).expect("a layout of pages");
    assert!(layout.size() > 0, "a pool without memory");
    // SAFETY: the layout is not empty.
    let start = unsafe { alloc(layout) };
    assert!(!start.is_null(), "the host has no memory");
    (start, bytes)
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn only_memory_that_nobody_has_is_given_again() {
        let [first, second] = [Memory::of(4096), Memory::of(4096)];
        assert_ne!(first.start(), second.start());
        let start = first.start();
        drop(first);
        assert_ne!(Memory::of(8192).start(), start);
        assert_eq!(Memory::of(4096).start(), start);
    }
}
