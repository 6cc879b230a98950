// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the port keeps of a space, and whose tables are the processor's.

use crate::{paging, regs};
use abi::UserAddr;
use arch_common::place;
use core::ops::Range;
use kcore::Space;
use pool::{Pool, Ref};
use x86_64_context::hw::{HIGH, TABLE};

/// A space was made, whose highest table is at this address of the pool.
pub fn created(pool: &mut Pool, space: Ref<Space>, top: u32) {
    let hw = &mut pool[space].hw;
    (hw[TABLE], hw[HIGH]) = (place::physical(top), 0);
}

/// What CR3 is while the processor has the tables of a space.
fn tables(pool: &Pool, space: Ref<Space>) -> u64 {
    let hw = &pool[space].hw;
    u64::from(hw[HIGH]) << 32 | u64::from(hw[TABLE])
}

/// Whether the processor has the tables of a space. It is asked itself, as fast paths load them,
/// too.
fn is_entered(pool: &Pool, space: Ref<Space>) -> bool {
    regs::read_cr3() == tables(pool, space)
}

/// Makes the tables of a space the processor's, if they are not.
pub fn enter(pool: &Pool, space: Ref<Space>) {
    if !is_entered(pool, space) {
        // SAFETY: the table has the kernel's part (`Translation::space_created`).
        unsafe { regs::write_cr3(tables(pool, space)) };
    }
}

/// A space ends: its tables are not the processor's any more.
pub fn dropped(pool: &Pool, space: Ref<Space>) {
    if is_entered(pool, space) {
        // SAFETY: boot's table is the kernel's part, and stays.
        unsafe { regs::write_cr3(paging::top_physical().into()) };
    }
}

/// The processor uses no older translations of a range of a space. It has none of a space whose
/// tables are not loaded.
pub fn invalidate(pool: &Pool, space: Ref<Space>, range: &Range<UserAddr>) {
    if is_entered(pool, space) {
        paging::flush(range.start.0..range.end.0);
    }
}
