// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments: translation tables that several spaces share, attached and detached
//! as a whole (fass-wombat-arm-2007, section 3.4): `share.rs`.

use crate::port::Port;
use crate::tables::TABLE_BYTES;
use crate::{ALIGN, Kernel, NOTHING, Owner, Progress, Quota, Region, Result, Space};
use abi::{Error, Kind, Rights, TABLE_SPAN, USER_END, UserAddr, Word, call};
use bytemuck::{Pod, Zeroable};
use mmu::Format;
use pool::{Object, Ref};
pub use sizes::SEGMENT_WORDS;

/// Translation tables of their own that spaces share.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Segment {
    /// Who pays, and its translation tables.
    pub region: Region,
    /// What the port keeps.
    pub hw: [u32; SEGMENT_WORDS],
    /// Fills the last word.
    pub unused: [u32; ALIGN * (SEGMENT_WORDS % 2)],
}
impl Object for Segment {}
const _: () = assert!(size_of::<Segment>() <= (1 + ALIGN) * pool::MIN_BYTES as usize);

impl<P: Port> Kernel<P> {
    /// `create_segment`.
    pub(crate) fn create_segment(
        &mut self,
        space: Ref<Space>,
        call: call::CreateSegment,
    ) -> Result<[Word; 3]> {
        let call::CreateSegment { quota, bytes, destination } = call;
        let quota: Ref<Quota> = self.object(space, quota, Kind::Quota, Rights::CONTROL)?;
        let slot = self.empty_slot(space, destination)?;
        let fits = bytes <= USER_END && bytes / TABLE_SPAN <= P::Format::ENTRIES as Word;
        if bytes == 0 || !bytes.is_multiple_of(TABLE_SPAN) || !fits {
            return Err(Error::BadArgument);
        }
        let block: Ref<Segment> = Ref::new(self.allocate(quota, size_of::<Segment>() as u32)?);
        match self.allocate_table(quota) {
            Ok(top) => {
                let s = &mut self.pool[block];
                s.region = Region {
                    header: Self::new_header(quota, slot),
                    top: top.link(),
                    end: UserAddr(bytes),
                    ..Region::zeroed()
                };
                self.port.segment_created(&mut self.pool, block);
                self.put_original(slot, Kind::Segment, block.address());
                Ok(NOTHING)
            }
            Err(error) => {
                self.release(quota.link(), block.address(), size_of::<Segment>() as u32);
                Err(error)
            }
        }
    }

    /// A step of ending a Segment.
    pub(crate) fn end_segment(&mut self, segment: Ref<Segment>) -> Progress {
        if self.spread(Owner::Segment(segment)) == Progress::Interrupted {
            return Progress::Interrupted;
        }
        if let Some(at) = self.pool[segment].region.uses.get() {
            self.detach_record(at);
            return Progress::Interrupted;
        }
        if let Some(at) = self.pool[segment].region.attached.get() {
            self.drop_record(at);
            return Progress::Interrupted;
        }
        let mut cursor = self.pool[segment].region.header.cursor;
        let freed = self.free_tables(Owner::Segment(segment), &mut cursor);
        self.pool[segment].region.header.cursor = cursor;
        if freed == Progress::Interrupted {
            return Progress::Interrupted;
        }
        self.port.segment_dropped(&mut self.pool, segment);
        let Region { header, top, .. } = self.pool[segment].region;
        if let Some(top) = top.get() {
            self.release(header.quota, top.address(), TABLE_BYTES);
        }
        self.release(header.quota, segment.address(), size_of::<Segment>() as u32);
        Progress::Done
    }
}
