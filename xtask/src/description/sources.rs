// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where mistakes are: the text of a description and of its board, and errors with file and line.

use crate::catalogue::near;
use anyhow::anyhow;
use std::path::PathBuf;
use toml::Spanned;

/// Where a description comes from: its file, and its board's. An offset in the second counts from the end of the
/// first.
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

    /// The lines of the comment at the description's head.
    pub(super) fn comment(&self) -> impl Iterator<Item = &str> {
        self.0[0].1.lines().take_while(|line| line.starts_with('#'))
    }
}

/// What TOML's reader found.
pub(super) fn wrong_toml(error: &toml::de::Error) -> Mistake {
    (error.span().map_or(0, |span| span.start), format!("{}{}", error.message(), nearest(error.message())))
}

/// A value that stands in no file.
pub(super) fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// For an unknown key: the known one that it is most like, as a sentence.
fn nearest(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(unknown) = names.next().filter(|_| message.starts_with("unknown")) else { return String::new() };
    near(unknown, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
