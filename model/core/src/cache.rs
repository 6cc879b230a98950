// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches of memory, and of decoded instructions: which accesses hit.

use crate::chunk::PerLine;
use crate::replacement::{Replacement, Victims};
use serde::Deserialize;

/// The geometry of a cache.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct CacheGeometry {
    /// Bytes.
    pub bytes: u32,
    /// Bytes of a line.
    pub line: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Which line is replaced.
    #[serde(default)]
    pub replacement: Replacement,
    /// The address that selects the set.
    #[serde(default)]
    pub index: Address,
    /// The address that a line is recognised by.
    #[serde(default)]
    pub tag: Address,
    /// Whether a write that misses brings its line into the cache.
    #[serde(default = "always")]
    pub write_allocate: bool,
}

fn always() -> bool {
    true
}

impl CacheGeometry {
    /// Why these numbers are impossible, if they are.
    pub(crate) fn check(&self) -> Result<(), String> {
        let sets = self
            .bytes
            .checked_div(self.line)
            .and_then(|lines| lines.checked_div(self.ways))
            .unwrap_or(0);
        if !self.line.is_power_of_two()
            || self.line < 16
            || !sets.is_power_of_two()
            || sets * self.ways * self.line != self.bytes
        {
            return Err(format!(
                "{} bytes, lines of {}, {} ways: the number of sets must be a power of two",
                self.bytes, self.line, self.ways
            ));
        }
        Ok(())
    }
}

/// A cache of decoded instructions, with virtual addresses, that a switch of spaces flushes.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct TraceGeometry {
    /// Lines.
    pub lines: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Instructions of a line, which are adjacent in memory.
    pub instructions: Option<u32>,
    /// Or, instead, bytes of code of a line: all of its instructions have at most this many, if it
    /// has more than one.
    pub bytes: Option<u32>,
}

impl TraceGeometry {
    /// What limits the code of a line.
    #[must_use]
    pub fn per_line(&self) -> PerLine {
        match (self.instructions, self.bytes) {
            (Some(instructions), _) => PerLine::Instructions(instructions as usize),
            (None, bytes) => PerLine::Bytes(bytes.unwrap_or(0) as usize),
        }
    }

    /// Why these numbers are impossible, if they are.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.instructions.xor(self.bytes).is_none_or(|most| most == 0) {
            return Err("a line has either `instructions` or `bytes`".into());
        }
        if !self.lines.checked_div(self.ways).is_some_and(u32::is_power_of_two) {
            return Err("the number of sets must be a power of two".into());
        }
        Ok(())
    }
}

/// Which address a cache uses.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Address {
    /// The physical address.
    #[default]
    Physical,
    /// The virtual address.
    Virtual,
}

/// The result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The line was there.
    Hit,
    /// The line was not there.
    Miss,
    /// A line of this virtual address was there, but with memory of another physical
    /// address: a processor would have used what is not this space's.
    Alias,
}

/// This many ways of a set are never locked: XScale's 28 to 31 (Intel XScale Core Developer's
/// Manual, section 6.4).
const NEVER_LOCKED: usize = 4;

/// The tag of an empty line.
const EMPTY: u32 = u32::MAX;

/// A cache.
pub struct Cache {
    shift: u32,
    mask: u32,
    ways: usize,
    index: Address,
    tag: Address,
    write_allocate: bool,
    /// Line numbers by the address that is the tag; [`EMPTY`] if there is none.
    tags: Vec<u32>,
    /// Line numbers by physical address, where the tag is virtual.
    physical: Vec<u32>,
    /// Which lines are dirty.
    dirty: Vec<bool>,
    /// Which lines are locked: they are not replaced, and stay when all others are dropped.
    locked: Vec<bool>,
    /// Whether a line that is made is locked.
    locking: bool,
    /// How many dirty lines were displaced or cleaned.
    write_backs: u64,
    victims: Victims,
    /// The line of the last hit or fill, by virtual and physical number: it is still there.
    last: (u32, u32),
    /// Where that is.
    last_slot: usize,
}

