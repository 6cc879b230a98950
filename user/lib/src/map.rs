// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mapping: up to 16 records in one system call.

use crate::{Memory, Result, Segment, Space, sys, utcb};
use abi::{Error, MapRecord, Op, PAGE_SIZE, Rights, Tag, Word, call};
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use image::Places;

/// Records to be carried out together.
#[derive(Default)]
pub struct Batch {
    count: u32,
}

impl Batch {
    /// No records.
    #[must_use]
    pub const fn new() -> Self {
        Self { count: 0 }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// `BadArgument` if 16 are in it.
    pub fn push(&mut self, record: MapRecord) -> Result<()> {
        if self.count == MapRecord::MAX {
            return Err(Error::BadArgument);
        }
        for (i, word) in record.0.into_iter().enumerate() {
            utcb::set_word(self.count as usize * 4 + i, word);
        }
        self.count += 1;
        Ok(())
    }

    /// Carries out the records.
    ///
    /// # Errors
    /// The number of records done, and why the next failed.
    pub fn commit(self) -> core::result::Result<(), (u32, Error)> {
        let mut registers =
            sys::with(Tag::new(Op::Map, 0, 0), call::Map { count: self.count as Word });
        sys::raw(&mut registers);
        match registers[0] {
            0 => Ok(()),
            code => Err((registers[1] as u32, sys::error(code))),
        }
    }
}

fn one(record: MapRecord) -> Result<()> {
    let mut batch = Batch::new();
    batch.push(record)?;
    batch.commit().map_err(|(_, error)| error)
}

/// Maps a part of a Memory into a space.
///
/// # Errors
/// What the kernel says.
pub fn map(
    space: Space,
    address: Word,
    memory: Memory,
    offset: Word,
    bytes: Word,
    rights: Rights,
) -> Result<()> {
    one(MapRecord::new(MapRecord::MAP, space.0, address, memory.0, offset, bytes, rights))
}

/// Maps a part of a Memory into a space, uncached, so that a device that does not see the caches
/// sees what is written there.
///
/// # Errors
/// What the kernel says.
pub fn map_uncached(
    space: Space,
    address: Word,
    memory: Memory,
    offset: Word,
    bytes: Word,
    rights: Rights,
) -> Result<()> {
    one(MapRecord::new(MapRecord::MAP, space.0, address, memory.0, offset, bytes, rights)
        .uncached())
}

/// Removes mappings.
///
/// # Errors
/// What the kernel says.
pub fn unmap(space: Space, address: Word, bytes: Word) -> Result<()> {
    one(MapRecord::new(MapRecord::UNMAP, space.0, address, 0, 0, bytes, Rights::NONE))
}

/// Changes rights.
///
/// # Errors
/// What the kernel says.
pub fn protect(space: Space, address: Word, bytes: Word, rights: Rights) -> Result<()> {
    one(MapRecord::new(MapRecord::PROTECT, space.0, address, 0, 0, bytes, rights))
}

/// Start and end of [`grants`] and of [`own`].
static BOUNDS: [AtomicU32; 4] = [
    AtomicU32::new(Places::LOW.grants),
    AtomicU32::new(Places::LOW.grants_end),
    AtomicU32::new(Places::LOW.own),
    AtomicU32::new(Places::LOW.own_end),
];

/// Notes where this component finds what, before anything is mapped.
pub(crate) fn settle(places: &Places) {
    let bounds = [places.grants, places.grants_end, places.own, places.own_end];
    BOUNDS.iter().zip(bounds).for_each(|(bound, address)| bound.store(address, Ordering::Relaxed));
}

fn bounds(first: usize) -> Range<Word> {
    let [start, end] =
        [first, first + 1].map(|index| BOUNDS[index].load(Ordering::Relaxed) as Word);
    start..end
}

/// The addresses of devices and shared memory that the component was given. As in [`own`], no Rust
/// object is ever there.
#[must_use]
pub fn grants() -> Range<Word> {
    bounds(0)
}

/// The addresses of what the component maps itself. No Rust object is ever there.
#[must_use]
pub fn own() -> Range<Word> {
    bounds(2)
}

/// What becomes of a window's addresses when it ends.
#[derive(Debug)]
enum End {
    Unmap,
    Detach,
    Stay,
}

/// A part of a Memory, or a Segment, that the component itself has mapped or attached, word by
/// word.
///
/// It is in [`own`] or among [`grants`], so no Rust object is harmed, whatever others do to that
/// memory.
#[derive(Debug)]
pub struct Window {
    address: Word,
    bytes: Word,
    end: End,
}

impl Window {
    /// Maps a part of a Memory at `address`; all in bytes and multiples of a page.
    ///
    /// # Errors
    /// `BadAddress` outside of the area for windows; what the kernel says.
    pub fn open(
        address: Word,
        memory: Memory,
        offset: Word,
        bytes: Word,
        rights: Rights,
    ) -> Result<Self> {
        let window = Self::over(address, bytes)?;
        map(Space(image::slot::SPACE as Word), address, memory, offset, bytes, rights)?;
        Ok(Self { end: End::Unmap, ..window })
    }

    /// Attaches a Segment of so many bytes at `address`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn attach(address: Word, segment: Segment, bytes: Word, rights: Rights) -> Result<Self> {
        let window = Self::over(address, bytes)?;
        Space(image::slot::SPACE as Word).attach(address, segment, rights)?;
        Ok(Self { end: End::Detach, ..window })
    }

    /// Addresses at which something may be mapped already. If nothing is mapped there, reading or
    /// writing causes an exception.
    ///
    /// # Errors
    /// `BadAddress` outside of the area for windows.
    pub fn over(address: Word, bytes: Word) -> Result<Self> {
        let is_in = |range: Range<Word>| {
            address >= range.start && address.checked_add(bytes).is_some_and(|end| end <= range.end)
        };
        if !(is_in(own()) || is_in(grants())) || !address.is_multiple_of(PAGE_SIZE) {
            return Err(Error::BadAddress);
        }
        Ok(Self { address, bytes, end: End::Stay })
    }

    fn word(&self, offset: Word) -> *mut u32 {
        assert!(
            offset.is_multiple_of(4) && offset < self.bytes,
            "offset {offset:#x} of a window of {:#x} bytes",
            self.bytes
        );
        (self.address + offset) as *mut u32
    }

    /// Reads the 32 bits at an offset, a multiple of 4.
    #[must_use]
    pub fn read(&self, offset: Word) -> u32 {
        // SAFETY: `word` keeps to the window, where no Rust object lies; if its mapping
        // was revoked, this is an exception.
        unsafe { self.word(offset).read_volatile() }
    }

    /// Writes the 32 bits at an offset, a multiple of 4.
    pub fn write(&self, offset: Word, value: u32) {
        // SAFETY: as `read`.
        unsafe { self.word(offset).write_volatile(value) };
    }

    /// Writes the byte at an offset.
    pub fn write8(&self, offset: Word, value: u8) {
        let word: *mut u8 = self.word(offset - offset % 4).cast();
        // SAFETY: as `read`; it is a byte of that word.
        unsafe { word.byte_add((offset % 4) as usize).write_volatile(value) };
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let space = Space(image::slot::SPACE as Word);
        // Removing what is there cannot fail, and what was revoked needs no removing.
        let _ = match self.end {
            End::Unmap => unmap(space, self.address, self.bytes),
            End::Detach => space.detach(self.address),
            End::Stay => Ok(()),
        };
    }
}
