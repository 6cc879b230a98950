// SPDX-License-Identifier: MIT OR Apache-2.0
//! The documents as a book: docs/SUMMARY.md says in which order. Nothing is there twice: pages are
//! chapters as they are.
//!
//! A link leads to a page, with a heading's anchor or without, or to a file or folder of the tree.
//! If it is one to a file of source, its title is text that stands there:
//! `[`send`](../kernel/core/src/ipc.rs "fn send(")`. So a person who gives a thing that a page
//! explains another name finds the page. Titles that are quotes of numbers are those of `quotes`. A
//! block of code after a line `From [file](path):` is an excerpt of that file.

mod chapters;
mod excerpts;
mod links;
mod made;
mod sound;

pub use chapters::all;
pub use links::commands;
pub use made::{add_crates, document, make};
pub use sound::check;
