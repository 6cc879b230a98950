// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which segments are open: each space's VSIDs are its own.
//!
//! A VSID belongs to the directory that was the processor's when user mode first ran with it. It may become another's only when nothing of it
//! is left in a TLB or in the hashed table.

use super::walk::Controls;
use crate::violation::Rule;
use rustc_hash::FxHashMap;

/// Segments of users' addresses.
const USERS: usize = (abi::arch::powerpc::layout::USER_END >> 28) as usize;
/// What this kernel scatters VSIDs by (`kernel/mmu/src/vsid.rs`): those of its context 0, which no space has, are multiples.
const SCATTER: u32 = 0x005b_d1e9;

/// Whether no space has this VSID: it stands in a segment that is shut.
#[must_use]
pub fn is_shut(vsid: u32) -> bool {
    (0..16).any(|segment: u32| segment.wrapping_mul(SCATTER) & 0xff_ffff == vsid)
}

/// Whose VSIDs are.
#[derive(Default)]
pub struct Spaces {
    owners: FxHashMap<u32, u32>,
    /// Who wrote each segment register last.
    writers: [u32; 16],
    /// The registers that were written since user mode ran last.
    written: u16,
    /// The directory with which it ran.
    directory: u32,
}

impl Spaces {
    /// A segment register is written.
    pub fn write(&mut self, segment: usize, instruction: u32) {
        self.writers[segment] = instruction;
        self.written |= 1 << segment;
    }

    /// User mode goes on. `has` says whether anything of a VSID is left, `found` is told of a rule that is broken, the first address of the
    /// segment, and who wrote its register.
    pub fn enter_user(&mut self, controls: &Controls, mut has: impl FnMut(u32) -> bool, mut found: impl FnMut(Rule, u32, u32)) {
        if self.written == 0 && self.directory == controls.directory {
            return;
        }
        for segment in 0..USERS {
            let (vsid, start) = (controls.segments[segment] & 0xff_ffff, (segment as u32) << 28);
            if is_shut(vsid) {
                continue;
            }
            let is_new = self.written & 1 << segment != 0;
            let owner = self.owners.insert(vsid, controls.directory);
            if owner.is_none_or(|owner| owner == controls.directory) {
                continue;
            }
            if !is_new {
                found(Rule::OpenSegment, start, self.writers[segment]);
            } else if has(vsid) {
                found(Rule::EarlyContext, start, self.writers[segment]);
            }
        }
        (self.written, self.directory) = (0, controls.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VSIDS: [u32; 2] = [0x10_0000, 0x20_0000];

    /// Two spaces run, the second with what the kernel left in segments 1 and 2.
    fn run(left: [Option<u32>; 2], has: bool) -> Vec<(Rule, u32)> {
        let (mut spaces, mut rules, mut controls) = (Spaces::default(), Vec::new(), Controls::default());
        for (directory, vsids) in [(0x1000, [Some(VSIDS[0]), Some(VSIDS[1])]), (0x2000, left)] {
            for (segment, vsid) in vsids.into_iter().enumerate().filter_map(|(index, vsid)| Some((index + 1, vsid?))) {
                controls.segments[segment] = vsid;
                spaces.write(segment, 7);
            }
            controls.directory = directory;
            spaces.enter_user(&controls, |_| has, |rule, address, _| rules.push((rule, address)));
        }
        rules
    }

    #[test]
    fn what_the_last_space_had_is_shut() {
        assert_eq!(run([Some(0), Some(SCATTER)], true), []);
        assert_eq!(run([Some(0x30_0000), Some(0x40_0000)], true), []);
        assert_eq!(run([Some(0), None], true), [(Rule::OpenSegment, 0x2000_0000)]);
    }

    #[test]
    fn a_vsid_is_anothers_when_nothing_of_it_is_left() {
        assert_eq!(run([Some(VSIDS[0]), Some(0)], false), []);
        assert_eq!(run([Some(VSIDS[0]), Some(0)], true), [(Rule::EarlyContext, 0x1000_0000)]);
    }
}
