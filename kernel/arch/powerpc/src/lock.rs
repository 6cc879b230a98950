// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's only instance. A reference to it is the lock of everything in it.

use crate::contract::PowerPc;
use arch_common::shared::Shared;
use core::mem::MaybeUninit;
use kcore::Kernel;

static KERNEL: Shared<MaybeUninit<Kernel<PowerPc>>> = Shared::new(MaybeUninit::uninit());

/// The kernel: this is the lock.
///
/// # Safety
/// After [`set`], and only while no other reference to it is alive: once an entry, with
/// interrupts off.
pub unsafe fn kernel() -> &'static mut Kernel<PowerPc> {
    // SAFETY: the caller's.
    unsafe { (*KERNEL.get()).assume_init_mut() }
}

/// Makes the kernel what [`kernel`] gives.
///
/// # Safety
/// Once, at boot.
pub unsafe fn set(kernel: Kernel<PowerPc>) -> &'static mut Kernel<PowerPc> {
    // SAFETY: the caller's.
    unsafe { (*KERNEL.get()).write(kernel) }
}