impl Cache {
    /// An empty one. The geometry is sound ([`crate::Cpu::parse`] checks it).
    #[must_use]
    pub fn new(geometry: &CacheGeometry) -> Self {
        let lines = (geometry.bytes / geometry.line) as usize;
        let ways = geometry.ways as usize;
        Self {
            shift: geometry.line.trailing_zeros(),
            mask: (lines / ways) as u32 - 1,
            ways,
            index: geometry.index,
            tag: geometry.tag,
            write_allocate: geometry.write_allocate,
            tags: vec![EMPTY; lines],
            physical: if geometry.tag == Address::Virtual {
                vec![EMPTY; lines]
            } else {
                Vec::new()
            },
            dirty: vec![false; lines],
            locked: vec![false; lines],
            locking: false,
            write_backs: 0,
            victims: Victims::new(lines, ways, geometry.replacement),
            last: (EMPTY, EMPTY),
            last_slot: 0,
        }
    }

    /// Binary logarithm of a line's bytes.
    #[must_use]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// One line is read or written, at the linear address `linear` and the physical address
    /// `physical`.
    pub fn access(
        &mut self,
        linear: impl Into<u64>,
        physical: impl Into<u64>,
        write: bool,
    ) -> Outcome {
        self.look_up(linear, physical, !write || self.write_allocate)
    }

    /// The same while the whole cache is locked: lines that are not in it are not brought into it.
    pub fn access_locked(&mut self, linear: impl Into<u64>, physical: impl Into<u64>) -> Outcome {
        self.look_up(linear, physical, false)
    }

    fn look_up(
        &mut self,
        linear: impl Into<u64>,
        physical: impl Into<u64>,
        fills: bool,
    ) -> Outcome {
        // Numbers of lines: nobody has so much memory that these have more bits.
        let line = |address: u64| (address >> self.shift) as u32;
        let (linear, physical) = (line(linear.into()), line(physical.into()));
        if self.last == (linear, physical) {
            return Outcome::Hit;
        }
        let pick = |which| if which == Address::Virtual { linear } else { physical };
        let set = (pick(self.index) & self.mask) as usize;
        let tag = pick(self.tag);
        let first = set * self.ways;
        if let Some(way) =
            self.tags[first..first + self.ways].iter().position(|&other| other == tag)
        {
            let slot = first + way;
            self.victims.touch(slot);
            (self.last, self.last_slot) = ((linear, physical), slot);
            if self.tag == Address::Virtual && self.physical[slot] != physical {
                self.physical[slot] = physical;
                return Outcome::Alias;
            }
            return Outcome::Hit;
        }
        if fills {
            self.fill(set, tag, (linear, physical));
        }
        Outcome::Miss
    }

    /// Makes a line in a set.
    fn fill(&mut self, set: usize, tag: u32, (linear, physical): (u32, u32)) {
        let first = set * self.ways;
        let free =
            (first..first + self.ways).find(|&slot| self.tags[slot] == EMPTY && !self.locked[slot]);
        let slot = free.unwrap_or_else(|| self.victim(set));
        self.locked[slot] = self.locking
            && self.locked[first..first + self.ways].iter().filter(|locked| !**locked).count()
                > NEVER_LOCKED;
        self.write_backs += u64::from(std::mem::take(&mut self.dirty[slot]));
        self.tags[slot] = tag;
        if self.tag == Address::Virtual {
            self.physical[slot] = physical;
        }
        self.victims.touch(slot);
        (self.last, self.last_slot) = ((linear, physical), slot);
    }

    /// The line of a full set that is replaced.
    fn victim(&mut self, set: usize) -> usize {
        loop {
            let slot = self.victims.choose(set);
            if !self.locked[slot] {
                return slot;
            }
            self.victims.touch(slot);
        }
    }

    /// Lines that are made from now on are locked, or not.
    pub fn set_locking(&mut self, locking: bool) {
        self.locking = locking;
    }

