// SPDX-License-Identifier: MIT OR Apache-2.0
//! Capabilities: 16-byte slots, linked in the order of derivation.
//!
//! A slot is an entry of a space's table or lies inside an object (a thread's handler, an
//! interrupt's target). All slots that are derived from one original form a doubly linked list in
//! preorder; the depth says which slot is the child of which: the descendants of a slot are the
//! slots after it with a greater depth. Revoke and delete walk the list, IPC never does.
//!
//! ```text
//!  object  31            address           6 5 rights 0
//!  meta    31      badge      12 11   0    3 2  kind  0     (kind 0: Thread)
//!  next    31            address           4 3 depth, low
//!  prev    31            address           4 3 depth, high
//! ```

use crate::port::Port;
use crate::{Kernel, Memory, NOTHING, Quota, Result, Segment, Space};
use abi::call::BadgedRights;
use abi::object::BADGE_MAX;
use abi::{Error, Kind, Rights, Selector, Word, call};
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Ref};

/// Deepest derivation.
pub const MAX_DEPTH: u32 = 255;

/// One capability.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Slot {
    object: u32,
    meta: u32,
    next: u32,
    prev: u32,
}
impl Object for Slot {}

const RIGHTS: u32 = 63;
const KIND: u32 = 7;
const NIBBLE: u32 = 15;

impl Slot {
    /// Whether nothing is in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.object == 0
    }
    /// Address of the object.
    #[must_use]
    pub const fn address(&self) -> u32 {
        self.object & !RIGHTS
    }
    /// What it allows.
    #[must_use]
    pub const fn rights(&self) -> Rights {
        Rights(self.object & RIGHTS)
    }
    /// Kind of the object.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::from_code(self.meta & KIND).unwrap_or(Kind::Thread)
    }
    /// The badge.
    #[must_use]
    pub const fn badge(&self) -> u32 {
        self.meta >> abi::Delivery::BADGE_SHIFT
    }
    /// The object, which must be of the kind that `T` stands for.
    #[must_use]
    pub const fn object<T>(&self) -> Ref<T> {
        Ref::new(self.address())
    }
    const fn depth(&self) -> u32 {
        self.next & NIBBLE | (self.prev & NIBBLE) << 4
    }
    const fn next(&self) -> Link<Self> {
        Link::from_value(self.next & !NIBBLE)
    }
    const fn prev(&self) -> Link<Self> {
        Link::from_value(self.prev & !NIBBLE)
    }
    fn set_next(&mut self, to: Link<Self>) {
        self.next = to.value() | self.next & NIBBLE;
    }
    fn set_prev(&mut self, to: Link<Self>) {
        self.prev = to.value() | self.prev & NIBBLE;
    }
    const fn new(kind: Kind, address: u32, rights: Rights, badge: u32, depth: u32) -> Self {
        let meta = badge << abi::Delivery::BADGE_SHIFT | kind as u32;
        Self { object: address | rights.0, meta, next: depth & NIBBLE, prev: depth >> 4 }
    }
}

impl<P: Port> Kernel<P> {
    /// The slot that a selector names, empty or not.
    pub(crate) fn slot(&self, space: Ref<Space>, selector: Selector) -> Result<Ref<Slot>> {
        if selector == Selector::NONE || selector.0 >= self.pool[space].slots as Word {
            return Err(Error::NoCapability);
        }
        Ok(Space::slot(space, selector.0 as u32))
    }

    /// The capability that a selector names.
    pub(crate) fn cap(&self, space: Ref<Space>, selector: Selector) -> Result<(Ref<Slot>, Slot)> {
        let at = self.slot(space, selector)?;
        let slot = self.pool[at];
        if slot.is_empty() { Err(Error::NoCapability) } else { Ok((at, slot)) }
    }

    /// The object of this kind that a selector names with these rights.
    pub(crate) fn object<T>(
        &self,
        space: Ref<Space>,
        selector: Selector,
        kind: Kind,
        rights: Rights,
    ) -> Result<Ref<T>> {
        self.slot_of(space, selector, kind, rights).map(|(_, slot)| slot.object())
    }

    /// As [`object`](Self::object), with the slot.
    pub(crate) fn slot_of(
        &self,
        space: Ref<Space>,
        selector: Selector,
        kind: Kind,
        rights: Rights,
    ) -> Result<(Ref<Slot>, Slot)> {
        let (at, slot) = self.cap(space, selector)?;
        if slot.kind() != kind {
            return Err(Error::WrongKind);
        }
        if !slot.rights().contains(rights) {
            return Err(Error::NoRight);
        }
        Ok((at, slot))
    }

    /// An empty slot of a table, as a destination.
    pub(crate) fn empty_slot(&self, space: Ref<Space>, selector: Selector) -> Result<Ref<Slot>> {
        let at = self.slot(space, selector).map_err(|_| Error::BadSlot)?;
        if self.pool[space].region.header.is_dying() || !self.pool[at].is_empty() {
            Err(Error::BadSlot)
        } else {
            Ok(at)
        }
    }

