// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a device reads and writes by itself.
//!
//! On some processors ([`DMA_IS_COHERENT`]) a device sees what is in the data caches, and nothing
//! here does anything. On the others a device sees only memory. There, memory that driver and
//! device both use all the time, such as rings, is mapped [`uncached`]. Memory that only one of
//! them uses at a time, such as the data of a request, is cached: the driver says what the device
//! is going to do with it ([`hand_over`]). Until the device has finished, no component should
//! access that memory: one that does harms only that data.

use crate::{Env, Error, Memory, Result, Rights, Space, Word, map};
use abi::CacheOp;
use abi::arch::current::DMA_IS_COHERENT;
use alloc::format;
use alloc::string::String;
use image::slot;

/// What a device is going to do with a part of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Read it.
    Reads,
    /// Write it.
    Writes,
}

/// Maps the shared memory that this component was given as `name` again, uncached. All components
/// that have this memory do that, or none does.
///
/// # Errors
/// A sentence that says what is wrong with what was granted, or what the kernel says.
pub fn uncached(env: &Env, name: &str) -> core::result::Result<(), String> {
    let given = env.given(name).filter(|given| given.physical != 0);
    let given = given.ok_or_else(|| format!("no memory `{name}` that a device may reach: the description shares it with `dma = true`"))?;
    if DMA_IS_COHERENT {
        return Ok(());
    }
    // At first it is a Segment's, for others who have it cached.
    let detached = Space(slot::SPACE as Word).detach(given.address as Word);
    if let Some(error) = detached.err().filter(|error| *error != Error::NotThere) {
        return Err(format!("`{name}` cannot be detached: {}", error.text()));
    }
    let (space, memory, rights) =
        (Space(slot::SPACE as Word), Memory(given.slot as Word), Rights::READ.union(Rights::WRITE));
    map::map_uncached(space, given.address as Word, memory, 0, given.bytes as Word, rights)
        .map_err(|error| format!("`{name}` cannot be mapped uncached: {}", error.text()))
}

/// Makes a part of memory ready for a device: cached data is written to memory, and if the device
/// is going to write there, the caches have no lines of it any more.
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
