// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's only instance. A reference to it is the lock of everything in it.

use crate::contract::Ia32;
use arch_common::shared::Shared;
use core::mem::MaybeUninit;
use kcore::Kernel;

/// Fast paths read and write its scheduler and read its clock, while no Rust runs.
pub static KERNEL: Shared<MaybeUninit<Kernel<Ia32>>> = Shared::new(MaybeUninit::uninit());

/// The kernel: this is the lock.
///
/// # Safety
/// After [`set`], and only while no other reference to it is alive: once an entry, with
/// interrupts off.
pub unsafe fn kernel() -> &'static mut Kernel<Ia32> {
    // SAFETY: the caller's.
    unsafe { (*KERNEL.get()).assume_init_mut() }
}

/// Makes the kernel what is behind [`kernel`].
///
/// # Safety
/// Once, at boot.
pub unsafe fn set(kernel: Kernel<Ia32>) -> &'static mut Kernel<Ia32> {
    // SAFETY: the caller's.
    unsafe { (*KERNEL.get()).write(kernel) }
}
