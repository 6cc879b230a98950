// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spaces and Segments: region owners, and the capability table behind a Space.

use crate::cap::Slot;
use crate::quota::Header;
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Ref};

/// A page of translation-table entries, upper or lower level.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Table(pub [u32; mmu::ENTRIES]);
impl Object for Table {}

/// Bytes of a table.
pub const TABLE_BYTES: u32 = abi::PAGE_SIZE;

/// Which UTCB slots of a space are taken, a bit each.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct SlotMap(pub [u32; SLOT_MAP_WORDS]);
impl Object for SlotMap {}

/// Words of a [`SlotMap`].
pub const SLOT_MAP_WORDS: usize = (abi::utcb::AREA_END / abi::utcb::SLOT_SIZE / 32) as usize;

/// I/O ports a space may use, a bit each, set where it may not.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct PortMap(pub [u32; 2048]);
impl Object for PortMap {}

/// Bytes of a [`PortMap`].
pub const PORT_MAP_BYTES: u32 = 8192;

/// Translation tables, with who pays for them and what is mapped there: what a Space and a Segment
/// have in common. Both begin with it, so that [`Owner::region`] finds it in either.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Region {
    /// Who pays, original capability.
    pub header: Header,
    /// Upper level of the translation tables.
    pub top: Link<Table>,
    /// Memory that was mapped (`attach.rs`).
    pub attached: Link<crate::memory::Attachment>,
    /// Tables in reserve for large pages (`large.rs`).
    pub spares: Link<Table>,
    /// First address that users map.
    pub start: u32,
    /// First address above those that users map.
    pub end: u32,
}
impl Object for Region {}
const _: () = assert!(core::mem::offset_of!(Space, region) == 0 && core::mem::offset_of!(Segment, region) == 0);

impl Region {
    /// How many tables it can have, from the first address on.
    #[must_use]
    pub const fn entries(&self) -> u32 {
        self.end / abi::TABLE_SPAN
    }
}

/// An address space. Its capability table follows at [`HEADER_BYTES`].
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Space {
    /// Who pays, and its translation tables.
    pub region: Region,
    /// Entries of its capability table; 0: a space of aliens.
    pub slots: u32,
    /// Which UTCB slots are taken (native spaces).
    pub utcb_map: Link<SlotMap>,
    /// I/O ports it may use.
    pub ports: Link<PortMap>,
    /// What the port keeps: on IA-32 the directory's physical address.
    pub hw: [u32; 8],
    /// Segments that are attached to it.
    pub segments: Link<crate::memory::Attachment>,
    /// Bytes of its block. Its capability table grows into that while it is made.
    pub bytes: u32,
    /// Next on the work list that it is on while it dies (`reap.rs`).
    pub work_next: crate::reap::Work,
    /// Up to [`HEADER_BYTES`].
    pub unused: [u32; 9],
}
impl Object for Space {}

/// Distance from a Space to its capability table.
pub const HEADER_BYTES: u32 = 128;
const _: () = assert!(size_of::<Space>() == HEADER_BYTES as usize);

impl Space {
    /// Bytes of the block for a Space with this many slots.
    #[must_use]
    pub const fn bytes(slots: u32) -> u32 {
        crate::quota::block(HEADER_BYTES + slots * size_of::<Slot>() as u32)
    }
    /// The slot with this index, which the caller has checked.
    #[must_use]
    pub const fn slot(space: Ref<Self>, index: u32) -> Ref<Slot> {
        Ref::new(space.address() + HEADER_BYTES + index * size_of::<Slot>() as u32)
    }
}

/// Translation tables of their own that spaces share.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Segment {
    /// Who pays, and its translation tables.
    pub region: Region,
    /// Spaces it is attached to.
    pub uses: Link<crate::memory::Attachment>,
    /// 1 + index of an entry that changed and is being copied to the spaces; 0: none.
    pub changing: u32,
    /// The attachment that gets its copy next.
    pub visit: Link<crate::memory::Attachment>,
    /// A table that nobody may use any more once all copies are written.
    pub retired: Link<Table>,
}
impl Object for Segment {}
const _: () = assert!(size_of::<Segment>() <= pool::MIN_BYTES as usize);

/// Who owns translation tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A space.
    Space(Ref<Space>),
    /// A Segment.
    Segment(Ref<Segment>),
}

impl Owner {
    /// Kernel address of the object.
    #[must_use]
    pub const fn address(self) -> u32 {
        match self {
            Self::Space(s) => s.address(),
            Self::Segment(s) => s.address(),
        }
    }

    /// Its tables.
    #[must_use]
    pub const fn region(self) -> Ref<Region> {
        Ref::new(self.address())
    }
}
