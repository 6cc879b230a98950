// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fast address-space switching against a machine whose cache knows nothing but virtual addresses:
//! a read gets what was written to that memory last, whatever spaces do in turn.

use mmu::fass::{BASE, FIRST, Fass, Hardware, MOST, Owner, SECTIONS, client};
use proptest::prelude::*;
use std::collections::HashMap;

const SPACES: usize = 20;
/// Owners after the spaces: Segments, which have a section each that spaces share.
const SEGMENTS: usize = 3;
/// Sections that spaces map for themselves; those of Segments are after.
const OWN: usize = 5;
const FRAMES: usize = 64;
/// The first spaces are of one vspace: a section is the same frame in all of them.
const IN_VSPACE: usize = 4;
/// So many after them have that number too, of another holder.
const ELSEWHERE: usize = 4;

/// A section as the processor has it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Word {
    frame: usize,
    domain: u32,
}

#[derive(Clone, Copy)]
struct Line {
    frame: usize,
    value: u32,
    dirty: bool,
}

/// A processor with a line of cache for each section, only by its virtual address.
#[derive(Default)]
struct Machine {
    memory: Vec<u32>,
    directory: HashMap<usize, Word>,
    tlb: HashMap<usize, Word>,
    cache: HashMap<usize, Line>,
    cleaned: u32,
    flushed: u32,
}

impl Machine {
    fn drop_line(&mut self, section: usize) {
        if let Some(line) = self.cache.remove(&section).filter(|line| line.dirty) {
            self.memory[line.frame] = line.value;
        }
    }
    /// An access with these domains open; `None` is a fault.
    fn access(&mut self, section: usize, access: u32, write: Option<u32>) -> Option<u32> {
        let word = *self.tlb.get(&section).or_else(|| self.directory.get(&section))?;
        self.tlb.insert(section, word);
        if access & client(word.domain) == 0 {
            return None;
        }
        let line = self.cache.entry(section).or_insert(Line {
            frame: word.frame,
            value: self.memory[word.frame],
            dirty: false,
        });
        if let Some(value) = write {
            (line.value, line.dirty) = (value, true);
        }
        Some(line.value)
    }
}

impl Hardware for Machine {
    fn remove(&mut self, section: usize) {
        self.directory.remove(&section);
    }
    fn flush(&mut self) {
        self.tlb.clear();
        self.flushed += 1;
    }
    fn clean(&mut self) {
        self.cleaned += 1;
        self.cache
            .keys()
            .copied()
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|section| self.drop_line(section));
    }
}

/// Spaces and Segments on that machine: as a port uses [`Fass`].
struct System {
    fass: Fass<usize, bool>,
    machine: Machine,
    /// The truth: what an owner has at a section.
    tables: HashMap<(usize, usize), usize>,
    /// Domain of each owner.
    domains: [Option<u32>; SPACES + SEGMENTS],
    open: [u32; SPACES],
    attached: [[bool; SEGMENTS]; SPACES],
    /// What was written last to each frame.
    last: Vec<u32>,
}

const fn owner(who: usize) -> Owner<usize, bool> {
    Owner { who, holder: who < IN_VSPACE, vspace: if who < IN_VSPACE + ELSEWHERE { 7 } else { 0 } }
}

impl System {
    fn new() -> Self {
        let machine = Machine { memory: vec![0; FRAMES], ..Machine::default() };
        let mut system = Self {
            fass: Fass::new(),
            machine,
            tables: HashMap::new(),
            domains: [None; SPACES + SEGMENTS],
            open: [BASE; SPACES],
            attached: [[false; SEGMENTS]; SPACES],
            last: vec![0; FRAMES],
        };
        for segment in 0..SEGMENTS {
            system.tables.insert((SPACES + segment, OWN + segment), FRAMES - 1 - segment);
        }
        system
    }

    fn need_domain(&mut self, who: usize, keeps: Option<usize>) -> u32 {
        if let Some(domain) = self.domains[who] {
            return domain;
        }
        let grant = self
            .fass
            .acquire(owner(who), |other| Some(other) == keeps, &mut self.machine)
            .expect("at most one keeps its domain");
        assert!(grant.domain >= u32::from(FIRST));
        if let Some(loser) = grant.loser {
            self.domains[loser] = None;
            if loser < SPACES {
                self.open[loser] = BASE;
            }
            self.open.iter_mut().for_each(|open| *open &= !client(grant.domain));
        }
        self.domains[who] = Some(grant.domain);
        if who < SPACES {
            self.open[who] = BASE | client(grant.domain);
        }
        grant.domain
    }

    fn fault(&mut self, space: usize, section: usize) -> bool {
        let own = self.need_domain(space, None);
        let (who, domain) = if section < OWN {
            (space, own)
        } else if self.attached[space][section - OWN] {
            let segment = SPACES + section - OWN;
            (segment, self.need_domain(segment, Some(space)))
        } else {
            return false;
        };
        let Some(frame) = self.tables.get(&(who, section)).copied() else { return false };
        let word = Word { frame, domain };
        if self.machine.directory.get(&section) != Some(&word) {
            self.fass.install(section, domain, owner(who), &mut self.machine);
            self.machine.directory.insert(section, word);
        }
        self.open[space] |= client(domain);
        true
    }

    fn access(&mut self, space: usize, section: usize, write: Option<u32>) {
        for _ in 0..4 {
            self.fass.dirty |= self.open[space];
            if let Some(value) = self.machine.access(section, self.open[space], write) {
                let who = if section < OWN { space } else { SPACES + section - OWN };
                let frame = self.tables[&(who, section)];
                if let Some(written) = write {
                    self.last[frame] = written;
                }
                assert_eq!(
                    value, self.last[frame],
                    "space {space} at section {section}, frame {frame}"
                );
                return;
            }
            if !self.fault(space, section) {
                let mapped = section < OWN && self.tables.contains_key(&(space, section));
                let attached = section >= OWN && self.attached[space][section - OWN];
                assert!(!mapped && !attached, "no access to what is there");
                return;
            }
        }
        panic!("a fault that does not end");
    }

