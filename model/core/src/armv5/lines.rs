// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of memory that are wrong because of caches with virtual addresses.
//!
//! It models a cache without limits for data and another one for code. A line stays until an
//! operation removes it. A dirty line stays dirty until an operation cleans it, but a processor may
//! write it back at any time. For each pair of a page of modified virtual addresses and a page of
//! physical memory that it had, the module keeps a bit for each line.

use super::instruction::Operation;
use crate::violation::Rule;
use rustc_hash::FxHashMap;

/// Binary logarithm of a line's bytes.
pub const LINE: u32 = 5;
/// Lines of a page.
const LINES: usize = 128;
/// Bytes of XScale's data cache: lines of this many bytes displace all others.
const CAPACITY: u32 = 32 << 10;

/// Lines of a virtual page in a frame: a bit for each.
struct Page {
    virtual_page: u32,
    frame: u32,
    /// Lines of data that may be held.
    data: u128,
    /// Those of them that may not have been written to memory yet.
    dirty: u128,
    /// Those of them for which memory was written later.
    old_data: u128,
    /// Lines of data that are locked: they stay when all lines of data are dropped.
    locked: u128,
    /// Lines of code that may be held.
    code: u128,
    /// Those of them for which memory was written later.
    old_code: u128,
    /// Of each dirty line, the words written since it was clean.
    written: [u8; LINES],
    /// For each line of code that is older than memory, the words that were written later: code and
    /// data may share a line.
    rewritten: [u8; LINES],
    /// Whether no other virtual page has ever had the frame.
    alone: bool,
    /// The instruction that last wrote through this virtual page.
    writer: u32,
    /// The instruction that last made lines older than memory.
    rival: u32,
    /// Whether it is in [`Lines::used`].
    used: [bool; 2],
}

/// What is accessed: a part of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Modified virtual address.
    pub address: u32,
    /// Physical address.
    pub physical: u32,
    /// A bit for each word of the line that is in it.
    pub words: u8,
}

impl Part {
    /// At most this many bytes from these addresses on, as far as they are in one line.
    pub fn new(address: u32, physical: u32, bytes: u32) -> Self {
        let (first, last) = (address & 31, (address & 31).saturating_add(bytes.max(1) - 1).min(31));
        Self {
            address,
            physical,
            words: (0xff >> (7 - (last >> 2))) & (0xff << (first >> 2)) as u8,
        }
    }

    fn line(self) -> usize {
        (self.address >> LINE & 127) as usize
    }
}

/// How data is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Whether it is a write.
    pub write: bool,
    /// Whether it may use the cache.
    pub cached: bool,
    /// Whether writes may stay in the cache.
    pub back: bool,
}

/// A rule that was broken, and the instruction that caused it.
pub type Finding = (Rule, u32);

/// What caches might hold.
#[derive(Default)]
pub struct Lines {
    /// Whether a write that misses makes a line.
    write_allocate: bool,
    pages: Vec<Page>,
    by_pair: FxHashMap<(u32, u32), usize>,
    /// The records by virtual page, and by frame.
    by_virtual: FxHashMap<u32, Vec<usize>>,
    by_frame: FxHashMap<u32, Vec<usize>>,
    /// Pages that may have lines of data, or of code.
    used: [Vec<usize>; 2],
    /// The page accessed last.
    last: usize,
    /// Whether lines of data that are made are locked.
    locking: bool,
    sweep: Sweep,
}

/// The way to clean an XScale core's cache: by making as many lines as it has.
#[derive(Default)]
struct Sweep {
    /// Where the region begins whose lines are being made, and how many have been made.
    now: (u32, u32),
    /// The region whose lines were made the last time: the cache has them.
    before: Option<u32>,
    /// What was used since it began.
    touched: Vec<(usize, u128)>,
}

fn bit(address: u32) -> u128 {
    1 << (address >> LINE & 127)
}

impl Lines {
    /// Empty caches. Whether a write that misses makes a line depends on the processor.
    pub fn new(write_allocate: bool) -> Self {
        Self { write_allocate, ..Self::default() }
    }

    /// The record for these, which is created if there is none.
    fn page(&mut self, address: u32, physical: u32) -> usize {
        let key = (address >> 12, physical >> 12);
        if self.pages.get(self.last).is_some_and(|page| (page.virtual_page, page.frame) == key) {
            return self.last;
        }
        self.last = *self.by_pair.entry(key).or_insert_with(|| {
            let index = self.pages.len();
            let (virtual_page, frame) = key;
            let same = self.by_frame.entry(frame).or_default();
            same.iter().for_each(|&other| self.pages[other].alone = false);
            self.pages.push(Page::new(virtual_page, frame, same.is_empty()));
            same.push(index);
            self.by_virtual.entry(virtual_page).or_default().push(index);
            index
        });
        self.last
    }

