// SPDX-License-Identifier: MIT OR Apache-2.0
//! The documents as a book; docs/SUMMARY.md has the order. Nothing is there twice: the pages
//! themselves are the chapters.
//!
//! A link leads to a page, with a heading's anchor or without one, or to a file or folder of the
//! tree. If it leads to a file of source, its title is text of that file:
//! `[`send`](../kernel/core/src/ipc.rs "fn send(")`. So if a name changes in the source, the check
//! finds the page that explains it. Titles that are quotes of numbers belong to `quotes`. A block
//! of code after a line `From [file](path):` is an excerpt of that file.
//!
//! This module owns docs/book, and what a page may contain. It does not know which tests there are:
//! `test` checks the commands of pages.

mod chapters;
mod crates;
mod excerpts;
mod links;
mod made;
mod sound;

pub use chapters::all;
pub use crates::{add as add_crates, document, document_boards};
pub use links::commands;
pub use made::make;
pub use sound::check;
