// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of characters. Of the control sequences of terminals (ECMA-48) those are obeyed that a shell
//! cannot do without; the others are left out.

use alloc::vec;
use alloc::vec::Vec;

const BLANK: u8 = b' ';
const ESCAPE: u8 = 0x1b;
/// Where what is shown is not known.
const UNKNOWN: u8 = 0;

/// How far a control sequence is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sequence {
    None,
    Begun,
    /// Escape and a bracket; a number so far.
    Long(usize),
}

/// Characters in rows, and which of them are shown already.
#[derive(Clone, Debug)]
pub struct Page {
    columns: usize,
    cells: Vec<u8>,
    shown: Vec<u8>,
    column: usize,
    row: usize,
    sequence: Sequence,
    /// Where the cursor was shown, and whether anything was taken since.
    marked: usize,
    has_changed: bool,
}

impl Page {
    /// A blank page, at least one row of one character, that is shown as such.
    #[must_use]
    pub fn new(columns: usize, rows: usize) -> Self {
        let (columns, rows) = (columns.max(1), rows.max(1));
        let cells = vec![BLANK; columns * rows];
        let shown = cells.clone();
        let sequence = Sequence::None;
        Self { columns, cells, shown, column: 0, row: 0, sequence, marked: 0, has_changed: true }
    }

    const fn rows(&self) -> usize {
        self.cells.len() / self.columns
    }

    /// Column and row of the next character.
    #[must_use]
    pub fn cursor(&self) -> (usize, usize) {
        (self.column.min(self.columns - 1), self.row)
    }

    fn down(&mut self) {
        if self.row + 1 < self.rows() {
            self.row += 1;
            return;
        }
        self.cells.copy_within(self.columns.., 0);
        self.blank(self.rows() - 1, 0);
    }

    /// Nothing is in a row from a column on.
    fn blank(&mut self, row: usize, column: usize) {
        let (first, end) = (row * self.columns + column, (row + 1) * self.columns);
        self.cells.get_mut(first..end).into_iter().for_each(|cells| cells.fill(BLANK));
    }

    /// Takes a byte that was sent to the terminal. Bytes of characters beyond ASCII are one mark.
    pub fn take(&mut self, byte: u8) {
        self.has_changed = true;
        match (core::mem::replace(&mut self.sequence, Sequence::None), byte) {
            (_, ESCAPE) => self.sequence = Sequence::Begun,
            (Sequence::Begun, b'[') => self.sequence = Sequence::Long(0),
            (Sequence::Begun, _) => {}
            (Sequence::Long(number), b'0'..=b'9') => {
                let digit = usize::from(byte - b'0');
                self.sequence = Sequence::Long(number.saturating_mul(10).saturating_add(digit));
            }
            (Sequence::Long(_), b' '..=b'?') => self.sequence = Sequence::Long(0),
            (Sequence::Long(number), _) => self.obey(byte, number),
            (Sequence::None, b'\n') => self.down(),
            (Sequence::None, b'\r') => self.column = 0,
            (Sequence::None, 8) => self.column = self.cursor().0.saturating_sub(1),
            (Sequence::None, b'\t') => {
                self.column = (self.column / 8 * 8 + 8).min(self.columns - 1);
            }
            (Sequence::None, 0..BLANK | 0x7f..0xc0) => {}
            (Sequence::None, _) => self.put(if byte.is_ascii() { byte } else { b'?' }),
        }
    }

    fn put(&mut self, byte: u8) {
        if self.column == self.columns {
            self.column = 0;
            self.down();
        }
        let at = self.row * self.columns + self.column;
        self.cells.get_mut(at).into_iter().for_each(|cell| *cell = byte);
        self.column += 1;
    }

    /// The end of a control sequence with this last number.
    fn obey(&mut self, byte: u8, number: usize) {
        match byte {
            // All of the page, or what follows.
            b'J' => {
                self.blank(self.row, if number == 2 { 0 } else { self.cursor().0 });
                (self.row + 1..self.rows()).for_each(|row| self.blank(row, 0));
                if number == 2 {
                    (0..self.row).for_each(|row| self.blank(row, 0));
                }
            }
            b'K' => self.blank(self.row, self.cursor().0),
            b'H' => (self.column, self.row) = (0, 0),
            b'C' => self.column = self.column.saturating_add(number.max(1)).min(self.columns - 1),
            b'D' => self.column = self.cursor().0.saturating_sub(number.max(1)),
            _ => {}
        }
    }

    /// Names each piece of text that is not shown yet, with its column and row; from now on it is.
    /// Whether anything was taken since the last time: then the caller marks the cursor's place, which
    /// is named again the next time.
    pub fn changes(&mut self, show: &mut impl FnMut(usize, usize, &str)) -> bool {
        if !core::mem::take(&mut self.has_changed) {
            return false;
        }
        self.shown.get_mut(self.marked).into_iter().for_each(|cell| *cell = UNKNOWN);
        let (column, row) = self.cursor();
        self.marked = row * self.columns + column;
        let rows = self.cells.chunks(self.columns).zip(self.shown.chunks_mut(self.columns));
        for (row, (cells, shown)) in rows.enumerate() {
            let differs = |(cell, shown): (&u8, &u8)| cell != shown;
            let Some(first) = cells.iter().zip(&*shown).position(differs) else { continue };
            let last = cells.iter().zip(&*shown).rposition(differs).unwrap_or(first);
            let (Some(part), Some(old)) = (cells.get(first..=last), shown.get_mut(first..=last))
            else {
                continue;
            };
            old.copy_from_slice(part);
            show(first, row, core::str::from_utf8(part).unwrap_or_default());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    /// The page as somebody sees it who paints only what is named.
    struct Seen {
        page: Page,
        picture: Vec<Vec<u8>>,
    }

    impl Seen {
        fn new(columns: usize, rows: usize) -> Self {
            Self { page: Page::new(columns, rows), picture: vec![vec![BLANK; columns]; rows] }
        }

        fn says(&mut self, text: &str) -> Vec<String> {
            text.bytes().for_each(|byte| self.page.take(byte));
            let picture = &mut self.picture;
            self.page.changes(&mut |column, row, text| {
                picture[row][column..][..text.len()].copy_from_slice(text.as_bytes());
            });
            let text = |row: &Vec<u8>| String::from_utf8_lossy(row).trim_end().into();
            self.picture.iter().map(text).collect()
        }
    }

    #[test]
    fn lines_follow_each_other_and_the_oldest_goes() {
        let mut seen = Seen::new(6, 3);
        assert_eq!(seen.says("one\r\ntwo"), ["one", "two", ""]);
        assert_eq!(seen.says("\r\nthree\r\nfour"), ["two", "three", "four"]);
        assert_eq!(seen.says("\x08\x08\x08\x08a\tz"), ["two", "three", "aour z"]);
        assert_eq!(seen.says("\rlonger than a row"), ["longer", " than", "a row"]);
    }

    #[test]
    fn sequences_are_obeyed_or_left_out() {
        let mut seen = Seen::new(8, 2);
        assert_eq!(seen.says("\x1b[1;31mred\x1b[m"), ["red", ""]);
        assert_eq!(seen.says("\x1b[2D\x1b[K"), ["r", ""]);
        assert_eq!(seen.says("\x1b[3Cx\x1b7\x1b[?25l"), ["r   x", ""]);
        assert_eq!(seen.says("\x1b[H\x1b[2Ju\u{e4}\x01"), ["u?", ""]);
        assert_eq!(
            seen.says("\x1b[99999999999999999999D\x1b[J\x1b[99999999999999999999C!"),
            ["       !", ""]
        );
    }
}
