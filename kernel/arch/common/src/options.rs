// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's command line: words with blanks between them, some of them `NAME=VALUE`. A port
//! supplies its bytes. Each function reads all of them, and nothing is stored.

use crate::platform::{Platform, refuse};

/// The most bytes of a line that are read: no loader gives more.
const LONGEST: usize = 1 << 16;
/// The most bytes of a word that are kept: no word with a meaning has more.
const WORD: usize = 64;

/// A word.
struct Said {
    /// Its first bytes.
    bytes: [u8; WORD],
    /// How many bytes it has.
    length: usize,
}

impl Said {
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }

    /// What follows a name and `=`. It is empty if it is longer than any value with a meaning, or
    /// is not text.
    fn value(&self, name: &str) -> Option<&str> {
        let value = self.bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        let value = if self.length > WORD { &[] } else { value };
        Some(core::str::from_utf8(value).unwrap_or_default())
    }
}

/// The words of a line, which ends at a zero byte or with the last of its bytes.
fn words(line: impl Iterator<Item = u8>) -> impl Iterator<Item = Said> {
    let mut bytes = line.take(LONGEST).take_while(|byte| *byte != 0);
    core::iter::from_fn(move || {
        let first = bytes.find(|byte| !byte.is_ascii_whitespace())?;
        let rest = bytes.by_ref().take_while(|byte| !byte.is_ascii_whitespace());
        let mut said = Said { bytes: [0; WORD], length: 0 };
        for byte in core::iter::once(first).chain(rest) {
            if let Some(place) = said.bytes.get_mut(said.length) {
                *place = byte;
            }
            said.length += 1;
        }
        Some(said)
    })
}

/// Whether a line has a word that takes no value.
pub fn is_said(line: impl Iterator<Item = u8>, word: &str) -> bool {
    words(line).any(|said| said.bytes() == word.as_bytes())
}

/// The value that a user gave after `name` and `=`, as `parse` returns it, or `usual` without such
/// a word. If there are several, the first one is used. If `parse` does not accept a value, the
/// kernel prints that `name` takes `what`, and ends the machine.
pub fn chosen<P: Platform, T>(
    line: impl Iterator<Item = u8>,
    name: &str,
    usual: T,
    what: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> T {
    let Some(said) = words(line).find(|said| said.value(name).is_some()) else { return usual };
    said.value(name).and_then(parse).unwrap_or_else(|| {
        refuse::<P>(format_args!("the kernel's command line is wrong: {name}= takes {what}"))
    })
}

/// A number that `./macadamia` has to give, in the page before the boot image.
pub fn number<P: Platform>(line: impl Iterator<Item = u8>, name: &str) -> u32 {
    let value = words(line).find_map(|said| said.value(name)?.parse().ok());
    value.unwrap_or_else(|| {
        refuse::<P>(format_args!(
            "the page before the boot image does not say `{name}=NUMBER`: start the kernel by `./macadamia run`"
        ))
    })
}
