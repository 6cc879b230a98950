// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the kernel of an IA-32 or x86-64 processor is entered and left, by what is executed.
//!
//! QEMU reports no event for a kernel entry: it shows as kernel code where user code was due. That
//! nearly means that the code before was user code. But the kernel may also return to user mode and
//! be entered again before a user instruction begins: by a pending interrupt, or because that
//! instruction cannot be fetched. So the instructions that leave the kernel are watched, too.

use crate::Privilege;
use crate::counter::Entry;

/// What is known of it.
pub struct Crossing {
    /// Privilege of the code that is executed.
    pub privilege: Privilege,
    /// Privilege of the instruction that is due if nothing intervenes. After a far return ring 1 is
    /// [`Privilege::User`], too.
    due: Privilege,
    /// How user mode is about to enter the kernel.
    gate: Option<Entry>,
    /// Words popped by the far return in progress, if there is one.
    popped: Option<u32>,
    /// Where in the chunk the last special instruction is: it may read the processor's own tables,
    /// which user mode has no right to read.
    pub implicit: Option<u16>,
}

impl Crossing {
    /// The state before anything is executed: user mode runs.
    pub const fn new() -> Self {
        Self {
            privilege: Privilege::User,
            due: Privilege::User,
            gate: None,
            popped: None,
            implicit: None,
        }
    }

    /// A chunk of this privilege begins. Returns how the kernel was entered, if it was.
    pub fn begins(&mut self, privilege: Privilege) -> Option<Entry> {
        let enters = privilege == Privilege::Kernel && self.due != Privilege::Kernel;
        let entry = enters.then_some(self.gate.unwrap_or(Entry::Fault));
        *self = Self { privilege, due: privilege, ..Self::new() };
        entry
    }

    /// An instruction that asks for the kernel is about to be executed.
    pub const fn asks(&mut self, entry: Entry) {
        self.gate = Some(entry);
    }

    /// User mode is about to run.
    pub const fn leaves(&mut self) {
        self.due = Privilege::User;
    }

    /// A far return is about to be executed.
    pub const fn far_return(&mut self) {
        self.popped = Some(0);
    }

    /// Whether a far return is in progress.
    pub const fn is_returning(&self) -> bool {
        self.popped.is_some()
    }

    /// Something was read or written. A far return reads the instruction pointer first and CS
    /// second: only the second `value` is needed.
    pub fn access(&mut self, value: impl FnOnce() -> u64) {
        let Some(popped) = &mut self.popped else { return };
        *popped += 1;
        if *popped == 2 && value() & 3 != 0 {
            self.leaves();
        }
    }

    /// Whether an access of the instruction `offset` bytes from the chunk's start is with the
    /// rights of users.
    pub fn is_users(&self, offset: u16) -> bool {
        self.privilege == Privilege::User && self.implicit != Some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_entered_where_users_were_due() {
        let mut way = Crossing::new();
        assert_eq!(way.begins(Privilege::User), None);
        way.asks(Entry::Sysenter);
        assert_eq!(way.begins(Privilege::Kernel), Some(Entry::Sysenter));
        assert_eq!(way.begins(Privilege::Kernel), None, "it was there");
        way.leaves();
        assert_eq!(
            way.begins(Privilege::Kernel),
            Some(Entry::Fault),
            "no user's instruction began"
        );
    }

    #[test]
    fn a_far_return_leaves_by_the_code_segment_that_it_reads() {
        for (selector, leaves) in [(0x1b, true), (0x08, false)] {
            let mut way = Crossing::new();
            way.begins(Privilege::Kernel);
            way.access(|| unreachable!("no far return yet"));
            way.far_return();
            way.access(|| unreachable!("the instruction pointer"));
            way.access(|| selector);
            assert_eq!(way.begins(Privilege::Kernel).is_some(), leaves);
        }
    }
}
