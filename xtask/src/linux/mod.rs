// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux: the server, built from patched source; root file systems for it; Debian's packages and
//! disk.
//!
//! It owns `target/linux`. What is made here depends on the processor only, not on the system that
//! uses it. It does not know descriptions, emulators or tests.

mod busybox;
pub mod contents;
pub mod debian;
mod depends;
pub mod musl;
pub mod order;
pub mod packages;
mod patched;
pub mod programs;
mod recipes;
pub mod root;
pub mod server;

use crate::machine::board;
use crate::process::lock::Lock;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where what is built and fetched is kept, for the board if none is asked for.
pub const FOLDER: &str = "target/linux";

/// The same for the board that was chosen.
pub fn folder() -> PathBuf {
    let board = board::chosen();
    if board.is_default() { FOLDER.into() } else { Path::new(FOLDER).join(board.name()) }
}

/// What is built in one place of each board: by one at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Linux servers, some of which have a source tree together. Who wants both asks for this
    /// first.
    Linux,
    /// The kernel and components: features make another kernel of the same name. And root file
    /// systems.
    Components,
}

/// The right to build a part for the board that was chosen. Of each board one thread of all
/// processes has it.
pub struct Building(
    #[expect(dead_code, reason = "it is held")] Lock,
    #[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>,
);

/// Lets nobody else build this part for this board meanwhile.
///
/// # Errors
/// If what is built cannot be written.
pub fn building(part: Part) -> Result<Building> {
    static BUILDING: Mutex<BTreeMap<(String, Part), &'static Mutex<()>>> =
        Mutex::new(BTreeMap::new());
    let own: &'static Mutex<()> = {
        let mut all = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry((board::chosen().name(), part)).or_insert_with(|| Box::leak(Box::default()))
    };
    // In one process nobody is told of it.
    let here = own.lock().unwrap_or_else(PoisonError::into_inner);
    let name = match part {
        Part::Linux => "building-linux",
        Part::Components => "building",
    };
    Ok(Building(Lock::of(&folder().join(name))?, here))
}

/// What is in a folder, in the order of the names.
pub fn files(folder: impl AsRef<std::path::Path>) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.sort();
    Ok(found)
}
