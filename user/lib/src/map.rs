// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mapping: up to 16 records in one system call.

use crate::{Memory, Result, Space, sys, utcb};
use abi::syscall::MapRecord;
use abi::{Error, Op, Rights};

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
        let mut registers = [abi::Tag::new(Op::Map, 0, 0).0, self.count, 0, 0, 0];
        sys::raw(&mut registers);
        match registers[0] {
            0 => Ok(()),
            code => Err((registers[1], Error::from_code(code).unwrap_or(Error::BadOperation))),
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
pub fn map(space: Space, address: u32, memory: Memory, offset: u32, bytes: u32, rights: Rights) -> Result<()> {
    one(MapRecord::new(MapRecord::MAP, space.0, address, memory.0, offset, bytes, rights))
}

/// Removes mappings.
///
/// # Errors
/// What the kernel says.
pub fn unmap(space: Space, address: u32, bytes: u32) -> Result<()> {
    one(MapRecord::new(MapRecord::UNMAP, space.0, address, 0, 0, bytes, Rights::NONE))
}

/// Changes rights.
///
/// # Errors
/// What the kernel says.
pub fn protect(space: Space, address: u32, bytes: u32, rights: Rights) -> Result<()> {
    one(MapRecord::new(MapRecord::PROTECT, space.0, address, 0, 0, bytes, rights))
}
