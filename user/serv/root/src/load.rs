// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filling a component's memory: its image, heap, stack and start block.
//!
//! All of it except the image's text is one piece of RAM, in that order; after the image comes
//! memory that the description puts there. The root server maps a part, fills it, and unmaps it;
//! then it maps the part where the component needs it. The image's last part and what follows are
//! mapped as one, so that they can share a large page. The memory of a component with colours is
//! many pieces, and includes the text.
//!
//! The text of an image, which no component may write, is in memory once, however many components
//! have it. So two Linux servers execute the same code, which is in the processor's cache once. It
//! is a copy, because its place in the boot image has no room for a large page.

use crate::resources::{Pieces, RW, Resources};
use abi::{CacheOp, Word};
use image::layout::GRANTS;
use image::{BLOCK_BYTES, Component, Load, Places, Start};
use macadamia::alloc::vec::Vec;
use macadamia::{Error, Memory, Result, Rights, Space, map, start};

/// Where the boot image is mapped.
pub const IMAGE: Word = Places::LOW.own as Word;
/// Where the root server maps what it fills.
const FILL: Word = GRANTS as Word + (256 << 20);
const PAGE: u32 = abi::PAGE_SIZE as u32;
/// Rights to text.
const RX: Rights = Rights::READ.union(Rights::EXECUTE);

const fn pages(bytes: u32) -> u32 {
    bytes.next_multiple_of(PAGE)
}

/// Bytes of RAM of a component's image: with its text only if that is its own.
///
/// # Errors
/// `BadArgument` if no machine has that much.
pub fn image_bytes(component: &Component) -> Result<u32> {
    let own = component.loads.iter().filter(|load| component.owns(load));
    let mut all = own.map(|load| pages(load.memory_bytes));
    all.try_fold(0u32, u32::checked_add).ok_or(Error::BadArgument)
}

/// Where one of a component's addresses is in its space.
pub fn place(component: &Component, address: u32) -> Word {
    component.base() as Word + address as Word
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

/// The memory of a text. It is filled when the first component is loaded that has it.
fn text(resources: &mut Resources, part: &Load) -> Result<Memory> {
    let is_it =
        |known: &Load| known.offset == part.offset && known.memory_bytes == part.memory_bytes;
    if let Some((_, memory)) = resources.texts.iter().find(|(known, _)| is_it(known)) {
        return Ok(*memory);
    }
    let bytes = pages(part.memory_bytes);
    let memory = resources.ram(bytes as Word)?.memory;
    fill(resources.space, (memory, 0), bytes, contents(part), true)?;
    resources.texts.push((part.clone(), memory));
    Ok(memory)
}

/// What the boot image has of a part.
fn contents(part: &Load) -> &'static [u8] {
    start::bytes(IMAGE + part.offset as Word, part.file_bytes as Word)
}

/// Fills a part of a Memory, which no component has mapped, with a copy of `with` and zeros. Code
/// reaches the instruction cache.
fn fill(
    own: Space,
    (memory, offset): (Memory, u32),
    bytes: u32,
    with: &[u8],
    is_code: bool,
) -> Result<()> {
    let (offset, bytes) = (offset as Word, bytes as Word);
    map::map(own, FILL, memory, offset, bytes, RW)?;
    start::fill(FILL, bytes, with);
    if is_code {
        own.cache(FILL, bytes, CacheOp::SyncCode)?;
    }
    map::unmap(own, FILL, bytes)
}

/// A component's memory while it is filled.
pub struct Filler<'a> {
    own: Space,
    space: Space,
    memory: &'a Pieces,
    offset: u32,
}

impl<'a> Filler<'a> {
    /// Begins to fill `memory` for `space`.
    pub const fn new(resources: &Resources, space: Space, memory: &'a Pieces) -> Self {
        Self { own: resources.space, space, memory, offset: 0 }
    }

    /// Fills the next `bytes`, and maps them and the `more` after them at `address`.
    fn put(
        &mut self,
        address: Word,
        (bytes, more): (u32, u32),
        contents: &[u8],
        rights: Rights,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let mut rest = contents;
        for (memory, offset, bytes) in self.memory.parts(self.offset, bytes) {
            let (with, after) = rest.split_at(rest.len().min(bytes as usize));
            fill(self.own, (memory, offset), bytes, with, rights == RX)?;
            rest = after;
        }
        let mut to = address;
        for (memory, offset, bytes) in self.memory.parts(self.offset, bytes + more) {
            map::map(self.space, to, memory, offset as Word, bytes as Word, rights)?;
            to += bytes as Word;
        }
        self.offset += bytes + more;
        Ok(())
    }

    /// The image, and cleared heap and stack.
    pub fn load(&mut self, component: &Component, resources: &mut Resources) -> Result<()> {
        let (end, places) = (component.image_end(), component.places());
        let place = |address| place(component, address);
        for part in &component.loads {
            let bytes = pages(part.memory_bytes);
            let rights = if part.writable { Rights::RWX } else { RX };
            if component.owns(part) {
                let more = if part.address + bytes == end { component.behind_image() } else { 0 };
                self.put(place(part.address), (bytes, more), contents(part), rights)?;
            } else {
                let (to, memory) = (place(part.address), text(resources, part)?);
                map::map(self.space, to, memory, 0, bytes as Word, rights)?;
            }
        }
        self.put(place(places.heap), (component.heap, 0), &[], RW)?;
        let stack = place(places.stack_end - component.stack);
        self.put(stack, (component.stack, 0), &[], RW)
    }

    /// The start block.
    pub fn block(mut self, component: &Component, block: &Start) -> Result<()> {
        let encoded = postcard::to_allocvec(block).map_err(|_| Error::BadArgument)?;
        let text = block.text();
        let places = component.places();
        let sizes = [component.heap, encoded.len() as u32, text.len() as u32];
        let words = core::iter::once(place(component, places.heap))
            .chain(sizes.into_iter().map(|size| size as Word));
        let all: Vec<u8> =
            words.flat_map(Word::to_ne_bytes).chain(encoded).chain(text.into_bytes()).collect();
        if all.len() > BLOCK_BYTES as usize {
            return Err(Error::BadArgument);
        }
        self.put(place(component, places.start_block), (BLOCK_BYTES, 0), &all, Rights::READ)
    }
}
