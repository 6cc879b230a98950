// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attachments: the record that a Memory was mapped into an owner of tables, that a Segment was
//! attached to a Space, that a Space shows a server, or that a small Space is in a home.
//!
//! The records of one source form a list. Those of one owner form a digital search tree, because
//! every `map` looks one up, and others may have made thousands: a node's `bit` says whether a key
//! that is not its own is in the `lower` or the `upper` part, and each level examines the next bit.
//! So no path is longer than a key has bits, and the tree needs no balancing. The newest record is
//! the root.

use crate::port::Port;
use crate::{Kernel, Memory, Owner, Region, Result, Segment, Space};
use abi::Rights;
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Pool, Ref};

/// Values of `Attachment::kind`.
pub mod attachment {
    /// Memory mapped into a Space.
    pub const MEMORY_IN_SPACE: u32 = 0;
    /// Memory mapped into a Segment.
    pub const MEMORY_IN_SEGMENT: u32 = 1;
    /// A Segment attached to a Space.
    pub const SEGMENT_IN_SPACE: u32 = 2;
    /// A server shown in a Space.
    pub const SERVER_IN_SPACE: u32 = 3;
    /// A small Space in a home.
    pub const SMALL_IN_HOME: u32 = 4;
}

/// One (Memory, owner), (Segment, Space), (server, Space) or (small Space, home) pair: in a list of
/// its source and in a tree of its owner (`attach.rs`).
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Attachment {
    /// `attachment::*`.
    pub kind: u32,
    /// Address of the Memory, Segment, server or small Space.
    pub source: u32,
    /// Address of the Space or Segment that has it.
    pub owner: u32,
    /// Where revoke goes on; of a directory, up to which of its entries the Space has copies. (In
    /// the line of what a mapping reads.)
    pub cursor: u32,
    /// In the tree: the bit of a key that tells `lower` from `upper`.
    pub bit: u32,
    /// Records whose keys have that bit clear.
    pub lower: Link<Attachment>,
    /// Records whose keys have it set.
    pub upper: Link<Attachment>,
    /// The first copy's place in the space's directory.
    pub index: u32,
    /// Next in the source's list.
    pub source_next: Link<Attachment>,
    /// Previous in the source's list.
    pub source_prev: Link<Attachment>,
    /// Rights that the copies give.
    pub rights: u32,
    /// Leaf tables that a small Space can have when it is large again ([`Region::tables`]).
    pub large_tables: u32,
}
impl Object for Attachment {}

/// Bytes of an [`Attachment`]'s block.
pub const ATTACHMENT_BYTES: u32 = pool::MIN_BYTES;
const _: () = assert!(size_of::<Attachment>() <= ATTACHMENT_BYTES as usize);

/// The lowest bit in which two keys can differ.
const FIRST_BIT: u32 = pool::MIN_BYTES;

/// Key of the record of a Segment, a server or a small Space: by the entry of the Space's directory
/// where it begins.
pub(crate) const fn place(index: u32) -> u32 {
    index * FIRST_BIT
}

impl Attachment {
    /// Who has it.
    #[must_use]
    pub const fn owner(&self) -> Owner {
        if self.kind == attachment::MEMORY_IN_SEGMENT {
            Owner::Segment(Ref::<Segment>::new(self.owner))
        } else {
            Owner::Space(Ref::<Space>::new(self.owner))
        }
    }

    /// Whether it is of a directory, of which the Space has copies of entries.
    pub(crate) const fn is_of_directory(&self) -> bool {
        matches!(
            self.kind,
            attachment::SEGMENT_IN_SPACE | attachment::SERVER_IN_SPACE | attachment::SMALL_IN_HOME
        )
    }

    /// The directory's owner, of such a one.
    pub(crate) const fn directory(&self) -> Owner {
        if self.kind == attachment::SEGMENT_IN_SPACE {
            Owner::Segment(Ref::<Segment>::new(self.source))
        } else {
            Owner::Space(Ref::<Space>::new(self.source))
        }
    }

    /// Whether it is of this space and has this place there.
    pub(crate) fn is_at(&self, space: Ref<Space>, index: usize) -> bool {
        self.owner == space.address() && self.index as usize == index
    }

    /// Where the copy of the directory's entry 0 is, or would be: a server's lie where its own do.
    pub(crate) const fn base(&self) -> u32 {
        if self.kind == attachment::SERVER_IN_SPACE { 0 } else { self.index }
    }

    /// What its owner's tree orders it by: a Memory's address; a directory, which may be there
    /// twice, by its place.
    const fn key(&self) -> u32 {
        if self.is_of_directory() { place(self.index) } else { self.source }
    }

    const fn child(&mut self, key: u32) -> &mut Link<Self> {
        if key & self.bit == 0 { &mut self.lower } else { &mut self.upper }
    }
}

/// Calls `f` for each record of a tree.
pub fn for_each(pool: &Pool, root: Link<Attachment>, f: &mut dyn FnMut(Ref<Attachment>)) {
    if let Some(at) = root.get() {
        f(at);
        let Attachment { lower, upper, .. } = pool[at];
        for_each(pool, lower, f);
        for_each(pool, upper, f);
    }
}

fn find(pool: &Pool, root: Link<Attachment>, key: u32) -> Option<Ref<Attachment>> {
    let mut next = root;
    while let Some(at) = next.get() {
        let a = &pool[at];
        if a.key() == key {
            return Some(at);
        }
        next = if key & a.bit == 0 { a.lower } else { a.upper };
    }
    None
}

/// The record of the Segment, server or small Space that begins at this entry of a space's
/// directory.
#[must_use]
pub fn attached_at(pool: &Pool, space: Ref<Space>, index: u32) -> Option<Ref<Attachment>> {
    find(pool, pool[space].segments, place(index))
}