    /// Writes the original capability of a new object.
    pub(crate) fn put_original(&mut self, at: Ref<Slot>, kind: Kind, address: u32) {
        self.pool[at] = Slot::new(kind, address, Rights::of(kind), 0, 0);
    }

    /// Lowers the rights of a capability.
    pub(crate) fn limit_rights(&mut self, at: Ref<Slot>, rights: Rights) {
        let slot = &mut self.pool[at];
        slot.object &= !RIGHTS | rights.0;
    }

    /// Whether a child of this slot could be made.
    pub(crate) fn may_derive(&self, from: Ref<Slot>) -> Result<()> {
        if self.pool[from].depth() < MAX_DEPTH { Ok(()) } else { Err(Error::TooDeep) }
    }

    /// Writes a child of `from` into the empty slot `to`.
    pub(crate) fn derive(
        &mut self,
        from: Ref<Slot>,
        to: Ref<Slot>,
        child: (Kind, u32, Rights, u32),
    ) -> Result<()> {
        self.may_derive(from)?;
        let (kind, address, rights, badge) = child;
        let after = self.pool[from].next();
        self.pool[to] = Slot::new(kind, address, rights, badge, self.pool[from].depth() + 1);
        self.pool[to].set_next(after);
        self.pool[to].set_prev(from.link());
        if let Some(after) = after.get() {
            self.pool[after].set_prev(to.link());
        }
        self.pool[from].set_next(to.link());
        Ok(())
    }

    /// Copies a capability with at most these rights; a badge of 0 keeps the source's.
    pub(crate) fn copy(
        &mut self,
        from: Ref<Slot>,
        to: Ref<Slot>,
        rights: Rights,
        badge: u32,
    ) -> Result<()> {
        let source = self.pool[from];
        if badge != 0 && (source.badge() != 0 || source.kind() != Kind::Thread) {
            return Err(Error::BadArgument);
        }
        let badge = if badge == 0 { source.badge() } else { badge };
        self.derive(
            from,
            to,
            (source.kind(), source.address(), source.rights().intersection(rights), badge),
        )
    }

    /// The next slot in the list if it is a descendant of `at`.
    pub(crate) fn descendant(&self, at: Ref<Slot>) -> Option<Ref<Slot>> {
        let next = self.pool[at].next().get()?;
        (self.pool[next].depth() > self.pool[at].depth()).then_some(next)
    }

    /// The last of a chain of descendants, each the first of the one before: nothing derives from
    /// it. The chain may be as long as capabilities may be deep, so each slot is read once.
    pub(crate) fn last_descendant(&self, at: Ref<Slot>) -> Ref<Slot> {
        let (mut last, mut slot) = (at, self.pool[at]);
        while let Some(next) = slot.next().get() {
            let child = self.pool[next];
            if child.depth() <= slot.depth() {
                break;
            }
            (last, slot) = (next, child);
        }
        last
    }

    /// Takes a slot out of the list and empties it.
    pub(crate) fn clear_slot(&mut self, at: Ref<Slot>) {
        let slot = self.pool[at];
        if let Some(next) = slot.next().get() {
            self.pool[next].set_prev(slot.prev());
        }
        if let Some(prev) = slot.prev().get() {
            self.pool[prev].set_next(slot.next());
        }
        self.pool[at] = Slot::zeroed();
    }

    /// `copy`.
    pub(crate) fn copy_cap(&mut self, space: Ref<Space>, call: call::Copy) -> Result<[Word; 3]> {
        let (source, _) = self.cap(space, call.source)?;
        let target = match call.space.given() {
            None => space,
            Some(selector) => self.object(space, selector, Kind::Space, Rights::CONTROL)?,
        };
        let slot = self.empty_slot(target, call.destination)?;
        crate::narrow(call.rights.0)?;
        let (rights, badge) = (call.rights.rights(), call.rights.badge());
        debug_assert!(badge <= BADGE_MAX, "a badge is what is left of 32 bits");
        self.copy(source, slot, rights, badge)?;
        Ok(NOTHING)
    }

    /// `identify`.
    pub(crate) fn identify(&self, space: Ref<Space>, call: call::Identify) -> Result<[Word; 3]> {
        let (_, cap) = self.cap(space, call.slot)?;
        let size = match cap.kind() {
            Kind::Thread | Kind::Irq => 0,
            Kind::Quota => self.pool[cap.object::<Quota>()].limit.bytes as Word,
            Kind::Space => self.pool[cap.object::<Space>()].slots as Word,
            Kind::Segment => self.pool[cap.object::<Segment>()].region.end.0,
            Kind::Memory => self.pool[cap.object::<Memory>()].bytes,
        };
        Ok([cap.kind() as Word, BadgedRights::new(cap.rights(), cap.badge() as Word).0, size])
    }
}
