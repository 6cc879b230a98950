// SPDX-License-Identifier: MIT OR Apache-2.0
//! What caches may hold of code: physical lines that were written and may not have reached memory, and lines of code that may be older
//! than memory. Caches have no limits here.

use crate::violation::Rule;

/// Binary logarithm of a line's bytes.
pub const LINE: u32 = 5;
/// Lines of a page.
const OF_PAGE: usize = 128;
/// So many lines that are read one after the other push all others out of the largest data cache, which has 32 KiB.
const PUSHES: u32 = 1024;

/// A line may be in the data cache alone, as it was written.
const DIRTY: u8 = 1;
/// It may be in the instruction cache.
const FETCHED: u8 = 2;
/// And is older there than in the data cache or in memory.
const OLD: u8 = 4;

/// What there is to know of a line.
#[derive(Clone, Copy, Default)]
struct Line {
    flags: u8,
    /// Who wrote it last.
    writer: u32,
}

/// Those of all memory.
pub struct Lines {
    pages: Vec<Option<Box<[Line; OF_PAGE]>>>,
    /// The line that was read last, and how many followed each other up to it.
    run: (u32, u32),
}

impl Default for Lines {
    fn default() -> Self {
        Self { pages: vec![None; 1 << 20], run: (0, 0) }
    }
}

impl Lines {
    fn line(&mut self, physical: u32) -> &mut Line {
        let page = self.pages[(physical >> 12) as usize].get_or_insert_with(|| Box::new([Line::default(); OF_PAGE]));
        &mut page[(physical >> LINE) as usize % OF_PAGE]
    }

    fn each(&mut self, act: impl FnMut(&mut Line)) {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut()).for_each(act);
    }

    /// A line is fetched. The rule that this breaks, and who wrote the line.
    pub fn fetch(&mut self, physical: u32) -> Option<(Rule, u32)> {
        let line = self.line(physical);
        let broken = match line.flags {
            flags if flags & DIRTY != 0 => Some(Rule::DirtyCode),
            flags if flags & OLD != 0 => Some(Rule::OldCode),
            _ => None,
        };
        // Reported once for each write.
        line.flags = FETCHED;
        broken.map(|rule| (rule, line.writer))
    }

    /// A line is read as data. Reading many in turn is how a kernel writes all of the data cache back.
    pub fn read(&mut self, physical: u32) {
        let (last, count) = self.run;
        let line = physical >> LINE;
        self.run = match line.wrapping_sub(last) {
            0 => return,
            1 => (line, count + 1),
            _ => (line, 0),
        };
        if count + 1 == PUSHES {
            self.each(|line| line.flags &= !DIRTY);
        }
    }

    /// A line is written, by the cache or past it.
    pub fn write(&mut self, physical: u32, stays: bool, writer: u32) {
        self.run = (0, 0);
        let line = self.line(physical);
        line.writer = writer;
        if line.flags & FETCHED != 0 {
            line.flags |= OLD;
        }
        if stays {
            line.flags |= DIRTY;
        }
    }

    /// A line is written back.
    pub fn clean(&mut self, physical: u32) {
        self.line(physical).flags &= !DIRTY;
    }

    /// A line is dropped without being written back. Who wrote it, if that is lost.
    pub fn drop_data(&mut self, physical: u32) -> Option<u32> {
        let line = self.line(physical);
        let was_dirty = line.flags & DIRTY != 0;
        line.flags &= !DIRTY;
        was_dirty.then_some(line.writer)
    }

    /// A line of code is dropped.
    pub fn drop_code(&mut self, physical: u32) {
        self.line(physical).flags &= !(FETCHED | OLD);
    }

    /// All lines of code are dropped.
    pub fn drop_all_code(&mut self) {
        self.each(|line| line.flags &= !(FETCHED | OLD));
    }
}
