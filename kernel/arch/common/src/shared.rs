// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statics that are written. There is one processor, and the kernel runs with interrupts off: who
//! has the only reference is said at each use.

use core::cell::UnsafeCell;

/// A static that somebody writes.
#[repr(transparent)]
pub struct Shared<T>(UnsafeCell<T>);
// SAFETY: one processor; see each use.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// With this value at first.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Where it is.
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }

    /// Its linear address.
    pub fn address(&self) -> u32 {
        self.get() as u32
    }
}

/// Whole pages.
#[repr(C, align(4096))]
pub struct Page<T>(pub T);

/// Whole cache lines, of the largest there are.
#[repr(C, align(64))]
pub struct Lines<T>(pub T);
