// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bytes that keys type on an American keyboard. Keys have Linux's codes
//! (`linux/input-event-codes.h`).

/// Without and with shift, from the key of the digit 1 on: rows of a keyboard, of which the letters
/// begin at [`Q`], [`A`] and [`Z`].
const DIGITS: (&[u8], &[u8]) = (b"1234567890-=\x7f\t", b"!@#$%^&*()_+\x7f\t");
const UPPER: (&[u8], &[u8]) = (b"qwertyuiop[]\r", b"QWERTYUIOP{}\r");
const MIDDLE: (&[u8], &[u8]) = (b"asdfghjkl;'`", b"ASDFGHJKL:\"~");
const LOWER: (&[u8], &[u8]) = (b"\\zxcvbnm,./", b"|ZXCVBNM<>?");
const DIGIT_1: u16 = 2;
const Q: u16 = 16;
const A: u16 = 30;
/// The backslash comes before it.
const Z: u16 = 44;
const SPACE: u16 = 57;
const KEYPAD_ENTER: u16 = 96;
const CONTROLS: [u16; 2] = [29, 97];
const SHIFTS: [u16; 2] = [42, 54];
/// Keys that type a sequence.
const LONG: [(u16, &[u8]); 7] = [
    (1, b"\x1b"),
    (102, b"\x1b[H"),
    (103, b"\x1b[A"),
    (105, b"\x1b[D"),
    (106, b"\x1b[C"),
    (108, b"\x1b[B"),
    (111, b"\x1b[3~"),
];

/// Which keys are down that change what others type.
#[derive(Clone, Copy, Default, Debug)]
pub struct Typist {
    shift: [bool; 2],
    control: [bool; 2],
    typed: [u8; 1],
}

impl Typist {
    /// A key is pressed, or released. What that types.
    pub fn take(&mut self, code: u16, pressed: bool) -> &[u8] {
        for (keys, down) in [(SHIFTS, &mut self.shift), (CONTROLS, &mut self.control)] {
            for (key, down) in keys.into_iter().zip(down) {
                if key == code {
                    *down = pressed;
                }
            }
        }
        if !pressed {
            return &[];
        }
        if let Some((_, bytes)) = LONG.iter().find(|(key, _)| *key == code) {
            return bytes;
        }
        let Some(byte) = self.byte(code) else { return &[] };
        // As ASCII has it: the letter's number.
        let control = self.control.contains(&true) && (b'@'..=b'~').contains(&byte);
        self.typed = [if control { byte & 0x1f } else { byte }];
        &self.typed
    }

    fn byte(self, code: u16) -> Option<u8> {
        if code == SPACE {
            return Some(b' ');
        }
        if code == KEYPAD_ENTER {
            return Some(b'\r');
        }
        let rows = [(DIGIT_1, DIGITS), (Q, UPPER), (A, MIDDLE), (Z - 1, LOWER)];
        rows.into_iter().find_map(|(first, (plain, shifted))| {
            let row = if self.shift.contains(&true) { shifted } else { plain };
            row.get(usize::from(code.checked_sub(first)?)).copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn keys_type() {
        let mut typist = Typist::default();
        let mut typed = |keys: &[(u16, bool)]| -> Vec<u8> {
            keys.iter().flat_map(|(code, pressed)| typist.take(*code, *pressed).to_vec()).collect()
        };
        assert_eq!(typed(&[(30, true), (30, false), (2, true), (57, true), (28, true)]), b"a1 \r");
        assert_eq!(typed(&[(42, true), (44, true), (11, true), (42, false), (53, true)]), b"Z)/");
        assert_eq!(
            typed(&[(29, true), (46, true), (20, true), (57, true), (29, false)]),
            b"\x03\x14 "
        );
        assert_eq!(
            typed(&[(103, true), (14, true), (59, true), (0, true), (u16::MAX, true)]),
            b"\x1b[A\x7f"
        );
        assert_eq!(typed(&[(43, true), (41, true), (40, true), (27, true), (13, true)]), b"\\`']=");
    }
}
