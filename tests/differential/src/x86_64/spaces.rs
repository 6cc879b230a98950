// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port's data of spaces.

use super::Kernel;
use crate::processor::Found;
use fastrand::Rng;
use kcore::{Space, Thread};
use pool::Ref;
use x86_64_context::hw::{HIGH, TABLE};

/// The bit of a space's upper word that keeps translations.
const KEEP: u32 = (mmu::pcid::KEEP >> 32) as u32;

/// Gives each space its own tables.
pub fn set_up(kernel: &mut Kernel, found: &Found, rng: &mut Rng) {
    for (number, selector) in (1..).zip(found.natives.iter().chain(&found.aliens)) {
        let space: Ref<Space> = kernel.pool[Space::slot(found.root, *selector)].object();
        kernel.pool[space].hw[TABLE] = number << 12;
        kernel.pool[space].hw[HIGH] = rng.u32(..2) * KEEP;
    }
}

/// The value of CR3 for a space.
pub fn tables(kernel: &Kernel, space: Ref<Space>) -> u64 {
    let [low, high] = [TABLE, HIGH].map(|word| u64::from(kernel.pool[space].hw[word]));
    high << 32 | low
}

/// Does what the port does when translations of spaces that are not entered have to be dropped. The
/// next thread has entered its own space.
pub fn drop_translations(kernel: &mut Kernel) {
    let entered = kernel.current().map(|next| kernel.pool[next].space);
    for (space, _) in kernel.port.invalidated.clone() {
        let space = Ref::<Space>::new(space);
        if entered != Some(space.link()) {
            kernel.pool[space].hw[HIGH] &= !KEEP;
        }
    }
}

/// Makes it look as if a thread's space was entered meanwhile.
pub fn enter_one(kernel: &mut Kernel, thread: Ref<Thread>) {
    if let Some(space) = kernel.pool[thread].space.get() {
        kernel.pool[space].hw[HIGH] |= KEEP;
    }
}
