// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page-resident part of a thread: message words beyond the registers,
//! capabilities in transit, notification mirror.
//!
//! The area from [`AREA_START`] to [`AREA_END`] of a native space belongs to the kernel's
//! layout: the kernel information page is at [`KIP_ADDRESS`], pages of slots
//! are from [`FIRST_SLOT`] on ([`slot_offset`]). Nothing else is mapped there. A native thread has
//! a slot in its own space, an alien in its handler's.

pub use crate::arch::current::layout::{
    AREA_END, AREA_START, AREAS, FIRST_SLOT, FPU_OFFSET, FPU_SIZE, KIP_ADDRESS, SLOT_SIZE,
    SLOT_START,
};
use crate::{PAGE_SIZE, UserAddr, Word};
use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

/// Bytes of that area: what a native space maps begins so far after its start, wherever that is.
pub const AREA_BYTES: Word = AREA_END - AREA_START;

/// Bytes of a slot that are used.
pub const SLOT_USED: u32 = FPU_OFFSET + FPU_SIZE;

/// Slots in a page. None reaches into the next page.
pub const SLOTS_A_PAGE: u32 = slots_a_page(SLOT_START, SLOT_SIZE, SLOT_USED);

/// Slots in a page, of which the first one begins at `start`, each `distance` after the last, and
/// so many bytes of each are used.
#[must_use]
pub const fn slots_a_page(start: u32, distance: u32, bytes: u32) -> u32 {
    (PAGE_SIZE as u32 - start - bytes) / distance + 1
}

/// Slots of a native space.
pub const SLOTS: u32 = (AREA_END - FIRST_SLOT) as u32 / PAGE_SIZE as u32 * SLOTS_A_PAGE;

/// Where a slot is after the first page of slots, in bytes.
#[must_use]
#[allow(clippy::modulo_one, reason = "a slot may be as large as a page")]
pub const fn slot_offset(index: u32) -> Word {
    (index / SLOTS_A_PAGE) as Word * PAGE_SIZE
        + (SLOT_START + index % SLOTS_A_PAGE * SLOT_SIZE) as Word
}

/// How many threads a native space is charged as, of a kernel that can hold `max_threads`
/// ([`Kip::max_threads`](crate::kip::Kip)).
///
/// Where there can be only so many native spaces ([`AREAS`]), they are divided among Quotas with
/// the threads: all threads pay for all of them. Elsewhere it is none.
#[must_use]
pub const fn threads_a_space(max_threads: u32) -> u32 {
    if AREAS == 0 { 0 } else { max_threads.div_ceil(AREAS) }
}

/// 32-bit words between the last field that is used and the FPU state.
const RESERVED: usize =
    (FPU_OFFSET as usize - 64 * size_of::<Word>() - 6 * 4 - size_of::<UserAddr>() - 4) / 4;
const _: () = assert!(size_of::<Utcb>() == FPU_OFFSET as usize);

/// The slot of a native thread. The first half; the second holds FPU state.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Utcb {
    /// Message words. The first [`REGISTER_WORDS`](crate::tag::REGISTER_WORDS)
    /// travel in registers and are not looked at here.
    pub words: [Word; 64],
    /// Notification bits that a receive of this thread accepts.
    pub accept: u32,
    /// Mirror of the bits that arrived and were not taken: to look at without a
    /// system call. The kernel writes it and never reads it.
    pub pending: u32,
    /// Where received capabilities go: this slot and the following.
    pub receive_slot: u32,
    /// Capabilities to send: [`CapItem`] each.
    pub send_caps: [u32; 3],
    /// This slot's address, written at creation.
    pub address: UserAddr,
    /// Where the FPU's registers are: one of [`fpu`]. An alien's slot has this word, too. The
    /// kernel writes it and never reads it.
    pub fpu: u32,
    /// Reserved, zero.
    pub reserved: [u32; RESERVED],
}

/// Where a slot has its fields `accept`, `pending` and `fpu`, in bytes, on a processor whose words
/// have `word` bytes: for a contract of another processor than the one that this crate is compiled
/// for.
#[must_use]
pub const fn fields(word: usize) -> [usize; 3] {
    let accept = crate::tag::MAX_WORDS as usize * word;
    // Before the last one lie six fields of 32 bits, and an address.
    [accept, accept + 4, accept + 6 * 4 + word]
}
// Each processor's compiler compares them.
const _: () = {
    let [accept, pending, fpu] = fields(size_of::<Word>());
    assert!(accept == offset_of!(Utcb, accept), "`accept` is elsewhere");
    assert!(pending == offset_of!(Utcb, pending), "`pending` is elsewhere");
    assert!(fpu == offset_of!(Utcb, fpu), "`fpu` is elsewhere");
};

/// Values of [`Utcb::fpu`].
pub mod fpu {
    /// In the slot's area, as of the thread's beginning: it has used none.
    pub const INITIAL: u32 = 0;
    /// In the processor: the area has older ones until `fpu_sync`.
    pub const LOADED: u32 = 1;
    /// In the slot's area. What is written there counts when the thread uses the FPU next.
    pub const SAVED: u32 = 2;
}

/// A capability to send, or to copy: selector and the rights and badge that
/// the copy gets.
///
/// ```text
///  31      16 15     6 5      0
/// |  selector |    0   | rights |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapItem(pub u32);

impl CapItem {
    /// Send a copy of `selector` with at most these rights. One that does not fit 16 bits names no
    /// slot: it becomes 0, which the kernel refuses.
    #[must_use]
    pub const fn new(selector: Word, rights: crate::Rights) -> Self {
        Self(crate::map_record::fit(selector) << 16 | rights.0)
    }
    /// The selector.
    #[must_use]
    pub const fn selector(self) -> crate::Selector {
        crate::Selector((self.0 >> 16) as Word)
    }
    /// The rights mask.
    #[must_use]
    pub const fn rights(self) -> crate::Rights {
        crate::Rights(self.0 & 63)
    }
}
