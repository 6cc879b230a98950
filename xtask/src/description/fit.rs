// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduces the memory of a description that asks for more than its board has.

use super::check::LEAST_RAM;
use super::sources::{Sources, spanned};
use super::{Description as Described, written::Description};
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

impl Described {
    /// Whether it has as much memory as the board can have.
    pub(super) fn has_all_of(&self, board: &Board) -> Result<bool> {
        let Some(most) = &board.most else { return Ok(false) };
        let long = |size: &Spanned<String>| self.sources.long(size);
        Ok(long(&self.memory)? >= long(&spanned(most.memory.clone()))?)
    }

    /// What the screen takes that the board does not have is less for the component that has most
    /// after its image, if enough for a Linux is left.
    pub(super) fn fit_screen(&mut self, board: &Board) -> Result<()> {
        const MIB: u64 = 1 << 20;
        let (needed, room) = self.demand()?;
        let mut screen = 0;
        for (_, region) in self.shared.iter().filter(|(name, _)| name.starts_with("screen-")) {
            screen += u64::from(self.bytes(&region.size)?);
        }
        let excess = needed.saturating_sub(room);
        if excess == 0 || excess > screen || !self.has_all_of(board)? {
            return Ok(());
        }
        let mut largest = (0, None);
        for (index, component) in self.component.iter().enumerate() {
            for (piece, memory) in component.memory.iter().enumerate() {
                let bytes = u64::from(self.bytes(&memory.size)?);
                if memory.behind_image && bytes > largest.0 {
                    largest = (bytes, Some((index, piece)));
                }
            }
        }
        if let (bytes, Some((index, piece))) = largest
            && let less = bytes.saturating_sub(excess) / MIB * MIB
            && less >= LEAST_RAM.into()
        {
            *self.component[index].memory[piece].size.get_mut() = format!("{}M", less / MIB);
        }
        Ok(())
    }
}
