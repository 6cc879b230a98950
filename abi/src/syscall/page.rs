// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the manual's pages of system calls are made of: the comments of the structures, line by
//! line, as they stand in the source.

use super::Op;

/// A group of operations.
#[derive(Debug)]
pub struct Group {
    /// What they are about.
    pub name: &'static str,
    /// Their pages, in the order of their numbers.
    pub pages: &'static [Page],
}

/// The page of an operation.
#[derive(Debug)]
pub struct Page {
    /// The operation.
    pub op: Op,
    /// The comment of its structure.
    pub text: &'static [&'static str],
    /// The fields of that.
    pub fields: &'static [Field],
}

/// An argument.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// How many of `a0` to `a3` it takes; they follow those of the field before it.
    pub words: usize,
    /// Its comment.
    pub text: &'static [&'static str],
}
