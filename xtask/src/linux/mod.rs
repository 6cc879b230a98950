// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux: the server, built of patched source; root file systems for it; Debian's packages and its disk. What
//! is made here is the same on every machine that runs it.

pub mod debian;
mod depends;
pub mod musl;
pub mod order;
pub mod packages;
mod patched;
pub mod root;
pub mod server;

use crate::machine::board;
use crate::process::lock::Lock;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where what is built and fetched is kept, for the board if none is asked for.
pub const FOLDER: &str = "target/linux";

/// The same for the board that was chosen.
pub fn folder() -> PathBuf {
    let board = board::chosen();
    if board.is_default() { FOLDER.into() } else { Path::new(FOLDER).join(board.name()) }
}

/// The right to build for the board that was chosen. Of each board one thread of all processes has it.
pub struct Building(#[expect(dead_code, reason = "it is held")] Lock, #[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

/// Lets nobody else build for this board meanwhile: features make another kernel of the same name, and Linux is built in one place.
///
/// # Errors
/// If what is built cannot be written.
pub fn building() -> Result<Building> {
    static BUILDING: Mutex<()> = Mutex::new(());
    // In one process nobody is told of it.
    let here = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Building(Lock::of(&folder().join("building"))?, here))
}

/// What is in a folder, in the order of the names.
pub fn files(folder: impl AsRef<std::path::Path>) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.sort();
    Ok(found)
}
