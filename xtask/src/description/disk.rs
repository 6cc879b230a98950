// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a description says of a component's disk: `disk = true`, or which part.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;
use toml::Spanned;

/// The key `disk` of a component.
pub enum Use {
    /// None: as if the key were absent.
    No,
    /// All of the device `disk`.
    Whole,
    /// What is written in the braces.
    Part(Part),
}

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

impl<'de> Deserialize<'de> for Use {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Value;

        impl<'de> Visitor<'de> for Value {
            type Value = Use;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`disk = true`, `disk = { partition = 1 }`, or `disk = { first = \"32M\", size = \"64M\" }`")
            }

            fn visit_bool<E>(self, yes: bool) -> Result<Use, E> {
                Ok(if yes { Use::Whole } else { Use::No })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Use, A::Error> {
                Part::deserialize(MapAccessDeserializer::new(map)).map(Use::Part)
            }
        }

        deserializer.deserialize_any(Value)
    }
}
