// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a client makes messages of.

use crate::message::HEADER;
use alloc::vec::Vec;

/// A text: how many bytes it has, and these.
#[must_use]
pub fn text(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u16).to_le_bytes()[..], text].concat()
}

/// A message of this type with this tag and these fields.
#[must_use]
pub fn message(kind: u8, tag: u16, fields: &[&[u8]]) -> Vec<u8> {
    let fields = fields.concat();
    let size = HEADER + fields.len() as u32;
    let head = [&size.to_le_bytes()[..], &[kind], &tag.to_le_bytes()].concat();
    [head, fields].concat()
}
