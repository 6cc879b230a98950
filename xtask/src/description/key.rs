// SPDX-License-Identifier: MIT OR Apache-2.0
//! A key of a component that says whether it has something of the board's, or which part of it:
//! `net = true`, `disk = { partition = 2 }`.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// What may stand in the braces.
pub trait Braces {
    /// The forms that the key has, for who writes another.
    const FORMS: &'static str;
}

/// The value of such a key.
pub enum Key<T> {
    /// None: as if the key were absent.
    No,
    /// What there is.
    Yes,
    /// What is written in the braces.
    With(T),
}

impl<'de, T: Deserialize<'de> + Braces> Deserialize<'de> for Key<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Value<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + Braces> Visitor<'de> for Value<T> {
            type Value = Key<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::FORMS)
            }

            fn visit_bool<E>(self, yes: bool) -> Result<Key<T>, E> {
                Ok(if yes { Key::Yes } else { Key::No })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Key<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Key::With)
            }
        }

        deserializer.deserialize_any(Value(PhantomData))
    }
}
