// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that have to be ended, and lists of them. `reap.rs` processes the lists.

use crate::{Space, Thread};
use bytemuck::{Pod, Zeroable};
use pool::Ref;

/// A Thread or a Space that is to be ended, or neither: its address, plus 1 for a Space.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Pod, Zeroable, Default, Debug)]
pub struct Work(u32);

/// What a [`Work`] names.
pub(crate) enum Ends {
    Thread(Ref<Thread>),
    Space(Ref<Space>),
}

impl Work {
    const SPACE: u32 = 1;

    pub(crate) const fn thread(thread: Ref<Thread>) -> Self {
        Self(thread.address())
    }
    pub(crate) const fn space(space: Ref<Space>) -> Self {
        Self(space.address() | Self::SPACE)
    }
    pub(crate) const fn get(self) -> Option<Ends> {
        match self.0 {
            0 => None,
            value if value & Self::SPACE != 0 => Some(Ends::Space(Ref::new(value & !Self::SPACE))),
            value => Some(Ends::Thread(Ref::new(value))),
        }
    }
}

/// What a thread has to end, what it found last first.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Default, Debug)]
pub struct List {
    pub(crate) first: Work,
    pub(crate) last: Work,
}

impl List {
    pub(crate) const fn of(work: Work) -> Self {
        Self { first: work, last: work }
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.first == Work::default()
    }
    /// Whether this comes next.
    pub(crate) fn is_first(&self, work: Work) -> bool {
        self.first == work
    }
}
