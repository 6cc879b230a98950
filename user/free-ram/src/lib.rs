// SPDX-License-Identifier: MIT OR Apache-2.0
//! Free RAM: ranges of physical addresses, of which pieces are taken and given back. Where a piece
//! begins can be asked for: at a multiple of something, or at frames of certain colours.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

use alloc::vec::Vec;

/// A range of RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// The area of RAM in which it lies: ranges of two areas are never one.
    pub area: u32,
    /// Its first physical address.
    pub start: u64,
    /// Its bytes.
    pub bytes: u64,
}

impl Range {
    const fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

/// The addresses at which a piece may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// One of them in each so many bytes, a power of two,
    pub period: u64,
    /// and so many bytes after the period's multiple: fewer than it has.
    pub phase: u64,
}

impl Place {
    /// Multiples of a power of two.
    #[must_use]
    pub const fn multiple(of: u64) -> Self {
        Self { period: of, phase: 0 }
    }

    /// The highest address of these at which so many bytes lie within a range.
    fn highest(self, bytes: u64, within: &Range) -> Option<u64> {
        let last = within.start + within.bytes.checked_sub(bytes)?;
        let start = (last.checked_sub(self.phase)? & !(self.period - 1)) + self.phase;
        (start >= within.start).then_some(start)
    }
}

/// What is free.
#[derive(Clone, Debug, Default)]
pub struct Free {
    /// Sorted; neighbours of one area are one.
    ranges: Vec<Range>,
}

impl Free {
    /// Nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { ranges: Vec::new() }
    }

    /// The ranges, sorted; none adjoins another one of its area.
    #[must_use]
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Takes a piece that begins at such a place: the highest of the last range that has one, as
    /// what devices can reach is to go last. None if there is no such piece, or of no bytes.
    pub fn take(&mut self, bytes: u64, place: Place) -> Option<Range> {
        let at = |free: &Range| place.highest(bytes, free).filter(|_| bytes > 0);
        let (index, start) =
            self.ranges.iter().enumerate().rev().find_map(|(i, free)| Some((i, at(free)?)))?;
        let free = self.ranges.remove(index);
        let piece = Range { start, bytes, ..free };
        let rest = [
            Range { bytes: start - free.start, ..free },
            Range { start: piece.end(), bytes: free.end() - piece.end(), ..free },
        ];
        self.ranges.splice(index..index, rest.into_iter().filter(|range| range.bytes > 0));
        Some(piece)
    }

    /// Takes so many bytes in pieces of `piece` bytes, of which the last may have fewer; each begins
    /// at such a place. None, and nothing is taken, if there are not as many.
    pub fn take_pieces(&mut self, bytes: u64, piece: u64, place: Place) -> Option<Vec<Range>> {
        let mut pieces = Vec::new();
        for (_, _, bytes) in parts(0, bytes, piece) {
            match self.take(bytes, place) {
                Some(taken) => pieces.push(taken),
                None => {
                    pieces.into_iter().for_each(|taken| self.give(taken));
                    return None;
                }
            }
        }
        Some(pieces)
    }

    /// Gives a range back, or gives one for the first time. None of it is free.
    pub fn give(&mut self, range: Range) {
        let index = self.ranges.partition_point(|other| *other < range);
        self.ranges.insert(index, range);
        self.ranges.dedup_by(|next, before| {
            let adjoins = before.area == next.area && before.end() == next.start;
            if adjoins {
                before.bytes += next.bytes;
            }
            adjoins
        });
    }
}

/// The parts of a range of memory that consists of pieces of `piece` bytes, more than 0: the piece's
/// number, and offset and bytes within it.
pub fn parts(offset: u64, bytes: u64, piece: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let end = offset + bytes;
    (offset / piece..end.div_ceil(piece)).filter_map(move |number| {
        let start = number * piece;
        let (from, to) = (offset.max(start), end.min(start + piece));
        (from < to).then_some((number, from - start, to - from))
    })
}
