// SPDX-License-Identifier: MIT OR Apache-2.0
//! A description that asks for more memory than its board has gets what there is.

use super::sources::{Sources, spanned};
use super::written::Description;
use crate::machine::board::Board;
use anyhow::Result;
use toml::Spanned;

impl Description {
    /// Asks for no more memory than the board has.
    pub(super) fn fit(&mut self, board: &Board, sources: &Sources) -> Result<()> {
        let Some(most) = &board.most else { return Ok(()) };
        let limit = |size: &Spanned<String>, most: &String| -> Result<Option<String>> {
            let is_more = sources.long(size)? > sources.long(&spanned(most.clone()))?;
            Ok(is_more.then(|| most.clone()))
        };
        let memory = limit(&self.memory, &most.memory)?;
        let mut pieces = Vec::new();
        for (index, component) in self.component.iter().enumerate() {
            for (piece, _) in
                component.memory.iter().enumerate().filter(|(_, piece)| piece.behind_image)
            {
                let less = limit(&component.memory[piece].size, &most.linux)?;
                pieces.extend(less.map(|less| (index, piece, less)));
            }
        }
        if let Some(memory) = memory {
            *self.memory.get_mut() = memory;
        }
        for (component, piece, less) in pieces {
            *self.component[component].memory[piece].size.get_mut() = less;
        }
        Ok(())
    }
}
