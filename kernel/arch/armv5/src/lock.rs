// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's only instance. A reference to it is the lock of everything in it.

use crate::contract::Armv5;
use arch_common::shared::Shared;
use core::mem::MaybeUninit;
use kcore::Kernel;

static KERNEL: Shared<MaybeUninit<Kernel<Armv5>>> = Shared::new(MaybeUninit::uninit());

/// The kernel: this is the lock.
///
/// # Safety
/// After [`set`], and only while no other reference to it is alive: once an entry, with
/// interrupts off.
pub unsafe fn kernel() -> &'static mut Kernel<Armv5> {
    // SAFETY: the caller's.
    unsafe { (*KERNEL.get()).assume_init_mut() }
}

/// Makes the kernel what is behind [`kernel`].
///
/// # Safety
/// Once, at boot.
pub unsafe fn set(kernel: Kernel<Armv5>) -> &'static mut Kernel<Armv5> {
    // SAFETY: the caller's.
    unsafe { (*KERNEL.get()).write(kernel) }
}
