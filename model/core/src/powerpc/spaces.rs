// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which segments are open. Each space has VSIDs of a context of its own, that of its first
//! segment.
//!
//! A VSID belongs to the directory that the processor had when user mode first ran with it. Another
//! space may get it only when no TLB and no entry of the hashed table has anything of it. There are
//! two kinds of segments with another context. One has only pages of a Segment, which many spaces
//! have by the same VSIDs. The other one is a server's window: the space has nothing of its own
//! there, and the window is open only while the server's code runs, which is there, too. Blocks
//! that users see by a BAT are treated like a window.

use super::vsid::{Function, is_shut};
use super::walk::{Belongs, Controls, belongs, is_hashed, page};
use crate::memory::Physical;
use crate::violation::Rule;
use rustc_hash::FxHashMap;

/// Segments of users' addresses.
const USERS: usize = (abi::arch::powerpc::layout::USER_END >> 28) as usize;
/// The owner of a VSID that is a Segment's, for whatever space: no directory.
const SEGMENT: u32 = 1;

/// What shows whether a translation with a VSID is left anywhere.
pub struct Left<'a, H, M> {
    /// Whether a TLB may have an entry with it, other than that of one page.
    pub is_held: H,
    /// Where the hashed table is.
    pub memory: &'a mut M,
}

impl<H: Fn(u32, Option<u32>) -> bool, M: Physical> Left<'_, H, M> {
    /// Whether a translation with a VSID is left, other than entries of one page.
    fn has(&mut self, vsid: u32, hash: u32, but: Option<u32>) -> bool {
        (self.is_held)(vsid, but) || is_hashed(self.memory, hash, vsid, but)
    }
}

/// The owner of each VSID.
#[derive(Default)]
pub struct Spaces {
    /// The function that made the VSIDs.
    function: Function,
    owners: FxHashMap<u32, u32>,
    /// The instruction that wrote each segment register last.
    writers: [u32; 16],
    /// The registers that were written since user mode ran last.
    written: u16,
    /// The directory with which user mode ran last.
    directory: u32,
    /// The segments of a server's window that were open at that time.
    window: u16,
}

impl Spaces {
    /// For a kernel that makes its VSIDs by this function.
    pub fn new(function: Function) -> Self {
        Self { function, ..Self::default() }
    }

    /// A segment register is written.
    pub fn write(&mut self, segment: usize, instruction: u32) {
        self.writers[segment] = instruction;
        self.written |= 1 << segment;
    }

    /// User mode continues at an address. `found` gets each rule that is broken, the first address
    /// of the segment, and the instruction that wrote its register.
    pub fn enter_user<M: Physical>(
        &mut self,
        at: u32,
        controls: &Controls,
        mut left: Left<'_, impl Fn(u32, Option<u32>) -> bool, M>,
        mut found: impl FnMut(Rule, u32, u32),
    ) {
        if self.written != 0 || self.directory != controls.directory {
            self.look(at, controls, &mut left, &mut found);
        }
        let blocks = controls.bats.iter().flatten().filter(|bat| bat.is_users());
        for segment in blocks.map(|bat| bat.upper >> 28) {
            if self.window & 1 << segment == 0 {
                found(Rule::OpenSegment, segment << 28, self.writers[segment as usize]);
            }
        }
        let outside = self.window != 0 && self.window & 1 << (at >> 28) == 0;
        if outside {
            let segment = self.window.trailing_zeros();
            found(Rule::OpenSegment, segment << 28, self.writers[segment as usize]);
        }
    }

