// SPDX-License-Identifier: MIT OR Apache-2.0
//! The places of mistakes: the text of a description and of its board's file, and errors with file
//! and line.

use crate::catalogue::near;
use anyhow::{Result, anyhow};
use std::path::PathBuf;
use toml::Spanned;

/// Where a description comes from: its file, and its board's. An offset in the second counts from
/// the end of the first.
#[derive(Default)]
pub(super) struct Sources(pub(super) [(PathBuf, String); 2]);

/// What is wrong, and its offset in the sources.
pub(super) type Mistake = (usize, String);

impl Sources {
    /// An error with file and line.
    pub(super) fn wrong(&self, (offset, what): Mistake) -> anyhow::Error {
        let [(file, text), (board, board_text)] = &self.0;
        let (file, text, offset) = match offset.checked_sub(text.len() + 1) {
            None => (file, text, offset),
            Some(offset) => (board, board_text, offset),
        };
        let line = text.get(..offset).map_or(1, |before| before.matches('\n').count() + 1);
        anyhow!("{}:{line}: {what}", file.display())
    }

    /// The same of a value.
    pub(super) fn wrong_at<T>(&self, at: &Spanned<T>, what: &str) -> anyhow::Error {
        self.wrong((at.span().start, what.into()))
    }

    /// A size that is below 4 GiB.
    pub(super) fn bytes(&self, size: &Spanned<String>) -> Result<u32> {
        u32::try_from(self.long(size)?).map_err(|_| {
            self.wrong_at(size, &format!("`{}` is 4 GiB or more: write less", size.get_ref()))
        })
    }

    /// A size such as `64K` or `2T`, a multiple of a page.
    pub(super) fn long(&self, size: &Spanned<String>) -> Result<u64> {
        let text = size.get_ref();
        let (digits, shift) = match text.as_bytes().last() {
            Some(b'K') => (&text[..text.len() - 1], 10),
            Some(b'M') => (&text[..text.len() - 1], 20),
            Some(b'G') => (&text[..text.len() - 1], 30),
            Some(b'T') => (&text[..text.len() - 1], 40),
            _ => (text.as_str(), 0),
        };
        let value = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
        value.filter(|v| v.is_multiple_of(abi::PAGE_SIZE.into())).ok_or_else(|| {
            self.wrong_at(
                size,
                &format!("`{text}` is no size: write a multiple of 4096, as a number or with K, M, G or T after it (`64K`, `2M`)"),
            )
        })
    }

    /// A mistake of a value, with its key if the value is wrong, and not the key.
    pub(super) fn with_key(&self, (offset, what): Mistake) -> Mistake {
        let [(_, text), (_, board_text)] = &self.0;
        let before = offset
            .checked_sub(text.len() + 1)
            .map_or_else(|| text.get(..offset), |offset| board_text.get(..offset));
        let left = before.and_then(|before| before.trim_end().strip_suffix('=')).map(str::trim_end);
        let key = left.and_then(|left| {
            left.rsplit(|char: char| !char.is_alphanumeric() && !"-_".contains(char)).next()
        });
        // Keys that have several forms name themselves.
        let is_named = |key: &str| what.contains(&format!("`{key} = "));
        match key.filter(|key| !key.is_empty() && what.starts_with("invalid ") && !is_named(key)) {
            Some(key) => (offset, format!("`{key}`: {what}")),
            None => (offset, what),
        }
    }

    /// The lines of the comment at the description's head.
    pub(super) fn comment(&self) -> impl Iterator<Item = &str> {
        self.0[0].1.lines().take_while(|line| line.starts_with('#'))
    }
}

/// What TOML's reader found.
pub(super) fn wrong_toml(error: &toml::de::Error) -> Mistake {
    let said = plain(error.message());
    (error.span().map_or(0, |span| span.start), format!("{said}{}", nearest(&said)))
}

/// What is said of a number's range, without names of Rust's types.
fn plain(message: &str) -> String {
    // Of all enumerations only what happens at a death has a choice with keys of its own.
    if message == "invalid type: unit variant, expected struct variant" {
        return "invalid value: a restart has two delays: write `on-death = { restart = { first-ms = 10, most-ms = 1000 } }`".into();
    }
    let ranges = [("u8", u32::from(u8::MAX)), ("u16", u32::from(u16::MAX)), ("u32", u32::MAX)];
    let found = ranges.iter().find_map(|(name, most)| {
        Some((message.strip_suffix(name)?.strip_suffix("expected ")?, most))
    });
    found.map_or_else(
        || message.into(),
        |(rest, most)| format!("{rest}expected a whole number from 0 to {most}"),
    )
}

/// A value of the place where a key stands from which it follows.
pub(super) fn at<K, T>(key: &Spanned<K>, value: T) -> Spanned<T> {
    Spanned::new(key.span(), value)
}

/// A value that stands in no file.
pub(super) fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// For an unknown key: the known one that it is most like, as a sentence.
fn nearest(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(unknown) = names.next().filter(|_| message.starts_with("unknown")) else {
        return String::new();
    };
    near(unknown, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
