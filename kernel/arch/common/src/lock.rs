// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's only instance. A reference to it is the lock of everything in it.

use crate::shared::Shared;
use core::mem::MaybeUninit;
use kcore::port::Port;
use kcore::{Kernel, Thread};
use pool::Ref;

/// The place of the kernel. Fast paths may read and write it while no Rust runs.
#[repr(transparent)]
pub struct Lock<P: Port>(Shared<MaybeUninit<Kernel<P>>>);

#[expect(
    clippy::mut_from_ref,
    reason = "their caller ensures that there is one reference at a time"
)]
impl<P: Port> Lock<P> {
    /// With no kernel yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Shared::new(MaybeUninit::uninit()))
    }

    /// Makes this the kernel.
    ///
    /// # Safety
    /// Once, at boot.
    pub unsafe fn set(&'static self, kernel: Kernel<P>) -> &'static mut Kernel<P> {
        // SAFETY: the caller's.
        unsafe { (*self.0.get()).write(kernel) }
    }

    /// The kernel: this is the lock.
    ///
    /// # Safety
    /// After [`Self::set`], and only while there is no other reference to it: once in each entry,
    /// with interrupts disabled.
    pub unsafe fn take(&'static self) -> &'static mut Kernel<P> {
        // SAFETY: the caller's.
        unsafe { (*self.0.get()).assume_init_mut() }
    }

    /// The kernel, and the thread that entered it.
    ///
    /// # Safety
    /// As for [`Self::take`].
    pub unsafe fn enter(&'static self) -> (&'static mut Kernel<P>, Ref<Thread>) {
        // SAFETY: the caller's.
        let kernel = unsafe { self.take() };
        let Some(current) = kernel.current() else {
            panic!("entry from user mode without a thread")
        };
        (kernel, current)
    }
}

impl<P: Port> Default for Lock<P> {
    fn default() -> Self {
        Self::new()
    }
}
