// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the port keeps of a space, and whose tables are the processor's.

use crate::{paging, regs};
use abi::UserAddr;
use arch_common::place;
use core::ops::Range;
use kcore::Space;
use pool::{Link, Pool, Ref};
use x86_64_context::hw::TABLE;

/// Whose tables the processor has.
pub struct Spaces {
    /// Null: boot's.
    entered: Link<Space>,
}

impl Spaces {
    /// Boot's tables are the processor's.
    pub const fn new() -> Self {
        Self { entered: Link::NULL }
    }

    /// A space was made, whose highest table is at this address of the pool.
    pub fn created(pool: &mut Pool, space: Ref<Space>, top: u32) {
        pool[space].hw[TABLE] = place::physical(top);
    }

    /// Makes the tables of a space the processor's, if they are not.
    pub fn enter(&mut self, pool: &Pool, space: Ref<Space>) {
        if !self.entered.is(space) {
            self.entered = space.link();
            // SAFETY: the table has the kernel's part (`Translation::space_created`).
            unsafe { regs::write_cr3(pool[space].hw[TABLE].into()) };
        }
    }

    /// A space ends: its tables are not the processor's any more.
    pub fn dropped(&mut self, space: Ref<Space>) {
        if self.entered.is(space) {
            self.entered = Link::NULL;
            // SAFETY: boot's table is the kernel's part, and stays.
            unsafe { regs::write_cr3(paging::top_physical().into()) };
        }
    }

    /// The processor uses no older translations of a range of a space. It has none of a space whose
    /// tables are not loaded.
    pub fn invalidate(&self, space: Ref<Space>, range: &Range<UserAddr>) {
        if self.entered.is(space) {
            paging::flush(range.start.0..range.end.0);
        }
    }
}