    /// The instruction at `instruction` accesses data in one line; `found` is called for each rule
    /// that is broken, once.
    pub fn access(
        &mut self,
        part: Part,
        way: Way,
        instruction: u32,
        mut found: impl FnMut(Finding),
    ) {
        let (own, bit) = (self.page(part.address, part.physical), bit(part.address));
        self.touch(own, bit);
        let page = &mut self.pages[own];
        if way.cached && page.data & !page.old_data & bit != 0 {
            // The line is this one's, and nobody else's that is right.
            if !way.write {
                return;
            }
            if way.back && page.alone && page.dirty & !page.code & bit != 0 {
                page.written[part.line()] |= part.words;
                return;
            }
        }
        for &other in self.by_frame.get(&(part.physical >> 12)).into_iter().flatten() {
            let (page, foreign) = (&mut self.pages[other], other != own || !way.cached);
            if foreign && page.dirty & bit != 0 {
                found((
                    if way.write { Rule::LateWriteBack } else { Rule::DirtyElsewhere },
                    page.writer,
                ));
                page.dirty &= !bit;
            }
            let (data, code) = (if foreign { page.data & bit } else { 0 }, page.code & bit);
            if way.write && data | code != 0 {
                (page.old_data, page.rival) = (page.old_data | data, instruction);
                if code != 0 {
                    page.rewrite(part.line(), part.words);
                }
            }
        }
        if way.cached {
            self.fill(own, part, way, instruction, found);
        }
    }

    /// The line of data is made, or written.
    fn fill(
        &mut self,
        own: usize,
        part: Part,
        way: Way,
        instruction: u32,
        mut found: impl FnMut(Finding),
    ) {
        let (virtual_page, bit) = (part.address >> 12, bit(part.address));
        for &other in
            self.by_virtual.get(&virtual_page).into_iter().flatten().filter(|other| **other != own)
        {
            let page = &mut self.pages[other];
            if page.data & bit != 0 {
                found((Rule::CacheAlias, page.writer));
                page.forget_data(bit);
            }
        }
        let page = &mut self.pages[own];
        if page.old_data & bit != 0 {
            found((Rule::OldLine, page.rival));
            page.old_data &= !bit;
        }
        if !way.write || self.write_allocate {
            if self.locking && page.data & bit == 0 {
                page.locked |= bit;
            }
            page.data |= bit;
        }
        if way.write {
            page.writer = instruction;
            if way.back && page.data & bit != 0 {
                let before = if page.dirty & bit != 0 { page.written[part.line()] } else { 0 };
                page.written[part.line()] = before | part.words;
                page.dirty |= bit;
            }
        }
        self.note_used(own);
    }

    /// The page has lines that an operation on all may have to remove.
    fn note_used(&mut self, index: usize) {
        let page = &mut self.pages[index];
        for (kind, lines) in [page.data, page.code].into_iter().enumerate() {
            if lines != 0 && !std::mem::replace(&mut page.used[kind], true) {
                self.used[kind].push(index);
            }
        }
    }

    /// Code in one line is fetched through the cache.
    pub fn fetch(&mut self, part: Part, mut found: impl FnMut(Finding)) {
        let (own, bit, line) =
            (self.page(part.address, part.physical), bit(part.address), part.line());
        let page = &mut self.pages[own];
        if page.code & bit != 0 {
            if page.old_code & bit != 0 && page.rewritten[line] & part.words != 0 {
                found((Rule::OldCode, page.rival));
                page.old_code &= !bit;
            }
            return;
        }
        let mut dirty = 0;
        for &other in self.by_frame.get(&(part.physical >> 12)).into_iter().flatten() {
            let page = &mut self.pages[other];
            if page.dirty & bit == 0 {
                continue;
            }
            if page.written[line] & part.words != 0 {
                found((Rule::DirtyCode, page.writer));
                page.dirty &= !bit;
            } else {
                dirty |= page.written[line];
            }
        }
        for &other in self
            .by_virtual
            .get(&(part.address >> 12))
            .into_iter()
            .flatten()
            .filter(|other| **other != own)
        {
            let page = &mut self.pages[other];
            if page.code & bit != 0 {
                found((Rule::CacheAlias, page.writer));
                page.forget_code(bit);
            }
        }
        let page = &mut self.pages[own];
        page.code |= bit;
        if dirty != 0 {
            page.rival = page.writer;
            page.rewrite(line, dirty);
        }
        self.note_used(own);
    }

    /// The processor reads a table entry from memory, past the caches.
    pub fn walk(&mut self, physical: u32, mut found: impl FnMut(Finding)) {
        let bit = bit(physical);
        for &other in self.by_frame.get(&(physical >> 12)).into_iter().flatten() {
            let page = &mut self.pages[other];
            if page.dirty & bit != 0 {
                found((Rule::DirtyTable, page.writer));
                page.dirty &= !bit;
            }
        }
    }

