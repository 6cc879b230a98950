// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a device reads and writes by itself.
//!
//! On some processors ([`DMA_IS_COHERENT`]) a device sees what is in the data caches, and nothing here does anything. On the others
//! it has memory alone. What driver and device both use all the time, as rings, is mapped [`uncached`] there. What one of them has
//! at a time, as the data of a request, is cached: the driver says what the device is going to do with it ([`hand_over`]). Until the
//! device is done nobody touches the cache's lines of it: who does harms that data alone.

use crate::{Error, Memory, Result, Rights, Space, Word, map};
use abi::CacheOp;
use abi::arch::current::DMA_IS_COHERENT;
use image::{Given, slot};

/// What a device is going to do with a part of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Read it.
    Reads,
    /// Write it.
    Writes,
}

/// Maps shared memory that this component was given anew, past the caches. All of those who have it do that, or none.
///
/// # Errors
/// `BadArgument` if it is no shared memory; what the kernel says.
pub fn uncached(given: &Given) -> Result<()> {
    if DMA_IS_COHERENT {
        return Ok(());
    }
    if given.physical == 0 {
        return Err(Error::BadArgument);
    }
    let rights = Rights::READ.union(Rights::WRITE);
    map::map_uncached(Space(slot::SPACE as Word), given.address as Word, Memory(given.slot as Word), 0, given.bytes as Word, rights)
}

/// Makes a part of memory ready for a device: what was written there is in memory, and if the device writes it the caches know
/// nothing of it any more.
///
/// # Errors
/// What the kernel says.
pub fn hand_over(address: Word, bytes: Word, to: Use) -> Result<()> {
    if DMA_IS_COHERENT || bytes == 0 {
        return Ok(());
    }
    let operation = match to {
        Use::Reads => CacheOp::Clean,
        Use::Writes => CacheOp::CleanAndInvalidate,
    };
    Space(slot::SPACE as Word).cache(address, bytes, operation)
}
