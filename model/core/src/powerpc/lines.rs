// SPDX-License-Identifier: MIT OR Apache-2.0
//! What caches may hold of code: physical lines that were written and may not have reached memory,
//! and lines of code that may be older than memory. These caches have no limits.

use crate::violation::Rule;

/// Binary logarithm of a line's bytes.
pub const LINE: u32 = 5;
/// Lines of a page.
const OF_PAGE: usize = 128;
/// This many lines that are read one after the other displace all others from the largest data
/// cache, which has 32 KiB.
const PUSHES: u32 = 1024;

/// What is known of a line: a bit for each of its words.
#[derive(Clone, Copy, Default)]
struct Line {
    /// Words that were written, and may be only in the data cache.
    dirty: u8,
    /// Words that the instruction cache may have.
    fetched: u8,
    /// Words that are older there than in the data cache or in memory.
    old: u8,
    /// The instruction that last wrote one of them.
    writer: u32,
}

/// The words of a line in which some bytes are; the bytes may continue in the next line.
fn words(physical: u32, bytes: u32) -> u8 {
    let (first, last) = (physical >> 2 & 7, (physical + bytes.max(1) - 1) >> 2);
    let last = if last >> 3 == physical >> LINE { last & 7 } else { 7 };
    (0xff_u8 << first) & (0xff_u8 >> (7 - last))
}

/// The lines of all memory.
pub struct Lines {
    pages: Vec<Option<Box<[Line; OF_PAGE]>>>,
    /// The line that was read last, and how many adjacent lines up to it were read in turn.
    run: (u32, u32),
}

impl Default for Lines {
    fn default() -> Self {
        Self { pages: vec![None; 1 << 20], run: (0, 0) }
    }
}

impl Lines {
    fn line(&mut self, physical: u32) -> &mut Line {
        let page = self.pages[(physical >> 12) as usize]
            .get_or_insert_with(|| Box::new([Line::default(); OF_PAGE]));
        &mut page[(physical >> LINE) as usize % OF_PAGE]
    }

    fn each(&mut self, act: impl FnMut(&mut Line)) {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut()).for_each(act);
    }

    /// Words of a line are fetched. Returns the rule that this breaks, and the instruction that
    /// wrote the line. Words that are not executed do not matter: they may be data.
    pub fn fetch(&mut self, physical: u32, bytes: u32) -> Option<(Rule, u32)> {
        let (line, words) = (self.line(physical), words(physical, bytes));
        let broken = match () {
            () if line.dirty & words != 0 => Some(Rule::DirtyCode),
            () if line.old & words != 0 => Some(Rule::OldCode),
            () => None,
        };
        // Reported once for each write. The cache has the whole line from here on.
        (line.dirty, line.old, line.fetched) = (line.dirty & !words, line.old & !words, u8::MAX);
        broken.map(|rule| (rule, line.writer))
    }

    /// A line is read as data. Reading many in turn is how a kernel writes all of the data cache
    /// back.
    pub fn read(&mut self, physical: u32) {
        let (last, count) = self.run;
        let line = physical >> LINE;
        self.run = match line.wrapping_sub(last) {
            0 => return,
            1 => (line, count + 1),
            _ => (line, 0),
        };
        if count + 1 == PUSHES {
            self.each(|line| line.dirty = 0);
        }
    }

    /// Words of a line are written, through the cache or past it.
    pub fn write(&mut self, physical: u32, bytes: u32, stays: bool, writer: u32) {
        self.run = (0, 0);
        let (line, words) = (self.line(physical), words(physical, bytes));
        line.writer = writer;
        line.old |= line.fetched & words;
        if stays {
            line.dirty |= words;
        }
    }

    /// A line is written back.
    pub fn clean(&mut self, physical: u32) {
        self.line(physical).dirty = 0;
    }

    /// A line is dropped without being written back. Returns the instruction that wrote it, if a
    /// write is lost.
    pub fn drop_data(&mut self, physical: u32) -> Option<u32> {
        let line = self.line(physical);
        (std::mem::take(&mut line.dirty) != 0).then_some(line.writer)
    }

    /// A line of code is dropped.
    pub fn drop_code(&mut self, physical: u32) {
        let line = self.line(physical);
        (line.fetched, line.old) = (0, 0);
    }

    /// All lines of code are dropped.
    pub fn drop_all_code(&mut self) {
        self.each(|line| (line.fetched, line.old) = (0, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_line() {
        assert_eq!(
            [words(0x20, 32), words(0x23, 1), words(0x3c, 8), words(0x26, 8)],
            [0xff, 1, 0x80, 0b1110]
        );
    }

    #[test]
    fn code_comes_by_way_of_memory() {
        let mut lines = Lines::default();
        lines.write(0x1010, 4, true, 7);
        assert_eq!(lines.fetch(0x1000, 16), None, "what was written is not executed");
        assert_eq!(lines.fetch(0x1000, 20), Some((Rule::DirtyCode, 7)));
        lines.write(0x1010, 4, true, 8);
        lines.clean(0x1010);
        assert_eq!(lines.fetch(0x1010, 4), Some((Rule::OldCode, 8)));
        lines.write(0x1010, 4, true, 9);
        lines.clean(0x1010);
        lines.drop_code(0x1010);
        assert_eq!(lines.fetch(0x1010, 4), None);
        assert_eq!(lines.drop_data(0x1010), None);
        lines.write(0x1010, 4, true, 10);
        assert_eq!(lines.drop_data(0x1010), Some(10));
    }

    #[test]
    fn reading_much_in_turn_writes_all_back() {
        let mut lines = Lines::default();
        lines.write(0x1000, 32, true, 7);
        (0..PUSHES).for_each(|line| lines.read(0x10_0000 + (line << LINE)));
        assert_eq!(lines.fetch(0x1000, 32), Some((Rule::DirtyCode, 7)), "one line too few");
        lines.write(0x1000, 32, true, 8);
        (0..=PUSHES).for_each(|line| lines.read(0x10_0000 + (line << LINE)));
        lines.drop_all_code();
        assert_eq!(lines.fetch(0x1000, 32), None);
    }
}
