// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a description says about a component's disk: `disk = true`, or which part of it.

use super::key::Braces;
use serde::Deserialize;
use toml::Spanned;

/// A part of a disk, or all of a named one.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The device, if it is not `disk`.
    pub(super) device: Option<Spanned<String>>,
    /// A partition of its GPT, counted from 1.
    pub(super) partition: Option<Spanned<u32>>,
    /// Where the part begins.
    pub(super) first: Option<Spanned<String>>,
    /// Bytes of the part.
    pub(super) size: Option<Spanned<String>>,
}

impl Braces for Part {
    const FORMS: &'static str = "`disk = true`, `disk = { partition = 1 }`, or `disk = { first = \"32M\", size = \"64M\" }`";
}
