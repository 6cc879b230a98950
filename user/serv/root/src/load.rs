// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filling a component's memory: its image, heap, stack and start block.
//!
//! All of it is one piece of RAM, in that order; behind the image comes memory that the description
//! puts there. The root server maps a part, fills it, takes the mapping away and maps the part where
//! the component wants it: the image's last part and what lies behind it as one, so that they can
//! share a large page.

use crate::IMAGE;
use crate::resources::Resources;
use image::layout::GRANTS;
use image::{Component, Start};
use macadamia::alloc::vec::Vec;
use macadamia::{Error, Memory, Result, Rights, Space, map, start};

/// Where the root server maps what it fills.
const FILL: u32 = GRANTS + (256 << 20);
const PAGE: u32 = abi::PAGE_SIZE;
/// Room for the start block.
const BLOCK_BYTES: u32 = 4 * PAGE;

/// Read and write.
pub const RW: Rights = Rights::READ.union(Rights::WRITE);

const fn pages(bytes: u32) -> u32 {
    bytes.next_multiple_of(PAGE)
}

/// Bytes of RAM of a component's image.
///
/// # Errors
/// `BadArgument` if no machine has that much.
pub fn image_bytes(component: &Component) -> Result<u32> {
    let all = component.loads.iter().map(|load| pages(load.memory_bytes));
    all.into_iter().try_fold(0u32, u32::checked_add).ok_or(Error::BadArgument)
}

/// Where in it the stack of the first thread ends.
///
/// # Errors
/// `BadArgument` if no machine has that much.
pub fn stack_end(component: &Component) -> Result<u32> {
    let more = [component.behind_image(), component.heap, component.stack];
    more.into_iter().try_fold(image_bytes(component)?, u32::checked_add).ok_or(Error::BadArgument)
}

/// Bytes of RAM that a component needs for itself.
///
/// # Errors
/// `BadArgument` if no machine has that much.
pub fn bytes(component: &Component) -> Result<u32> {
    stack_end(component)?.checked_add(BLOCK_BYTES).ok_or(Error::BadArgument)
}

/// A component's memory while it is filled.
pub struct Filler {
    own: Space,
    space: Space,
    memory: Memory,
    offset: u32,
}

impl Filler {
    /// Begins to fill `memory` for `space`.
    pub const fn new(resources: &Resources, space: Space, memory: Memory) -> Self {
        Self { own: resources.space, space, memory, offset: 0 }
    }

    /// Fills the next `bytes`, and maps them and the `more` behind them at `address`.
    fn put(&mut self, address: u32, (bytes, more): (u32, u32), contents: &[u8], rights: Rights) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        map::map(self.own, FILL, self.memory, self.offset, bytes, RW)?;
        start::fill(FILL, bytes, contents);
        map::unmap(self.own, FILL, bytes)?;
        map::map(self.space, address, self.memory, self.offset, bytes + more, rights)?;
        self.offset += bytes + more;
        Ok(())
    }

    /// The image, and cleared heap and stack.
    pub fn load(&mut self, component: &Component) -> Result<()> {
        let (end, places) = (component.image_end(), component.places());
        for part in &component.loads {
            let rights = if part.writable { Rights::RWX } else { Rights::READ.union(Rights::EXECUTE) };
            let bytes = pages(part.memory_bytes);
            let more = if part.address + bytes == end { component.behind_image() } else { 0 };
            self.put(part.address, (bytes, more), start::bytes(IMAGE + part.offset, part.file_bytes), rights)?;
        }
        self.put(places.heap, (component.heap, 0), &[], RW)?;
        self.put(places.stack_end - component.stack, (component.stack, 0), &[], RW)
    }

    /// The start block.
    pub fn block(mut self, component: &Component, block: &Start) -> Result<()> {
        let encoded = postcard::to_allocvec(block).map_err(|_| Error::BadArgument)?;
        let text = block.text();
        let places = component.places();
        let words = [places.heap, component.heap, encoded.len() as u32, text.len() as u32];
        let all: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).chain(encoded).chain(text.into_bytes()).collect();
        if all.len() > BLOCK_BYTES as usize {
            return Err(Error::BadArgument);
        }
        self.put(places.start_block, (BLOCK_BYTES, 0), &all, Rights::READ)
    }
}
