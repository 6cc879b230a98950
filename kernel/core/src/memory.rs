// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory, interrupt lines, and the record that a Memory was mapped or a Segment
//! attached somewhere.

use crate::cap::Slot;
use crate::quota::Header;
use crate::space::{Owner, Segment, Space};
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Ref};

/// What a Memory is a range of: values of `Memory::class`.
pub mod class {
    /// RAM.
    pub const RAM: u32 = 0;
    /// Device registers.
    pub const DEVICE: u32 = 1;
    /// I/O ports.
    pub const PORTS: u32 = 2;
}

/// A range of physical addresses or of I/O ports.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Memory {
    /// Who pays, original capability.
    pub header: Header,
    /// `class::*`.
    pub class: u32,
    /// First physical address or port.
    pub base: u32,
    /// Bytes or ports.
    pub bytes: u32,
    /// Where it was mapped.
    pub uses: Link<Attachment>,
}
impl Object for Memory {}

/// An interrupt line.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Irq {
    /// Who pays, original capability.
    pub header: Header,
    /// Who is notified, with the bits as badge.
    pub target: Slot,
    /// Its number.
    pub line: u32,
    /// Fills the block.
    pub unused: [u32; 3],
}
impl Object for Irq {}

/// Values of `Attachment::kind`.
pub mod attachment {
    /// Memory mapped into a Space.
    pub const MEMORY_IN_SPACE: u32 = 0;
    /// Memory mapped into a Segment.
    pub const MEMORY_IN_SEGMENT: u32 = 1;
    /// A Segment attached to a Space.
    pub const SEGMENT_IN_SPACE: u32 = 2;
}

/// One (Memory, owner) or (Segment, Space) pair: in a list of its source and in a tree of its owner
/// (`attach.rs`).
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Attachment {
    /// `attachment::*`.
    pub kind: u32,
    /// Address of the Memory or Segment.
    pub source: u32,
    /// Address of the Space or Segment that has it.
    pub owner: u32,
    /// Where revoke goes on; of a Segment, how many of its entries the Space has. (In the line of what
    /// a mapping reads.)
    pub cursor: u32,
    /// In the tree: the bit of a key that tells `lower` from `upper`.
    pub bit: u32,
    /// Records whose keys have that bit clear.
    pub lower: Link<Attachment>,
    /// Records whose keys have it set.
    pub upper: Link<Attachment>,
    /// A Segment's first entry in the space's upper level.
    pub index: u32,
    /// Next in the source's list.
    pub source_next: Link<Attachment>,
    /// Previous in the source's list.
    pub source_prev: Link<Attachment>,
    /// Rights a Segment was attached with.
    pub rights: u32,
}
impl Object for Attachment {}

/// Bytes of an [`Attachment`]'s block.
pub const ATTACHMENT_BYTES: u32 = pool::MIN_BYTES;
const _: () = assert!(size_of::<Attachment>() <= ATTACHMENT_BYTES as usize);
const _: () = assert!(size_of::<Memory>() <= pool::MIN_BYTES as usize && size_of::<Irq>() <= pool::MIN_BYTES as usize);

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
}
