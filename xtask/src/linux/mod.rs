// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux: the server, built of patched source; root file systems for it; Debian's packages and its disk. What
//! is made here is the same on every machine that runs it.

pub mod debian;
pub mod musl;
pub mod packages;
mod patched;
pub mod root;
pub mod server;

use anyhow::Result;
use std::path::PathBuf;

/// Where what is built and fetched is kept.
pub const FOLDER: &str = "target/linux";
/// What is in a folder, in the order of the names.
pub fn files(folder: impl AsRef<std::path::Path>) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.sort();
    Ok(found)
}
