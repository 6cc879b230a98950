// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entering a space: the one place for all Rust that changes the page directory of the processor
//! for another space. `switch.S` is the same for the assembly.

use crate::{paging, regs};
use kcore::Space;
use pool::{Pool, Ref};

/// Which word of `Space::hw` is the physical address of the space's page directory.
pub const DIRECTORY: usize = 0;

/// Whether the processor uses this space's page directory.
pub fn is_entered(pool: &Pool, space: Ref<Space>) -> bool {
    regs::read_cr3() == pool[space].hw[DIRECTORY]
}

/// Makes the space the processor's, if it is not.
pub fn enter(pool: &Pool, space: Ref<Space>) {
    if !is_entered(pool, space) {
        // SAFETY: the directory has the kernel's part (`Port::space_created`).
        unsafe { regs::write_cr3(pool[space].hw[DIRECTORY]) };
    }
}

/// Leaves the space, if it is the processor's, for none: boot's directory has the kernel's part and nothing else.
pub fn leave(pool: &Pool, space: Ref<Space>) {
    if is_entered(pool, space) {
        // SAFETY: as above.
        unsafe { regs::write_cr3(paging::directory_physical()) };
    }
}