    fn unmap(&mut self, space: usize, section: usize) {
        if self.tables.remove(&(space, section)).is_some() {
            if self.fass.may_have_lines_in(section) {
                self.machine.drop_line(section);
            }
            self.remove(space, section);
        }
    }

    fn remove(&mut self, who: usize, section: usize) {
        if self.fass.owner(self.fass.domain_of(section)) == Some(who) {
            self.fass.remove(section, &mut self.machine);
        }
        self.machine.flush();
    }

    /// A frame for a section: that of others in the vspace, or one that nobody has.
    fn frame(&self, space: usize, section: usize) -> usize {
        let mine = [0..IN_VSPACE, IN_VSPACE..IN_VSPACE + ELSEWHERE]
            .into_iter()
            .find(|spaces| spaces.contains(&space));
        let shared =
            mine.into_iter().flatten().find_map(|other| self.tables.get(&(other, section)));
        let used: Vec<usize> = self.tables.values().copied().collect();
        shared.copied().unwrap_or_else(|| {
            (0..FRAMES).rev().find(|frame| !used.contains(frame)).expect("there are enough")
        })
    }

    fn end(&mut self, space: usize) {
        self.fass.release(self.domains[space].take(), owner(space), &mut self.machine);
        self.open[space] = BASE;
        self.attached[space] = [false; SEGMENTS];
        self.tables.retain(|(who, _), _| *who != space);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Map(usize, usize),
    Unmap(usize, usize),
    Attach(usize, usize),
    Detach(usize, usize),
    Read(usize, usize),
    Write(usize, usize, u32),
    Clean,
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (space, own, every) = (0..SPACES, 0..OWN, 0..OWN + SEGMENTS);
    prop_oneof![
        4 => (space.clone(), own.clone()).prop_map(|(a, b)| Step::Map(a, b)),
        2 => (space.clone(), own).prop_map(|(a, b)| Step::Unmap(a, b)),
        1 => (space.clone(), 0..SEGMENTS).prop_map(|(a, b)| Step::Attach(a, b)),
        1 => (space.clone(), 0..SEGMENTS).prop_map(|(a, b)| Step::Detach(a, b)),
        8 => (space.clone(), every.clone()).prop_map(|(a, b)| Step::Read(a, b)),
        8 => (space.clone(), every, any::<u32>()).prop_map(|(a, b, c)| Step::Write(a, b, c)),
        1 => Just(Step::Clean),
        1 => space.prop_map(Step::End),
    ]
}

proptest! {
    #[test]
    fn everybody_reads_what_was_written_last(steps in prop::collection::vec(step(), 1..400)) {
        let mut system = System::new();
        for step in steps {
            match step {
                Step::Map(space, section) => {
                    if !system.tables.contains_key(&(space, section)) {
                        let frame = system.frame(space, section);
                        system.tables.insert((space, section), frame);
                    }
                }
                Step::Unmap(space, section) => system.unmap(space, section),
                Step::Attach(space, segment) => system.attached[space][segment] = true,
                Step::Detach(space, segment) => {
                    system.attached[space][segment] = false;
                    system.open[space] = BASE | system.domains[space].map_or(0, client);
                }
                Step::Read(space, section) => system.access(space, section, None),
                Step::Write(space, section, value) => system.access(space, section, Some(value)),
                Step::Clean => system.fass.clean(&mut system.machine),
                Step::End(space) => system.end(space),
            }
        }
    }
}

/// Each space writes and reads back a section of its own, in turn.
fn ring(spaces: usize, turns: usize) -> Machine {
    let mut system = System::new();
    for space in 0..spaces {
        // Apart from the others': nobody has a section in common with anybody.
        system.tables.insert((space, space), space);
    }
    let mut access = |space: usize, value| {
        for _ in 0..3 {
            system.fass.dirty |= system.open[space];
            if system.machine.access(space, system.open[space], Some(value)).is_some() {
                return;
            }
            let own = system.need_domain(space, None);
            system.fass.install(space, own, owner(space), &mut system.machine);
            system.machine.directory.insert(space, Word { frame: space, domain: own });
        }
        panic!("a fault that does not end");
    };
    for turn in 0..turns {
        (0..spaces).for_each(|space| access(space, turn as u32));
    }
    system.machine
}

#[test]
fn thirteen_spaces_that_do_not_conflict_flush_nothing() {
    let machine = ring(13, 50);
    assert_eq!((machine.cleaned, machine.flushed), (0, 0));
}

#[test]
fn more_spaces_flush_translations_and_no_cache() {
    let machine = ring(SPACES, 50);
    assert_eq!(machine.cleaned, 0, "what a space has in the cache stays while it has no domain");
    assert!(machine.flushed > 50, "domains go round");
}

#[test]
fn a_space_with_too_many_sections_begins_anew() {
    let mut fass: Fass<usize, bool> = Fass::new();
    let mut machine = Machine::default();
    let grant = fass.acquire(owner(9), |_| false, &mut machine).expect("there is one");
    for section in 0..SECTIONS / 2 {
        fass.install(section, grant.domain, owner(9), &mut machine);
    }
    let shown = (0..SECTIONS).filter(|section| fass.domain_of(*section) == grant.domain).count();
    assert!(shown <= usize::from(MOST), "{shown}");
}
