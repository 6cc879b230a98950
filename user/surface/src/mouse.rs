// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the bytes of a PS/2 mouse mean (IBM Personal System/2 Hardware Interface Technical
//! Reference, *Auxiliary device*), with the fourth byte of a mouse that has a wheel.

/// What a packet says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// To the right.
    pub right: i32,
    /// Down.
    pub down: i32,
    /// How far the wheel was turned, up if it is positive.
    pub wheel: i32,
    /// Whether left, right and middle button are down.
    pub buttons: [bool; 3],
}

/// In a packet's first byte: it is the first; signs; too far to be said.
const FIRST: u8 = 1 << 3;
const LEFT: u8 = 1 << 4;
const DOWN: u8 = 1 << 5;
const TOO_FAR: u8 = 3 << 6;

/// Reads packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mouse {
    bytes: [u8; 4],
    count: usize,
    length: usize,
}

impl Mouse {
    /// Of a mouse with a wheel, or without.
    #[must_use]
    pub const fn new(has_wheel: bool) -> Self {
        Self { bytes: [0; 4], count: 0, length: if has_wheel { 4 } else { 3 } }
    }

    /// Takes a byte. A packet, if it was the last one of it. What cannot be the first byte of one is
    /// passed over.
    pub fn take(&mut self, byte: u8) -> Option<Moved> {
        if self.count == 0 && byte & FIRST == 0 {
            return None;
        }
        self.bytes[self.count] = byte;
        self.count += 1;
        if self.count < self.length {
            return None;
        }
        self.count = 0;
        let [first, right, up, wheel] = self.bytes;
        let signed = |byte: u8, sign: u8| i32::from(byte) - if first & sign == 0 { 0 } else { 256 };
        let (right, up) =
            if first & TOO_FAR == 0 { (signed(right, LEFT), signed(up, DOWN)) } else { (0, 0) };
        // Four bits are the wheel's, with their sign; some mice have buttons in the others.
        let wheel = if self.length == 4 { i32::from((wheel << 4) as i8 >> 4) } else { 0 };
        let buttons = [0, 1, 2].map(|bit| first >> bit & 1 != 0);
        Some(Moved { right, down: -up, wheel: -wheel, buttons })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn packets(has_wheel: bool, bytes: &[u8]) -> Vec<Moved> {
        let mut mouse = Mouse::new(has_wheel);
        bytes.iter().filter_map(|byte| mouse.take(*byte)).collect()
    }

    #[test]
    fn packets_are_read() {
        let still = Moved { right: 0, down: 0, wheel: 0, buttons: [false; 3] };
        assert_eq!(packets(false, &[0x08, 50, 0xec]), [Moved { right: 50, down: -236, ..still }]);
        let moved = Moved { right: -1, down: 20, buttons: [true, false, true], ..still };
        assert_eq!(packets(false, &[0x3d, 0xff, 0xec]), [moved]);
        // Too far to be said, and an answer to a command that nobody has taken.
        assert_eq!(packets(false, &[0x00, 0x48, 1, 1]), [still]);
        let turned = |wheel| Moved { wheel, ..still };
        assert_eq!(packets(true, &[8, 0, 0, 0xff, 8, 0, 0, 1]), [turned(1), turned(-1)]);
    }
}
