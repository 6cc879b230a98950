// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots: ranges of addresses to which a processor relocates spaces, so that no two spaces have an
//! address in common (fass-wombat-arm-2007, section 3.2). A slot belongs to the Quota that pays for
//! it, and only spaces of that Quota share it.

/// `N` slots, and which holder, an `H`, has each.
pub struct Slots<H, const N: usize> {
    slots: [Option<Held<H>>; N],
    /// The slot whose turn it is.
    next: usize,
}

#[derive(Clone, Copy)]
struct Held<H> {
    holder: H,
    /// How many spaces are there.
    users: u16,
}

impl<H: Copy + PartialEq, const N: usize> Slots<H, N> {
    /// Slots that nobody has.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: [None; N], next: 0 }
    }

    /// Takes a slot for a space of this holder: the next free one if `is_own`, otherwise the one
    /// with the fewest spaces among those that the holder has. None if there is no such slot.
    pub fn take(&mut self, holder: H, is_own: bool) -> Option<usize> {
        let users = |slot: &usize| match &self.slots[*slot] {
            None => is_own.then_some(0),
            Some(held) => (!is_own && held.holder == holder).then_some(held.users),
        };
        let turns = (self.next..N).chain(0..self.next);
        let slot =
            turns.filter_map(|slot| Some((users(&slot)?, slot))).min_by_key(|(users, _)| *users)?.1;
        self.next = (slot + 1) % N;
        self.slots[slot].get_or_insert(Held { holder, users: 0 }).users += 1;
        Some(slot)
    }

    /// A space leaves its slot. Returns whether the slot is free now.
    ///
    /// # Panics
    /// If the slot is free, which is a mistake of the caller.
    #[expect(clippy::expect_used, reason = "a mistake of the caller")]
    pub fn leave(&mut self, slot: usize) -> bool {
        let held = self.slots[slot].as_mut().expect("a space is in its slot");
        held.users -= 1;
        let is_last = held.users == 0;
        if is_last {
            self.slots[slot] = None;
        }
        is_last
    }
}

impl<H: Copy + PartialEq, const N: usize> Default for Slots<H, N> {
    fn default() -> Self {
        Self::new()
    }
}
