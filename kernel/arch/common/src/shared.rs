// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statics that are written. There is one processor, and the kernel runs with interrupts disabled;
//! each use says which code has the only reference.

use core::cell::UnsafeCell;

/// A static that is written.
#[repr(transparent)]
pub struct Shared<T>(UnsafeCell<T>);
// SAFETY: one processor; see each use.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// A static with this initial value.
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

/// The upper half of each of the kernel's addresses: with 64 bits the kernel is in the last 4 GiB
/// (`pool`). A test on the host gives whole addresses.
const ONES: usize = if cfg!(target_os = "none") { !(u32::MAX as usize) } else { 0 };

/// What is at an address of the kernel's.
pub const fn at<T>(address: u32) -> *mut T {
    core::ptr::with_exposed_provenance_mut(ONES | address as usize)
}

/// Whole pages.
#[repr(C, align(4096))]
pub struct Page<T>(pub T);

/// Whole cache lines, of the largest there are.
#[repr(C, align(64))]
pub struct Lines<T>(pub T);