    /// An operation is carried out; if it loses data that was written, `found` gets the address and
    /// the instruction that wrote there.
    pub fn operate(&mut self, operation: Operation, operand: u32, mut found: impl FnMut(u32, u32)) {
        match operation {
            Operation::InvalidateCaches(which) => {
                if which.data() {
                    self.clean(&mut found);
                    self.drop_data();
                }
                if which.code() {
                    self.drop_code();
                }
            }
            Operation::InvalidateLine(which) => self.each(operand, |page, bit| {
                if which.data() {
                    if page.dirty & bit != 0 {
                        found(operand, page.writer);
                    }
                    page.forget_data(bit);
                }
                if which.code() {
                    page.forget_code(bit);
                }
            }),
            Operation::CleanLine(invalidates) => self.each(operand, |page, bit| {
                page.dirty &= !bit;
                if invalidates {
                    page.forget_data(bit);
                }
            }),
            Operation::TestClean(invalidates) => {
                self.clean(&mut |_, _| ());
                if invalidates {
                    self.drop_data();
                }
            }
            Operation::AllocateLine => self.sweep(operand),
            Operation::LockLines => self.locking = operand & 1 != 0,
            Operation::UnlockLines => self.pages.iter_mut().for_each(|page| page.locked = 0),
            _ => {}
        }
    }

    /// Calls a function for each page that may have the line of a virtual address.
    fn each(&mut self, address: u32, mut act: impl FnMut(&mut Page, u128)) {
        for &index in self.by_virtual.get(&(address >> 12)).into_iter().flatten() {
            act(&mut self.pages[index], bit(address));
        }
    }

    /// No line is dirty any more, unless it is locked; `written` gets the address and the last
    /// writer of each line that was dirty.
    fn clean(&mut self, written: &mut impl FnMut(u32, u32)) {
        for &index in &self.used[0] {
            let page = &mut self.pages[index];
            let dirty = page.dirty & !page.locked;
            if dirty != 0 {
                written(page.virtual_page << 12 | dirty.trailing_zeros() << LINE, page.writer);
                page.dirty &= page.locked;
            }
        }
    }

    /// The cache has no line of data any more, except locked ones.
    fn drop_data(&mut self) {
        self.used[0].retain(|&index| {
            let page = &mut self.pages[index];
            page.forget_data(!page.locked);
            page.used[0] = page.data != 0;
            page.used[0]
        });
    }

    /// The cache has no line of code any more.
    fn drop_code(&mut self) {
        for index in self.used[1].drain(..) {
            self.pages[index].forget_code(u128::MAX);
            self.pages[index].used[1] = false;
        }
    }

    fn touch(&mut self, page: usize, bit: u128) {
        if self.sweep.now.1 > 0 {
            self.sweep.touched.push((page, bit));
        }
    }

    /// A line is made. If as many adjacent lines have been made as the cache has, in another region
    /// than the last time, they have displaced all other lines, except those that were used
    /// meanwhile.
    fn sweep(&mut self, address: u32) {
        let (start, count) = self.sweep.now;
        if count == 0 || address >> LINE != (start >> LINE) + count {
            (self.sweep.now, _) = ((address, 0), self.sweep.touched.clear());
        }
        self.sweep.now.1 += 1;
        let (start, count) = self.sweep.now;
        if count << LINE < CAPACITY {
            return;
        }
        let touched = std::mem::take(&mut self.sweep.touched);
        self.sweep.now.1 = 0;
        if self.sweep.before.replace(start) == Some(start) {
            return;
        }
        let kept: Vec<(usize, u128, u128)> = touched
            .into_iter()
            .map(|(index, bit)| {
                (index, self.pages[index].data & bit, self.pages[index].dirty & bit)
            })
            .collect();
        self.clean(&mut |_, _| ());
        self.drop_data();
        for (index, data, dirty) in kept {
            let page = &mut self.pages[index];
            (page.data, page.dirty) = (page.data | data, page.dirty | dirty);
            self.note_used(index);
        }
    }
}

impl Page {
    fn new(virtual_page: u32, frame: u32, alone: bool) -> Self {
        let (written, rewritten, used) = ([0; LINES], [0; LINES], [false; 2]);
        let (data, dirty, old_data, locked, code, old_code, writer, rival) =
            (0, 0, 0, 0, 0, 0, 0, 0);
        Self {
            virtual_page,
            frame,
            data,
            dirty,
            old_data,
            locked,
            code,
            old_code,
            written,
            rewritten,
            alone,
            writer,
            rival,
            used,
        }
    }

    fn forget_data(&mut self, bits: u128) {
        (self.data, self.dirty, self.old_data) =
            (self.data & !bits, self.dirty & !bits, self.old_data & !bits);
        self.locked &= !bits;
    }

    fn forget_code(&mut self, bits: u128) {
        (self.code, self.old_code) = (self.code & !bits, self.old_code & !bits);
    }

    /// Words of a line of code are written in memory.
    fn rewrite(&mut self, line: usize, words: u8) {
        let before = if self.old_code >> line & 1 != 0 { self.rewritten[line] } else { 0 };
        self.rewritten[line] = before | words;
        self.old_code |= 1 << line;
    }
}