/// Spaces with a Segment for which a port's seam is called one by one, from the first of its uses
/// on.
pub(crate) const SPACES: usize = 8;

/// The first of a Segment's uses by whose space's tables all of its entries before `end` can be
/// told: a port that does for one space what is due for several may do it there. One that is being
/// attached has only some of them. None: those that are asked one by one have less.
#[must_use]
pub fn first_with(pool: &Pool, segment: Ref<Segment>, end: u32) -> Option<Ref<Attachment>> {
    let uses =
        core::iter::successors(pool[segment].region.uses.get(), |at| pool[*at].source_next.get());
    uses.take(SPACES).find(|at| pool[*at].cursor >= end)
}

impl<P: Port> Kernel<P> {
    /// Notes that a Memory is mapped into an owner, if that is not noted yet.
    pub(crate) fn note_use(&mut self, memory: Ref<Memory>, owner: Owner) -> Result<()> {
        if let Some(at) = self.attachment(self.pool[owner.region()].attached, memory.address()) {
            // A revoke that is under way has to look at the new pages, too.
            self.pool[at].cursor = 0;
            return Ok(());
        }
        let kind = match owner {
            Owner::Space(_) => attachment::MEMORY_IN_SPACE,
            Owner::Segment(_) => attachment::MEMORY_IN_SEGMENT,
        };
        self.attach_record(owner, memory.address(), kind, 0, Rights::NONE).map(|_| ())
    }

    /// The record with this key in a tree.
    pub(crate) fn attachment(&self, root: Link<Attachment>, key: u32) -> Option<Ref<Attachment>> {
        find(&self.pool, root, key)
    }

    /// Root of the tree that a record is in or belongs into.
    fn root(&mut self, record: &Attachment) -> &mut Link<Attachment> {
        match record.owner() {
            Owner::Space(space) if record.is_of_directory() => &mut self.pool[space].segments,
            owner => &mut self.pool[owner.region()].attached,
        }
    }

    fn source_list(&mut self, record: &Attachment) -> &mut Link<Attachment> {
        if record.is_of_directory() {
            &mut self.pool[Ref::<Region>::new(record.source)].uses
        } else {
            &mut self.pool[Ref::<Memory>::new(record.source)].uses
        }
    }

    /// Makes an attachment and puts it into its list and its tree; the owner's Quota pays.
    pub(crate) fn attach_record(
        &mut self,
        owner: Owner,
        source: u32,
        kind: u32,
        index: u32,
        rights: Rights,
    ) -> Result<Ref<Attachment>> {
        let quota = self.quota_of(owner)?;
        let made: Ref<Attachment> = Ref::new(self.allocate(quota, ATTACHMENT_BYTES)?);
        let mut record = Attachment {
            kind,
            source,
            owner: owner.address(),
            index,
            rights: rights.0,
            bit: FIRST_BIT,
            ..Attachment::zeroed()
        };
        record.source_next = core::mem::replace(self.source_list(&record), made.link());
        if let Some(next) = record.source_next.get() {
            self.pool[next].source_prev = made.link();
        }
        self.pool[made] = record;
        self.plant(made);
        Ok(made)
    }

    /// Makes a record the root of its tree; what was the root goes where its key says.
    fn plant(&mut self, made: Ref<Attachment>) {
        let record = self.pool[made];
        let Some(old) = core::mem::replace(self.root(&record), made.link()).get() else { return };
        let Attachment { lower, upper, .. } = self.pool[old];
        (self.pool[made].lower, self.pool[made].upper) = (lower, upper);
        let key = self.pool[old].key();
        let mut at = made;
        while let Some(below) = self.pool[at].child(key).get() {
            at = below;
        }
        *self.pool[at].child(key) = old.link();
        let bit = self.pool[at].bit << 1;
        let a = &mut self.pool[old];
        (a.lower, a.upper, a.bit) = (Link::NULL, Link::NULL, bit);
    }

    /// Takes an attachment out of its list and its tree and frees it.
    pub(crate) fn drop_record(&mut self, at: Ref<Attachment>) {
        let record = self.pool[at];
        self.skip_use(at, &record);
        match record.source_prev.get() {
            Some(prev) => self.pool[prev].source_next = record.source_next,
            None => *self.source_list(&record) = record.source_next,
        }
        if let Some(next) = record.source_next.get() {
            self.pool[next].source_prev = record.source_prev;
        }
        self.uproot(at, &record);
        let quota = self.pool[record.owner().region()].header.quota;
        self.release(quota, at.address(), ATTACHMENT_BYTES);
    }

    /// Takes a record out of its tree: a leaf below it, whose key fits there as well, takes its
    /// place.
    fn uproot(&mut self, at: Ref<Attachment>, record: &Attachment) {
        let (mut above, mut leaf) = (at, at);
        while let Some(below) = self.pool[leaf].lower.get().or(self.pool[leaf].upper.get()) {
            (above, leaf) = (leaf, below);
        }
        if leaf != at {
            let key = self.pool[leaf].key();
            *self.pool[above].child(key) = Link::NULL;
            // Only now, as `above` may be the record itself.
            let Attachment { lower, upper, bit, .. } = self.pool[at];
            let a = &mut self.pool[leaf];
            (a.lower, a.upper, a.bit) = (lower, upper, bit);
        }
        let successor = if leaf == at { Link::NULL } else { leaf.link() };
        let key = record.key();
        let Some(mut over) = self.root(record).get().filter(|root| *root != at) else {
            *self.root(record) = successor;
            return;
        };
        while let Some(below) = self.pool[over].child(key).get().filter(|below| *below != at) {
            over = below;
        }
        *self.pool[over].child(key) = successor;
    }
}