    /// Checks all segments.
    fn look<M: Physical>(
        &mut self,
        at: u32,
        controls: &Controls,
        left: &mut Left<'_, impl Fn(u32, Option<u32>) -> bool, M>,
        found: &mut impl FnMut(Rule, u32, u32),
    ) {
        let context = |vsid| self.function.context(vsid);
        let own = context(controls.segments[0]);
        // What is executed first was missed, and put in, before anything was executed.
        let put_in = |segment: usize| (at >> 28 == segment as u32).then_some(page(at));
        self.window = 0;
        for segment in 0..USERS {
            let (vsid, start) = (controls.segments[segment] & 0xff_ffff, (segment as u32) << 28);
            if is_shut(vsid) {
                continue;
            }
            let owner = if context(vsid) == own {
                controls.directory
            } else {
                match belongs(left.memory, controls.directory, segment as u32) {
                    Belongs::Segments => SEGMENT,
                    Belongs::Space => {
                        found(Rule::OpenSegment, start, self.writers[segment]);
                        continue;
                    }
                    Belongs::Server => {
                        self.window |= 1 << segment;
                        // It is the server's, whose directory is not known here. If nothing is
                        // left of who had it before, it is not that one's any more.
                        if self.owners.contains_key(&vsid)
                            && !left.has(vsid, controls.hash, put_in(segment))
                        {
                            self.owners.remove(&vsid);
                        }
                        continue;
                    }
                }
            };
            if self.owners.insert(vsid, owner).is_none_or(|before| before == owner) {
                continue;
            }
            if self.written & 1 << segment == 0 {
                found(Rule::OpenSegment, start, self.writers[segment]);
                continue;
            }
            if left.has(vsid, controls.hash, put_in(segment)) {
                found(Rule::EarlyContext, start, self.writers[segment]);
            }
        }
        (self.written, self.directory) = (0, controls.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Physical;
    use crate::powerpc::walk::Bat;
    use mmu::vsid::{self, vsid};

    const FOUND_OPEN: (Rule, u32) = (Rule::OpenSegment, 0x2000_0000);
    /// Of a directory's entries, that of segment 2.
    struct Entry(u32);

    impl Physical for Entry {
        fn read(&mut self, address: u32) -> Option<u32> {
            Some(if address & 0xfff == 0x200 { self.0 } else { 0 })
        }
    }

    const FUNCTIONS: [Function; 3] =
        [Function::Process, Function::ProcessAndSegment, Function::Scattered];

    #[test]
    fn contexts_are_the_kernels() {
        for (function, kernels) in FUNCTIONS.into_iter().zip(vsid::Function::ALL) {
            for number in [0, 1, 0x1234_5678 & 0xff_ffff, 0xff_ffff] {
                assert_eq!(function.context(number), kernels.context(number), "{function:?}");
            }
        }
        assert!(is_shut(vsid(0, 7)) && !is_shut(vsid(1, 7)));
    }

    /// By each function that makes VSIDs a space's segments are its own, and what the last one
    /// left open is found.
    #[test]
    fn whatever_makes_vsids() {
        for (function, kernels) in FUNCTIONS.into_iter().zip(vsid::Function::ALL) {
            for (last, found) in [(6, None), (5, Some(FOUND_OPEN))] {
                let (mut spaces, mut rules) = (Spaces::new(function), Vec::new());
                for (directory, contexts) in [(0x1000, [5; 3]), (0x2000, [6, 6, last])] {
                    let mut controls = Controls { directory, ..Controls::default() };
                    for (segment, context) in contexts.into_iter().enumerate() {
                        controls.segments[segment] = kernels.vsid(context, segment as u32);
                        spaces.write(segment, 7);
                    }
                    let left = Left { is_held: |_, _| true, memory: &mut Entry(0x100) };
                    spaces.enter_user(0, &controls, left, |rule, address, _| {
                        rules.push((rule, address));
                    });
                }
                assert_eq!(rules, Vec::from_iter(found), "{function:?}");
            }
        }
    }

    /// Two spaces run, the first by context 5, the second with what the kernel left in its first
    /// three segments, of which the last has such an entry, at an address.
    fn run(left: [Option<u32>; 3], is_held: bool, entry: u32, at: u32) -> Vec<(Rule, u32)> {
        let (mut spaces, mut rules, mut controls) =
            (Spaces::default(), Vec::new(), Controls::default());
        let own = [0, 1, 2].map(|segment| Some(vsid(5, segment)));
        for (directory, vsids, at) in [(0x1000, own, 0), (0x2000, left, at)] {
            for (segment, vsid) in
                vsids.into_iter().enumerate().filter_map(|(index, vsid)| Some((index, vsid?)))
            {
                controls.segments[segment] = vsid;
                spaces.write(segment, 7);
            }
            controls.directory = directory;
            let left = Left { is_held: |_, _| is_held, memory: &mut Entry(entry) };
            spaces.enter_user(at, &controls, left, |rule, address, _| rules.push((rule, address)));
        }
        rules
    }

    #[test]
    fn what_the_last_space_had_is_shut() {
        let own = [0, 1].map(|segment| Some(vsid(6, segment)));
        let with = |last| [own[0], own[1], last];
        assert_eq!(run(with(Some(vsid(0, 2))), true, 0, 0), []);
        assert_eq!(run(with(Some(vsid(6, 2))), true, 0x100, 0), []);
        assert_eq!(run(with(None), true, 0, 0), [FOUND_OPEN]);
        assert_eq!(run(with(None), true, 0x100, 0), [FOUND_OPEN], "it has pages there");
    }

    /// The last segment is a server's window in the second space.
    #[test]
    fn a_window_is_open_while_the_servers_code_runs() {
        let with = |last| [Some(vsid(6, 0)), Some(vsid(6, 1)), Some(vsid(last, 2))];
        assert_eq!(run(with(7), true, 0x140, 0x2000_1000), []);
        assert_eq!(run(with(7), true, 0x140, 0x1000), [FOUND_OPEN]);
        assert_eq!(
            run(with(7), true, 0x100, 0x2000_1000),
            [FOUND_OPEN],
            "the space has a page of its own there"
        );
        assert_eq!(run(with(0), true, 0x140, 0x1000), []);
    }

    /// The last segment has a Segment, by the VSID that another space had there for itself.
    #[test]
    fn a_segment_is_many_spaces() {
        let with = |last| [Some(vsid(6, 0)), Some(vsid(6, 1)), Some(vsid(last, 2))];
        for entry in [0x800, 0x901] {
            assert_eq!(run(with(7), true, entry, 0x1000), []);
            assert_eq!(run(with(5), true, entry, 0x1000), [(Rule::EarlyContext, 0x2000_0000)]);
        }
        assert_eq!(run(with(7), true, 0x101, 0x1000), [FOUND_OPEN], "a page of its own");
    }

    /// A server has a VSID that another space had, at first in its window, then by its own tables.
    #[test]
    fn a_servers_vsids_are_its_own_from_its_window_on() {
        for (is_held, found) in [(false, vec![]), (true, vec![(Rule::EarlyContext, 0x2000_0000)])] {
            let (mut spaces, mut rules) = (Spaces::default(), Vec::new());
            let mut enter = |directory, contexts: [u32; 3], entry, is_held, at| {
                let mut controls = Controls { directory, ..Controls::default() };
                for (segment, context) in contexts.into_iter().enumerate() {
                    controls.segments[segment] = vsid(context, segment as u32);
                    spaces.write(segment, 7);
                }
                let is_held = |number, _| is_held && number == vsid(5, 2);
                let left = Left { is_held, memory: &mut Entry(entry) };
                spaces.enter_user(at, &controls, left, |rule, address, _| {
                    rules.push((rule, address))
                });
            };
            enter(0x1000, [5, 5, 5], 0x100, false, 0);
            enter(0x2000, [6, 6, 5], 0x140, is_held, 0x2000_1000);
            enter(0x3000, [5, 5, 5], 0x140, true, 0x2000_1000);
            assert_eq!(rules, found);
        }
    }

    /// A BAT shows users the last segment while it is open or shut.
    #[test]
    fn a_block_is_seen_while_a_window_is_open() {
        let open = |vsid: u32, at: u32| {
            let (mut spaces, mut rules) = (Spaces::default(), Vec::new());
            let mut controls = Controls { directory: 0x1000, ..Controls::default() };
            controls.segments[..3].copy_from_slice(&[self::vsid(6, 0), self::vsid(6, 1), vsid]);
            controls.bats[1][3] = Bat { upper: 0x2000_0001, lower: 2 };
            spaces.write(2, 7);
            let left = Left { is_held: |_, _| true, memory: &mut Entry(0x140) };
            spaces.enter_user(at, &controls, left, |rule, address, _| rules.push((rule, address)));
            rules
        };
        assert_eq!(open(vsid(7, 2), 0x2000_1000), []);
        assert_eq!(open(vsid(0, 2), 0x1000), [FOUND_OPEN]);
    }

    #[test]
    fn a_vsid_is_anothers_when_nothing_of_it_is_left() {
        let again = [Some(vsid(5, 0)), Some(vsid(0, 1)), Some(vsid(0, 2))];
        assert_eq!(run(again, false, 0, 0), []);
        assert_eq!(run(again, true, 0, 0), [(Rule::EarlyContext, 0)]);
    }
}
