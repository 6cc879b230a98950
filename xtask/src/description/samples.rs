// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions that the tests of this folder read.

use super::{Description, parse as read};
use crate::machine::board::Board;
use anyhow::Result;
use std::path::Path;

/// A description for the PC, as the file x.toml.
pub fn parse(text: &str) -> Result<Description> {
    parse_for("pc", text)
}

/// The same for another board.
pub fn parse_for(board: &str, text: &str) -> Result<Description> {
    parse_on(&Path::new("../boards").join(board).with_extension("toml"), text)
}

/// The same for the board of a file.
pub fn parse_on(board: &Path, text: &str) -> Result<Description> {
    let board = Board::read(board)?;
    read(Path::new("x.toml"), text.into(), &board)
}

/// Why one is refused.
pub fn error(text: &str) -> String {
    parse(text).err().map_or_else(|| panic!("accepted: {text}"), |error| error.to_string())
}
