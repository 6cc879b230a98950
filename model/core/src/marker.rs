// SPDX-License-Identifier: MIT OR Apache-2.0
//! Markers: instructions of user code that enclose what is to be measured. Each processor has its
//! own encoding of them.

/// What a marker says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marker {
    /// The interval with this number begins.
    Begin(u16),
    /// It begins, and is declared free of switches of spaces and of flushes.
    BeginFree(u16),
    /// The interval with this number ends.
    End(u16),
    /// A program begins a case: two registers have the address and the bytes of its name.
    Case,
    /// A kind that this version does not know, and the interval's number.
    Unknown(u8, u16),
}

impl Marker {
    /// The marker packed in a word, which [`unpack`](Self::unpack) reads. Interval numbers are
    /// below 4096, kinds below 16.
    #[must_use]
    pub const fn pack(self) -> u32 {
        let (variant, kind, id) = match self {
            Self::Begin(id) => (0, 0, id),
            Self::BeginFree(id) => (1, 0, id),
            Self::End(id) => (2, 0, id),
            Self::Case => (3, 0, 0),
            Self::Unknown(kind, id) => (4, kind, id),
        };
        variant << 16 | (kind as u32) << 12 | id as u32
    }

    /// The marker that is packed in a word.
    #[must_use]
    pub const fn unpack(word: u32) -> Self {
        let id = (word & 0xfff) as u16;
        match word >> 16 {
            0 => Self::Begin(id),
            1 => Self::BeginFree(id),
            2 => Self::End(id),
            3 => Self::Case,
            _ => Self::Unknown((word >> 12 & 15) as u8, id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Marker;

    #[test]
    fn a_packed_marker_is_the_same() {
        for marker in [
            Marker::Begin(0xabc),
            Marker::BeginFree(1),
            Marker::End(7),
            Marker::Case,
            Marker::Unknown(9, 7),
        ] {
            assert_eq!(Marker::unpack(marker.pack()), marker);
        }
    }
}
