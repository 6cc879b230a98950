// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of the data cache that stay there: an XScale core locks them (Intel XScale Core Developer's Manual, section 6.4).
//!
//! The core can unlock all lines at once only, and while some are locked its whole cache can be neither cleaned nor dropped. So the
//! ranges are known here. Before the whole cache is cleaned, all lines are unlocked, and their sections leave the directory. By the
//! fault that brings its section back, a space has its lines locked again.

use crate::layout::section;
use crate::{cache, paging, regs};
use abi::{Error, PAGE_SIZE, UserAddr};
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use kcore::{Quota, Space};
use pool::{Link, Ref};

/// How many ranges there can be, of a page each: they take half of the cache at most.
const LOCKS: usize = 4;

/// The sections of lines that are locked, + 1, by the number of the range; 0: none are.
static SECTIONS: [AtomicU32; LOCKS] = [const { AtomicU32::new(0) }; LOCKS];

/// A part of a page of a space.
#[derive(Clone)]
struct Lock {
    space: Ref<Space>,
    /// Who pays for the space.
    quota: Link<Quota>,
    range: Range<UserAddr>,
}

/// The ranges whose lines are to stay.
pub struct Locks([Option<Lock>; LOCKS]);

impl Locks {
    /// None.
    pub const fn new() -> Self {
        Self([const { None }; LOCKS])
    }

    /// Notes a range of a space. Its lines are locked when the space next comes to it.
    ///
    /// # Errors
    /// `BadArgument`: it is not in one page. `QuotaExceeded`: who pays for the space has another one. `PoolExhausted`: there are
    /// too many.
    pub fn add(&mut self, space: Ref<Space>, quota: Link<Quota>, range: Range<UserAddr>) -> Result<(), Error> {
        if range.is_empty() || range.start.0 / PAGE_SIZE != (range.end.0 - 1) / PAGE_SIZE {
            return Err(Error::BadArgument);
        }
        let lock = Lock { space, quota, range };
        if let Some(known) = self.0.iter().flatten().find(|known| known.quota == quota) {
            return if known.space == space && known.range == lock.range { Ok(()) } else { Err(Error::QuotaExceeded) };
        }
        *self.0.iter_mut().find(|place| place.is_none()).ok_or(Error::PoolExhausted)? = Some(lock);
        Ok(())
    }

    /// Forgets the range of a space that these addresses are in, or have a part of, and unlocks its lines.
    ///
    /// # Errors
    /// `NotThere`: there is none.
    pub fn remove(&mut self, space: Ref<Space>, range: &Range<UserAddr>) -> Result<(), Error> {
        let is_it = |lock: &Lock| lock.space == space && lock.range.start < range.end && range.start < lock.range.end;
        let place = self.0.iter_mut().find(|place| place.as_ref().is_some_and(is_it)).ok_or(Error::NotThere)?;
        *place = None;
        unlock();
        Ok(())
    }

    /// Forgets those of a space.
    pub fn space_dropped(&mut self, space: Ref<Space>) {
        for place in &mut self.0 {
            if place.take_if(|lock| lock.space == space).is_some() {
                unlock();
            }
        }
    }

    /// The range of a space whose lines are to be locked and are not, and its number.
    pub fn unlocked(&self, space: Ref<Space>) -> Option<(usize, Range<UserAddr>)> {
        let (number, lock) =
            self.0.iter().enumerate().find_map(|(n, lock)| Some((n, lock.as_ref().filter(|lock| lock.space == space)?)))?;
        (SECTIONS[number].load(Ordering::Relaxed) == 0).then(|| (number, lock.range.clone()))
    }
}

/// Locks the lines of the range with this number, at its addresses as the caches know them. It can be read there.
pub fn lock(number: usize, range: Range<u32>) {
    SECTIONS[number].store(section(range.start) as u32 + 1, Ordering::Relaxed);
    // A load has low addresses relocated, and these are.
    let process = regs::process();
    regs::set_process(0);
    cache::lock(range);
    regs::set_process(process);
}

/// Unlocks all lines: they are as all others. Who has had them comes back by a fault.
pub fn unlock() {
    let mut locked = SECTIONS.iter().filter(|section| section.load(Ordering::Relaxed) != 0).peekable();
    if locked.peek().is_some() {
        regs::unlock_lines(0);
        for section in locked {
            paging::set(section.load(Ordering::Relaxed) as usize - 1, 0);
            section.store(0, Ordering::Relaxed);
        }
        regs::flush_all(0);
    }
}
