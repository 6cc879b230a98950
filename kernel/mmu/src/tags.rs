// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tags: the numbers by which an MMU or a cache tells address spaces apart, of which there are few.
//!
//! | processor | tags | who has them | what flushes them all |
//! |---|---|---|---|
//! | MIPS | ASIDs | Spaces | the TLB's flush |
//! | ARMv5 | domains, except those of the kernel ([`crate::fass`]) | Spaces, Segments | the TLB's flush |
//! | x86-64 | PCIDs ([`crate::pcid`]) | Spaces | nothing: a space that gets one flushes what the TLB has of it |
//!
//! PowerPC has a million contexts of 16 VSIDs, so no space loses one to another: [`crate::vsid`]
//! has them.
//!
//! Tags are revoked lazily. A tag that was given back may still be in the TLB, so it is *returned*,
//! not *clean*. Clean tags are given out first. When a group has no clean tag left, one flush makes
//! the returned tags of all groups clean. If there are no returned tags either, an owner that has
//! not used its tag recently loses it. But if more owners take turns than there are tags, the owner
//! that has waited longest is the next to run. So if an owner lost its tag recently, and needs one
//! again, it gets the tag that was given out last: then most owners keep theirs (adaptive
//! insertion, Qureshi et al., ISCA 2007).
//!
//! A caller does four things:
//!
//! 1. Before the first use of a tag that [`Tags::take`] granted it does what [`Grant::first`] says.
//! 2. It says [`Tags::used`] when it makes a tag current. It need not do so each time.
//! 3. Before it makes an owner current, it asks whether the owner still has its tag
//!    ([`Tags::has`]); or it records which owners lost theirs ([`First::Evict`]).
//! 4. It says [`Tags::flushed`] when it flushed everything for a reason of its own.
//!
//! Each function takes a bounded time, whatever the number of tags: [`Tags::take`] looks at
//! [`LOOKS`] of them at most.

/// How many owners are examined at most to find one that loses its tag.
pub const LOOKS: u16 = 64;

/// How many owners of each group that lost their tags last are remembered.
const LOSERS: usize = 16;

/// After this many of them have come back, the hand moves, to find owners that do not run any more.
const PATIENCE: u16 = 64;

/// No tag.
const NONE: u16 = u16::MAX;

/// What has to be done before a tag is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First<O> {
    /// Nothing: no TLB has anything of this tag.
    Nothing,
    /// Flush everything that has a tag. All returned tags count as clean already.
    FlushAll,
    /// This owner has lost the tag. Flush what has the tag, or everything, and then say so
    /// ([`Tags::flushed`]).
    Evict(O),
}

/// A tag that was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant<O> {
    /// The tag.
    pub tag: u16,
    /// What has to be done before it is used.
    pub first: First<O>,
}

#[derive(Clone, Copy)]
enum Entry<O> {
    /// In no group: never given out.
    Reserved,
    /// In a queue of its group, before this one.
    Free(u16),
    Taken {
        owner: O,
        used: bool,
    },
}

/// Free tags, linked by their entries. The first is [`NONE`] if there are none.
#[derive(Clone, Copy)]
struct Queue {
    first: u16,
    last: u16,
}

const EMPTY: Queue = Queue { first: NONE, last: NONE };

#[derive(Clone, Copy)]
struct Group<O> {
    start: u16,
    end: u16,
    /// The tag that is examined next when an owner has to lose its tag.
    hand: u16,
    /// The tag that was given last.
    last: u16,
    /// The owners that lost a tag of the group last, and where the next one is noted.
    losers: [Option<O>; LOSERS],
    next_loser: usize,
    /// How often one of these owners has come back.
    returns: u16,
    clean: Queue,
    returned: Queue,
}

/// `N` tags, of which some are in `G` groups, and the owner of each: an `O`.
pub struct Tags<O, const N: usize, const G: usize> {
    entries: [Entry<O>; N],
    groups: [Group<O>; G],
}

impl<O: Copy + PartialEq, const N: usize, const G: usize> Tags<O, N, G> {
    /// All tags of these groups, clean. A group has the tags from its first number to the one
    /// before its second. Tags that are in no group are never given out.
    ///
    /// # Panics
    /// If a group has tags that do not exist, or that are also another group's.
    #[must_use]
    pub const fn new(ranges: [(u16, u16); G]) -> Self {
        assert!(N < NONE as usize, "too many tags");
        let mut entries = [Entry::Reserved; N];
        let none = Group {
            start: 0,
            end: 0,
            hand: 0,
            last: NONE,
            losers: [None; LOSERS],
            next_loser: 0,
            returns: 0,
            clean: EMPTY,
            returned: EMPTY,
        };
        let mut groups = [none; G];
        let mut i = 0;
        while i < G {
            let (start, end) = ranges[i];
            let mut tag = start;
            while tag < end {
                assert!(matches!(entries[tag as usize], Entry::Reserved), "a tag in two groups");
                entries[tag as usize] = Entry::Free(if tag + 1 < end { tag + 1 } else { NONE });
                tag += 1;
            }
            let clean = if start < end { Queue { first: start, last: end - 1 } } else { EMPTY };
            groups[i] = Group { start, end, hand: start, clean, ..none };
            i += 1;
        }
        Self { entries, groups }
    }