    /// No line is locked any more.
    pub fn unlock(&mut self) {
        self.locked.fill(false);
    }

    /// The last access was a write, which stays in the cache until its line is written back, if the
    /// cache has the line. Returns whether it has.
    pub fn soil(&mut self, linear: u32, physical: u32) -> bool {
        let held = self.last == (linear >> self.shift, physical >> self.shift);
        if held {
            self.dirty[self.last_slot] = true;
        }
        held
    }

    /// Makes a line without reading memory, unless it is there (virtual index and tag).
    pub fn allocate(&mut self, linear: u32) {
        if self.slot(linear).is_none() {
            let line = linear >> self.shift;
            self.fill((line & self.mask) as usize, line, (line, EMPTY));
        }
    }

    /// Writes the line of an address back, if it is there and dirty (virtual index and tag).
    pub fn clean_line(&mut self, linear: u32) {
        if let Some(slot) = self.slot(linear) {
            self.write_backs += u64::from(std::mem::take(&mut self.dirty[slot]));
        }
    }

    /// Drops the line of an address, dirty or not (virtual index and tag). If it was locked, its
    /// place stays unused.
    pub fn invalidate_line(&mut self, linear: u32) {
        if let Some(slot) = self.slot(linear) {
            (self.tags[slot], self.dirty[slot]) = (EMPTY, false);
            self.last = (EMPTY, EMPTY);
        }
    }

    /// Writes all dirty lines back. Returns how many there were.
    pub fn clean(&mut self) -> u64 {
        let count = self.dirty.iter_mut().map(|dirty| u64::from(std::mem::take(dirty))).sum();
        self.write_backs += count;
        count
    }

    /// How many lines were written back since the last call.
    pub fn take_write_backs(&mut self) -> u64 {
        std::mem::take(&mut self.write_backs)
    }

    fn slot(&self, linear: u32) -> Option<usize> {
        let line = linear >> self.shift;
        let first = (line & self.mask) as usize * self.ways;
        Some(first + self.tags[first..first + self.ways].iter().position(|&other| other == line)?)
    }

    /// Drops all lines, dirty or not, except locked ones.
    pub fn flush(&mut self) {
        for slot in (0..self.tags.len()).filter(|&slot| !self.locked[slot]) {
            (self.tags[slot], self.dirty[slot]) = (EMPTY, false);
        }
        self.last = (EMPTY, EMPTY);
    }
}

/// A cache of decoded instructions: a line has a few adjacent instructions and is found by the
/// linear address of the first.
pub struct Trace {
    mask: u32,
    ways: usize,
    tags: Vec<u32>,
    victims: Victims,
}

impl Trace {
    /// Binary logarithm of the bytes whose lines share a set.
    const INDEX_SHIFT: u32 = 4;

    /// An empty one.
    #[must_use]
    pub fn new(geometry: &TraceGeometry) -> Self {
        let (lines, ways) = (geometry.lines as usize, geometry.ways as usize);
        Self {
            mask: (lines / ways) as u32 - 1,
            ways,
            tags: vec![EMPTY; lines],
            victims: Victims::new(lines, ways, Replacement::Lru),
        }
    }

    /// The instructions from linear address `address` on are executed. Returns whether their line
    /// was there.
    pub fn fetch(&mut self, address: u32) -> bool {
        let set = (address >> Self::INDEX_SHIFT & self.mask) as usize;
        let first = set * self.ways;
        let tags = &self.tags[first..first + self.ways];
        let found = tags.iter().position(|&other| other == address);
        let slot = match found.or_else(|| tags.iter().position(|&other| other == EMPTY)) {
            Some(way) => first + way,
            None => self.victims.choose(set),
        };
        self.tags[slot] = address;
        self.victims.touch(slot);
        found.is_some()
    }

    /// Drops all entries.
    pub fn flush(&mut self) {
        self.tags.fill(EMPTY);
    }
}
