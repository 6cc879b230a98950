// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of the data cache that stay there, because an XScale core locks them (Intel XScale Core
//! Developer's Manual, section 6.4).
//!
//! The core can only unlock all lines at once, and while some are locked, its whole cache can be
//! neither cleaned nor dropped. So this module records which ranges are locked. Before the whole
//! cache is cleaned, it unlocks all lines and removes their sections from the directory. The fault
//! that installs such a section again locks its space's lines again.

use crate::layout::section;
use crate::{cache, paging, regs};
use abi::arch::armv5::layout::LOCKED_RANGES;
use abi::{Error, PAGE_SIZE, UserAddr};
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use kcore::{Charge, Space};
use pool::Ref;

/// How many ranges there can be, of a page each.
const LOCKS: usize = LOCKED_RANGES as usize;

/// The sections of lines that are locked, + 1, by the number of the range; 0: none are.
static SECTIONS: [AtomicU32; LOCKS] = [const { AtomicU32::new(0) }; LOCKS];

/// A part of a page of a space. Its Quota is charged for it.
#[derive(Clone, PartialEq)]
pub struct Lock {
    /// Whose.
    pub space: Ref<Space>,
    range: Range<UserAddr>,
}

impl Lock {
    /// Whether it has some of these addresses of this space.
    pub fn has_of(&self, space: Ref<Space>, range: &Range<UserAddr>) -> bool {
        self.space == space && self.range.start < range.end && range.start < self.range.end
    }
}

/// The ranges whose lines are to stay.
pub struct Locks([Option<Lock>; LOCKS]);

impl Locks {
    /// None.
    pub const fn new() -> Self {
        Self([const { None }; LOCKS])
    }

    /// Records a range of a space. Its lines are locked at the space's next fault there. Returns
    /// false if the range was recorded before, and is paid for.
    ///
    /// # Errors
    /// `BadArgument`: it is not in one page, or a part of it is in another range. `QuotaExceeded`:
    /// it is not paid for. `PoolExhausted`: there are too many ranges.
    pub fn add(
        &mut self,
        space: Ref<Space>,
        range: Range<UserAddr>,
        is_paid: bool,
    ) -> Result<bool, Error> {
        if range.is_empty() || range.start.0 / PAGE_SIZE != (range.end.0 - 1) / PAGE_SIZE {
            return Err(Error::BadArgument);
        }
        let lock = Lock { space, range };
        if let Some(known) = self.0.iter().flatten().find(|known| known.has_of(space, &lock.range))
        {
            return if *known == lock { Ok(false) } else { Err(Error::BadArgument) };
        }
        if !is_paid {
            return Err(Error::QuotaExceeded);
        }
        *self.0.iter_mut().find(|place| place.is_none()).ok_or(Error::PoolExhausted)? = Some(lock);
        Ok(true)
    }

    /// Forgets ranges, and unlocks their lines. Returns what was charged for them.
    pub fn remove(&mut self, is_it: impl Fn(&Lock) -> bool) -> Charge {
        let gone = self.0.iter_mut().filter_map(|place| place.take_if(|lock| is_it(lock))).count();
        if gone != 0 {
            unlock();
        }
        Charge { locks: gone as u16, ..Charge::NONE }
    }

    /// The ranges of a space whose lines should be locked and are not, with their numbers.
    pub fn unlocked(&self, space: Ref<Space>) -> impl Iterator<Item = (usize, Range<UserAddr>)> {
        let of_space = move |(number, lock): (usize, &Option<Lock>)| {
            lock.as_ref()
                .filter(|lock| lock.space == space)
                .map(|lock| (number, lock.range.clone()))
        };
        self.0
            .iter()
            .enumerate()
            .filter_map(of_space)
            .filter(|(number, _)| SECTIONS[*number].load(Ordering::Relaxed) == 0)
    }
}

/// Locks the lines of the range with this number. `range` has the modified addresses, which have to
/// be readable.
pub fn lock(number: usize, range: Range<u32>) {
    SECTIONS[number].store(section(range.start) as u32 + 1, Ordering::Relaxed);
    // A load has low addresses relocated, and these are.
    let process = regs::process();
    regs::set_process(0);
    cache::lock(range);
    regs::set_process(process);
}

/// Unlocks all lines. If a space had locked some, they are locked again at its next fault there.
pub fn unlock() {
    let mut locked =
        SECTIONS.iter().filter(|section| section.load(Ordering::Relaxed) != 0).peekable();
    if locked.peek().is_some() {
        regs::unlock_lines(0);
        for section in locked {
            paging::set(section.load(Ordering::Relaxed) as usize - 1, 0);
            section.store(0, Ordering::Relaxed);
        }
        regs::flush_all(0);
    }
}