    /// Gives a tag of a group to an owner that has none. No owner for which `keeps` is true loses
    /// its tag: an owner that runs.
    ///
    /// `None` if all owners that were examined keep theirs. So there is always a tag if fewer
    /// owners keep theirs than the group has tags, and fewer than [`LOOKS`].
    pub fn take(&mut self, group: usize, owner: O, keeps: impl Fn(O) -> bool) -> Option<Grant<O>> {
        let (tag, first) = if let Some(tag) = self.take_clean(group) {
            (tag, First::Nothing)
        } else if self.groups.get(group)?.returned.first != NONE {
            self.flushed();
            (self.take_clean(group)?, First::FlushAll)
        } else {
            let (tag, loser) = self.victim(group, owner, keeps)?;
            (tag, First::Evict(loser))
        };
        self.groups.get_mut(group)?.last = tag;
        self.entries[usize::from(tag)] = Entry::Taken { owner, used: true };
        Some(Grant { tag, first })
    }

    /// An owner that does not run gives its tag back. If it has lost the tag before, this does
    /// nothing.
    pub fn give_back(&mut self, tag: u16, owner: O) {
        let group = self.groups.iter().position(|group| (group.start..group.end).contains(&tag));
        if let Some(group) = group.filter(|_| self.has(tag, owner)) {
            self.entries[usize::from(tag)] = Entry::Free(NONE);
            let returned = self.groups[group].returned;
            self.groups[group].returned = self.join(returned, Queue { first: tag, last: tag });
        }
    }

    /// Whether an owner has this tag.
    #[must_use]
    pub fn has(&self, tag: u16, owner: O) -> bool {
        self.owner(tag) == Some(owner)
    }

    /// Who has a tag.
    #[must_use]
    pub fn owner(&self, tag: u16) -> Option<O> {
        match self.entries.get(usize::from(tag)) {
            Some(Entry::Taken { owner, .. }) => Some(*owner),
            _ => None,
        }
    }

    /// The owner of a tag runs.
    pub fn used(&mut self, tag: u16) {
        if let Some(Entry::Taken { used, .. }) = self.entries.get_mut(usize::from(tag)) {
            *used = true;
        }
    }

    /// Everything that has a tag was flushed: returned tags become clean.
    pub fn flushed(&mut self) {
        for i in 0..G {
            let Group { clean, returned, .. } = self.groups[i];
            self.groups[i].clean = self.join(clean, returned);
            self.groups[i].returned = EMPTY;
        }
    }

    fn take_clean(&mut self, group: usize) -> Option<u16> {
        let clean = &mut self.groups.get_mut(group)?.clean;
        let tag = clean.first;
        let Entry::Free(next) = *self.entries.get(usize::from(tag))? else { return None };
        clean.first = next;
        Some(tag)
    }

    /// One queue after another.
    fn join(&mut self, front: Queue, back: Queue) -> Queue {
        if front.first == NONE || back.first == NONE {
            return if front.first == NONE { back } else { front };
        }
        self.entries[usize::from(front.last)] = Entry::Free(back.first);
        Queue { first: front.first, last: back.last }
    }

    /// The owner that loses its tag, because all tags of the group are taken.
    fn victim(&mut self, group: usize, owner: O, keeps: impl Fn(O) -> bool) -> Option<(u16, O)> {
        let index = group;
        let group = self.groups.get_mut(index)?;
        let mut found = None;
        if group.losers.contains(&Some(owner)) {
            group.returns = (group.returns + 1) % PATIENCE;
            if group.returns != 0 {
                found = self.idle_or_latest(index, &keeps);
            }
        }
        let (tag, loser) = found.or_else(|| self.unused(index, keeps))?;
        let group = self.groups.get_mut(index)?;
        group.losers[group.next_loser] = Some(loser);
        group.next_loser = (group.next_loser + 1) % LOSERS;
        Some((tag, loser))
    }

    /// An owner that has not used its tag since the hand passed it; if there is none, the one that
    /// got a tag last. The hand does not move.
    fn idle_or_latest(&self, group: usize, keeps: impl Fn(O) -> bool) -> Option<(u16, O)> {
        let Group { start, end, hand, last, .. } = *self.groups.get(group)?;
        let idle = |tag: u16| match self.entries.get(usize::from(tag)) {
            Some(Entry::Taken { owner, used: false }) if !keeps(*owner) => Some((tag, *owner)),
            _ => None,
        };
        let latest =
            || self.owner(last).filter(|latest| !keeps(*latest)).map(|latest| (last, latest));
        (hand..end).chain(start..hand).take(usize::from(LOOKS)).find_map(idle).or_else(latest)
    }

    /// The first owner that has not used its tag since the hand passed it; if there is none, the
    /// first that the hand comes to. The hand moves.
    fn unused(&mut self, group: usize, keeps: impl Fn(O) -> bool) -> Option<(u16, O)> {
        let Group { start, end, hand, .. } = self.groups.get_mut(group)?;
        let mut passed = None;
        // Twice around, as the first time may only find out that all were used.
        for _ in 0..LOOKS.min((*end - *start).saturating_mul(2)) {
            let tag = *hand;
            *hand = if tag + 1 == *end { *start } else { tag + 1 };
            let Some(Entry::Taken { owner, used }) = self.entries.get_mut(usize::from(tag)) else {
                continue;
            };
            if keeps(*owner) {
                continue;
            }
            if !core::mem::take(used) {
                return Some((tag, *owner));
            }
            passed = passed.or(Some((tag, *owner)));
        }
        passed
    }
}
