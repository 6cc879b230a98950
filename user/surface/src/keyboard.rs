// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the bytes of a keyboard mean, as codes of Linux: set 1, which the controller of a PC makes
//! of set 2, and set 2, which keyboards send (IBM Personal System/2 Hardware Interface Technical
//! Reference, *Keyboards*).

/// A key is pressed, or released.
pub type Key = (u16, bool);

/// After a byte 0xe0.
const LONG: u8 = 0xe0;
/// The key Pause begins so, and has nothing else with it.
const PAUSE: u8 = 0xe1;
/// In set 1: the key is released.
const RELEASED: u8 = 0x80;
/// In set 2: before the byte of a key that is released.
const BREAK: u8 = 0xf0;
/// Codes of Linux.
const KEY_PAUSE: u16 = 119;

/// What has come of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Begun {
    #[default]
    Nothing,
    Long,
    /// The first byte of Pause; and of the two that follow, the first.
    Pause(u8),
}

/// The code of a key whose byte in set 1 is this one.
const fn code(byte: u8) -> Option<u16> {
    Some(match byte {
        // Linux has its codes from here.
        1..=0x53 | 0x56..=0x58 => byte as u16,
        0x54 => 99,
        0x59 => 117,
        0x70 => 93,
        0x73 => 89,
        0x79 => 92,
        0x7b => 94,
        0x7d => 124,
        0x7e => 121,
        _ => return None,
    })
}

/// The same after 0xe0.
const fn long_code(byte: u8) -> Option<u16> {
    Some(match byte {
        0x1c => 96,
        0x1d => 97,
        0x20 => 113,
        0x2e => 114,
        0x30 => 115,
        0x35 => 98,
        0x37 => 99,
        0x38 => 100,
        0x46 => KEY_PAUSE,
        0x47..=0x49 => byte as u16 - 0x47 + 102,
        0x4b => 105,
        0x4d => 106,
        0x4f..=0x53 => byte as u16 - 0x4f + 107,
        0x5b..=0x5d => byte as u16 - 0x5b + 125,
        0x5e => 116,
        0x5f => 142,
        0x63 => 143,
        // Among them the shift keys that a keyboard adds to others for old programs.
        _ => return None,
    })
}

/// Reads set 1.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Set1 {
    begun: Begun,
}

impl Set1 {
    /// Takes a byte. A key, if it was the last one of its sequence.
    pub fn take(&mut self, byte: u8) -> Option<Key> {
        let (begun, pressed) = (core::mem::take(&mut self.begun), byte & RELEASED == 0);
        match (begun, byte) {
            (Begun::Nothing, LONG) => self.begun = Begun::Long,
            (Begun::Nothing, PAUSE) => self.begun = Begun::Pause(0),
            (Begun::Pause(0), _) => self.begun = Begun::Pause(byte),
            (Begun::Pause(first), _) => return Some((KEY_PAUSE, first & RELEASED == 0)),
            (Begun::Nothing, _) => return code(byte & !RELEASED).map(|code| (code, pressed)),
            (Begun::Long, _) => return long_code(byte & !RELEASED).map(|code| (code, pressed)),
        }
        None
    }
}

/// The byte of set 1 for each of set 2, as the controller of a PC has it; 0 is none.
const OF_SET_2: [u8; 0x85] = [
    0, 0x43, 0, 0x3f, 0x3d, 0x3b, 0x3c, 0x58, 0x64, 0x44, 0x42, 0x40, 0x3e, 0x0f, 0x29,
    0x59, //
    0x65, 0x38, 0x2a, 0x70, 0x1d, 0x10, 0x02, 0x5a, 0x66, 0x71, 0x2c, 0x1f, 0x1e, 0x11, 0x03, 0x5b,
    0x67, 0x2e, 0x2d, 0x20, 0x12, 0x05, 0x04, 0x5c, 0x68, 0x39, 0x2f, 0x21, 0x14, 0x13, 0x06, 0x5d,
    0x69, 0x31, 0x30, 0x23, 0x22, 0x15, 0x07, 0x5e, 0x6a, 0x72, 0x32, 0x24, 0x16, 0x08, 0x09, 0x5f,
    0x6b, 0x33, 0x25, 0x17, 0x18, 0x0b, 0x0a, 0x60, 0x6c, 0x34, 0x35, 0x26, 0x27, 0x19, 0x0c, 0x61,
    0x6d, 0x73, 0x28, 0x74, 0x1a, 0x0d, 0x62, 0x6e, 0x3a, 0x36, 0x1c, 0x1b, 0x75, 0x2b, 0x63, 0x76,
    0x55, 0x56, 0x77, 0x78, 0x79, 0x7a, 0x0e, 0x7b, 0x7c, 0x4f, 0x7d, 0x4b, 0x47, 0x7e, 0x7f, 0x6f,
    0x52, 0x53, 0x50, 0x4c, 0x4d, 0x48, 0x01, 0x45, 0x57, 0x4e, 0x51, 0x4a, 0x37, 0x49, 0x46, 0x54,
    0, 0, 0, 0x41, 0x54,
];

