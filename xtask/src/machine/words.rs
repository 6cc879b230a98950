// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's command line: the word for `--spaces`, and those of `--words`.

use super::spaces;
use anyhow::{Context, Result};
use std::cell::RefCell;
use std::sync::OnceLock;

static CHOSEN: OnceLock<String> = OnceLock::new();

/// Says these words to the kernel of each system that this command runs.
///
/// # Errors
/// If some were chosen before.
pub fn choose(words: Option<&str>) -> Result<()> {
    let Some(words) = words else { return Ok(()) };
    CHOSEN.set(words.into()).ok().context("--words was chosen before")
}

thread_local! {
    /// For what this thread runs, beside what was chosen.
    static HERE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Says these words, too, to the kernel of each system that `what` runs on this thread.
pub fn with<T>(words: &str, what: impl FnOnce() -> T) -> T {
    let before = HERE.replace(words.into());
    let result = what();
    HERE.set(before);
    result
}

/// The kernel's command line.
pub fn words() -> String {
    let here = HERE.with_borrow(Clone::clone);
    let parts = [spaces::words(), CHOSEN.get().map_or("", String::as_str), &here];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
