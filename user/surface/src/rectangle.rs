// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rectangles of pixels.

/// A rectangle whose right and lower edge are below 2^32: what others say becomes one by
/// [`Rectangle::of_words`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rectangle {
    /// Its first column.
    pub x: u32,
    /// Its first row.
    pub y: u32,
    /// Its columns.
    pub width: u32,
    /// Its rows.
    pub height: u32,
}

impl Rectangle {
    /// From the upper left corner on.
    #[must_use]
    pub const fn of_size(width: u32, height: u32) -> Self {
        Self { x: 0, y: 0, width, height }
    }

    /// The part of a rectangle that lies in a surface of this size: x, y, width and height are any
    /// words. Empty if there is none.
    #[must_use]
    pub fn of_words([x, y, width, height]: [u32; 4], surface: [u32; 2]) -> Self {
        let (Some(columns), Some(rows)) = (surface[0].checked_sub(x), surface[1].checked_sub(y))
        else {
            return Self::default();
        };
        Self { x, y, width: width.min(columns), height: height.min(rows) }
    }

    /// As [`Rectangle::of_words`] reads it.
    #[must_use]
    pub const fn words(self) -> [u32; 4] {
        [self.x, self.y, self.width, self.height]
    }

    /// Whether it has no pixel.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// How many pixels it has.
    #[must_use]
    pub const fn pixels(self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// The column after its last one.
    #[must_use]
    pub const fn right(self) -> u32 {
        self.x.saturating_add(self.width)
    }

    /// The row after its last one.
    #[must_use]
    pub const fn bottom(self) -> u32 {
        self.y.saturating_add(self.height)
    }

    /// Whether a pixel is in it.
    #[must_use]
    pub const fn contains(self, x: u32, y: u32) -> bool {
        x >= self.x && x < self.right() && y >= self.y && y < self.bottom()
    }

    const fn of_edges(x: u32, y: u32, right: u32, bottom: u32) -> Self {
        Self { x, y, width: right.saturating_sub(x), height: bottom.saturating_sub(y) }
    }

    /// What both have.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        let both = Self::of_edges(
            self.x.max(other.x),
            self.y.max(other.y),
            self.right().min(other.right()),
            self.bottom().min(other.bottom()),
        );
        if both.is_empty() { Self::default() } else { both }
    }

    /// The smallest one that has both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Self::of_edges(
            self.x.min(other.x),
            self.y.min(other.y),
            self.right().max(other.right()),
            self.bottom().max(other.bottom()),
        )
    }

    /// What it has and the other has not: at most four, some of which may be empty.
    #[must_use]
    pub fn without(self, other: Self) -> [Self; 4] {
        let hole = self.intersection(other);
        if hole.is_empty() {
            return [self, Self::default(), Self::default(), Self::default()];
        }
        let (right, bottom) = (self.right(), self.bottom());
        [
            Self::of_edges(self.x, self.y, right, hole.y),
            Self::of_edges(self.x, hole.y, hole.x, hole.bottom()),
            Self::of_edges(hole.right(), hole.y, right, hole.bottom()),
            Self::of_edges(self.x, hole.bottom(), right, bottom),
        ]
    }

    /// The same, so much further right and down.
    #[must_use]
    pub const fn moved(self, x: u32, y: u32) -> Self {
        Self { x: self.x.saturating_add(x), y: self.y.saturating_add(y), ..self }
    }
}