/// Reads set 2.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Set2 {
    translated: Set1,
    is_break: bool,
}

impl Set2 {
    /// Takes a byte. A key, if it was the last one of its sequence.
    pub fn take(&mut self, byte: u8) -> Option<Key> {
        if byte == BREAK {
            self.is_break = true;
            return None;
        }
        if byte == LONG || byte == PAUSE {
            self.is_break = false;
            return self.translated.take(byte);
        }
        let released = if core::mem::take(&mut self.is_break) { RELEASED } else { 0 };
        match OF_SET_2.get(usize::from(byte)).filter(|byte| **byte != 0) {
            Some(byte) => self.translated.take(byte | released),
            None => {
                self.translated = Set1::default();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn set1(bytes: &[u8]) -> Vec<Key> {
        let mut set = Set1::default();
        bytes.iter().filter_map(|byte| set.take(*byte)).collect()
    }

    fn set2(bytes: &[u8]) -> Vec<Key> {
        let mut set = Set2::default();
        bytes.iter().filter_map(|byte| set.take(*byte)).collect()
    }

    #[test]
    fn both_sets_say_the_same() {
        let (a, left_ctrl, f12, f7, left, enter) = (30, 29, 88, 65, 105, 96);
        assert_eq!(set1(&[0x1e, 0x9e]), [(a, true), (a, false)]);
        assert_eq!(set2(&[0x1c, 0xf0, 0x1c]), [(a, true), (a, false)]);
        assert_eq!(set1(&[0x1d, 0x58, 0xd8, 0x9d]).len(), 4);
        assert_eq!(set2(&[0x14, 0x07, 0xf0, 0x07]), [(left_ctrl, true), (f12, true), (f12, false)]);
        assert_eq!(set2(&[0x83, 0xf0, 0x83]), [(f7, true), (f7, false)]);
        assert_eq!(set1(&[0xe0, 0x4b, 0xe0, 0xcb]), [(left, true), (left, false)]);
        assert_eq!(set2(&[0xe0, 0x6b, 0xe0, 0xf0, 0x6b]), [(left, true), (left, false)]);
        assert_eq!(set2(&[0xe0, 0x5a]), [(enter, true)]);
        let pause = [(KEY_PAUSE, true), (KEY_PAUSE, false)];
        assert_eq!(set1(&[0xe1, 0x1d, 0x45, 0xe1, 0x9d, 0xc5]), pause);
        assert_eq!(set2(&[0xe1, 0x14, 0x77, 0xe1, 0xf0, 0x14, 0xf0, 0x77]), pause);
        // Print: with a shift that no key was pressed for.
        assert_eq!(
            set1(&[0xe0, 0x2a, 0xe0, 0x37, 0xe0, 0xb7, 0xe0, 0xaa]),
            [(99, true), (99, false)]
        );
    }

    #[test]
    fn every_byte_of_set_2_is_one_of_set_1() {
        let mut codes: Vec<u16> =
            (0..=0x84).filter_map(|byte| set2(&[byte]).first().map(|key| key.0)).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        // System request has two.
        assert_eq!(codes.len(), count - 1);
        // All keys of Linux's first row of codes can be typed.
        assert!((1..=88).filter(|code| ![84, 85].contains(code)).all(|code| codes.contains(&code)));
    }

    #[test]
    fn any_bytes_are_survived() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let (mut one, mut two) = (Set1::default(), Set2::default());
                for byte in [first, second, first] {
                    let keys = [one.take(byte), two.take(byte)];
                    assert!(keys.into_iter().flatten().all(|(code, _)| code > 0 && code < 256));
                }
            }
        }
    }
}
