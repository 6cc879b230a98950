// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a card shows.

use alloc::format;
use alloc::string::String;

/// A mode of a card, or the most of each that it can.
pub struct Mode {
    /// Pixels in a row, and rows.
    pub size: [u32; 2],
    /// Bits of a pixel.
    pub bits: u32,
}

impl Mode {
    /// Whether a card that shows this at most shows the other.
    ///
    /// # Errors
    /// A sentence that says that it does not.
    pub fn shows(&self, wanted: &Self) -> Result<(), String> {
        let ([most, rows], [width, height]) = (self.size, wanted.size);
        if width <= most && height <= rows && wanted.bits <= self.bits {
            return Ok(());
        }
        Err(format!(
            "the card shows {most}x{rows} with {} bits at most, and no {width}x{height} with {}",
            self.bits, wanted.bits
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_shows_no_more_than_it_can() {
        let mode = |size, bits| Mode { size, bits };
        let wanted = mode([1024, 768], 32);
        assert_eq!(wanted.shows(&wanted), Ok(()));
        assert_eq!(mode([2560, 1600], 32).shows(&wanted), Ok(()));
        // Too few bits; too narrow; too low.
        for most in [mode([1024, 768], 8), mode([1023, 768], 32), mode([1024, 767], 32)] {
            assert!(most.shows(&wanted).is_err());
        }
        assert_eq!(
            mode([720, 480], 8).shows(&wanted).expect_err("too much"),
            "the card shows 720x480 with 8 bits at most, and no 1024x768 with 32"
        );
    }
}
