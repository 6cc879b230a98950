// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a component shares with others, which may write it at any time.

use crate::dma::{self, Use};
use crate::map::grants;
use crate::{Env, Error, Result, Word, arch};
use core::sync::atomic::{Ordering, fence};
pub use frames::{Little, Reader, Shared, Writer};

/// Shared memory that the component was given. No Rust object is there, so none is harmed, whatever
/// others write.
#[derive(Debug)]
pub struct Region {
    address: Word,
    bytes: u32,
}

impl Region {
    /// The one that the description shares as `name`; `None` if there is none.
    #[must_use]
    pub fn find(env: &Env, name: &str) -> Option<Self> {
        let given = env.given(name)?;
        let (address, bytes, grants) = (given.address as Word, given.bytes, grants());
        let end = address.checked_add(bytes as Word)?;
        let is_shared =
            bytes > 0 && address.is_multiple_of(4) && address >= grants.start && end <= grants.end;
        is_shared.then_some(Self { address, bytes })
    }

    /// Where it is, for who keeps that in a static.
    pub(crate) const fn place(&self) -> (Word, u32) {
        (self.address, self.bytes)
    }

    /// The region at a place that [`Region::place`] said.
    pub(crate) const fn of_place(address: Word, bytes: u32) -> Self {
        Self { address, bytes }
    }

    /// Makes a part of it ready for a device ([`dma::hand_over`]).
    ///
    /// # Errors
    /// `BadArgument` if it is not in the region; what the kernel says.
    pub fn hand_over(&self, offset: u32, bytes: u32, to: Use) -> Result<()> {
        if bytes > self.bytes || offset > self.bytes - bytes {
            return Err(Error::BadArgument);
        }
        dma::hand_over(self.address + offset as Word, bytes as Word, to)
    }

    /// Copies bytes from an offset on. Panics if they are not in the region.
    pub fn read_bytes(&self, offset: u32, to: &mut [u8]) {
        let from = self.bytes_at(offset, to.len() as u32);
        // SAFETY: `bytes_at` keeps to the region, where no Rust object lies, and only
        // the caller has `to`.
        unsafe { arch::copy_bytes(from, to.as_mut_ptr(), to.len() as u32) };
    }

    /// Copies bytes to an offset on. Panics if they do not fit.
    pub fn write_bytes(&self, offset: u32, from: &[u8]) {
        let to = self.bytes_at(offset, from.len() as u32);
        // SAFETY: as `read_bytes`, the other way round.
        unsafe { arch::copy_bytes(from.as_ptr(), to, from.len() as u32) };
    }

    /// Where bytes of it are.
    fn bytes_at(&self, offset: u32, bytes: u32) -> *mut u8 {
        let is_inside = bytes <= self.bytes && offset <= self.bytes - bytes;
        assert!(is_inside, "{bytes} bytes at {offset:#x} of shared memory of {:#x}", self.bytes);
        (self.address + offset as Word) as *mut u8
    }

    /// Where words of it are, of which there is one at least.
    // Each access of a ring comes here.
    #[inline(always)]
    fn part(&self, offset: u32, bytes: u32) -> *mut u32 {
        let is_inside = offset.is_multiple_of(4)
            && self.bytes.checked_sub(bytes).is_some_and(|last| offset <= last);
        assert!(is_inside, "words at {offset:#x} of shared memory of {:#x}", self.bytes);
        (self.address + offset as Word) as *mut u32
    }
}

impl Shared for Region {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn read(&self, offset: u32) -> u32 {
        // SAFETY: `part` keeps to the region, where no Rust object lies; if its mapping was
        // revoked, this is an exception.
        unsafe { self.part(offset, 4).read_volatile() }
    }

    fn write(&self, offset: u32, value: u32) {
        // SAFETY: as `read`.
        unsafe { self.part(offset, 4).write_volatile(value) };
    }

    fn read_words<const N: usize>(&self, offset: u32) -> [u32; N] {
        let words = self.part(offset, N as u32 * 4);
        // SAFETY: as `read`, for each.
        core::array::from_fn(|word| unsafe { words.add(word).read_volatile() })
    }

    fn write_words<const N: usize>(&self, offset: u32, values: [u32; N]) {
        let words = self.part(offset, N as u32 * 4);
        for (word, value) in values.into_iter().enumerate() {
            // SAFETY: as `write`, for each.
            unsafe { words.add(word).write_volatile(value) };
        }
    }

    fn copy(&self, from: u32, other: &Self, to: u32, bytes: u32) {
        assert!(bytes.is_multiple_of(4), "{bytes} bytes are no words");
        let (from, to) = (self.part(from, bytes), other.part(to, bytes));
        // SAFETY: as `read`, for both; two regions are different memory.
        unsafe { arch::copy_words(from, to, bytes / 4) };
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}
