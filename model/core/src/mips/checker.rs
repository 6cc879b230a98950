// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of TLB entries that are wrong, and of ASIDs that belong to another space.

use super::machine::{Access, Counts};
use super::spaces::Spaces;
use super::tlb::{Dropped, Key};
use super::translations::{Translations, Verdict};
use super::walk::PAGE_SHIFT;
use crate::memory::Physical;
use crate::violation::Rule;

/// The checker.
#[derive(Default)]
pub struct Checker {
    translations: Translations,
    spaces: Spaces,
}

/// A rule that was broken, and the lower half of the address, or the ASID.
pub type Finding = (Rule, u32);

impl Checker {
    /// User mode continues. Returns false if the ASID or the tables are not known.
    pub fn enter_user(&mut self, counts: Counts, mut found: impl FnMut(Finding)) -> bool {
        self.translations.enter_user();
        let Counts { asid: Some(asid), top: Some(top) } = counts else { return false };
        if self.spaces.is_others(asid, top) {
            found((Rule::EarlyTag, asid.into()));
        }
        true
    }

    /// The kernel is entered.
    pub fn leave_user(&mut self) {
        self.translations.leave_user();
    }

    /// User mode accesses bytes, which are at a physical address if that is known. Returns false if
    /// the tables cannot be read.
    pub fn access(
        &mut self,
        access: Access,
        physical: Option<u32>,
        counts: Counts,
        memory: &mut impl Physical,
        mut found: impl FnMut(Finding),
    ) -> bool {
        let Counts { asid: Some(asid), top: Some(top) } = counts else { return false };
        let mut known = true;
        // Of a page each: what begins in one ends in it or in the next.
        for (number, piece) in access.lines(PAGE_SHIFT).enumerate() {
            let place = (Key::new(asid, piece.address), piece.address);
            let physical = physical.filter(|_| number == 0);
            match self.translations.access(place, access.write, top, physical, memory) {
                Verdict::Good => {}
                Verdict::Stale => found((Rule::StaleTranslation, piece.address as u32)),
                Verdict::Unknown => known = false,
            }
        }
        known
    }

    /// The kernel fills the TLB itself, for the address that is accessed next.
    pub fn fill(&mut self) {
        self.translations.fill();
    }

    /// Something of an ASID is dropped.
    pub(super) fn drop(&mut self, dropped: Dropped) {
        self.translations.drop(dropped);
    }

    /// Everything is dropped.
    pub fn flush(&mut self) {
        self.translations.flush();
        self.spaces.flush();
    }
}
