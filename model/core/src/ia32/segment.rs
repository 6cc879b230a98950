// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ring 1, and a small space at ring 3, can access by segments (Intel SDM, volume 3, 3.4.5 and
//! 3.5.1).
//!
//! Ring 1 uses supervisor pages, so only segment limits keep it from the kernel. A small space is
//! next to others that have user pages, too: so its segments must end where it ends. An emulator
//! may not check limits.

use crate::violation::{Rule, Segment};
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess, Register};
use std::ops::RangeInclusive;

/// A segment register, by its number in encodings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum SegmentRegister {
    /// Destinations of string instructions.
    Es = 0,
    /// Code.
    Cs = 1,
    /// The stack.
    Ss = 2,
    /// Data.
    Ds = 3,
    /// Data of a thread, by a prefix.
    Fs = 4,
    /// The same.
    Gs = 5,
}

impl SegmentRegister {
    /// Those that `mov` and `pop` load with data segments at any privilege; SS has the privilege of
    /// CS.
    pub const DATA: [Self; 4] = [Self::Ds, Self::Es, Self::Fs, Self::Gs];

    /// The one by which the 32-bit instruction encoded in the first of `bytes` reads memory, or
    /// writes it if `write`. Of two by which it does the same, as `cmps` has, it is the one of the
    /// source.
    #[must_use]
    pub fn used_by(bytes: &[u8], write: bool) -> Option<Self> {
        let instruction = Decoder::new(32, bytes, DecoderOptions::NONE).decode();
        let does = |access: OpAccess| {
            let (read, written) = match access {
                OpAccess::Read | OpAccess::CondRead => (true, false),
                OpAccess::Write | OpAccess::CondWrite => (false, true),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
                _ => (false, false),
            };
            if write { written } else { read }
        };
        let mut factory = InstructionInfoFactory::new();
        let used = factory.info(&instruction).used_memory();
        used.iter()
            .find(|memory| does(memory.access()))
            .and_then(|memory| Self::named(memory.segment()))
    }

    /// It as a report has it, with what it holds.
    pub(super) fn segment(self, selector: u16) -> Segment {
        Segment {
            register: self as u8,
            name: ["ES", "CS", "SS", "DS", "FS", "GS"][self as usize],
            selector,
        }
    }

    fn named(register: Register) -> Option<Self> {
        Some(match register {
            Register::ES => Self::Es,
            Register::CS => Self::Cs,
            Register::SS => Self::Ss,
            Register::DS => Self::Ds,
            Register::FS => Self::Fs,
            Register::GS => Self::Gs,
            _ => return None,
        })
    }
}

/// The table indicator of a selector: that of local descriptors, which no space has.
const LOCAL: u16 = 4;

/// A descriptor in the global table.
#[derive(Clone, Copy)]
struct Descriptor {
    low: u32,
    high: u32,
}

impl Descriptor {
    /// Whether it is of code or data, and present.
    fn is_loadable(self) -> bool {
        const SEGMENT: u32 = 1 << 12;
        const PRESENT: u32 = 1 << 15;
        self.high & (SEGMENT | PRESENT) == SEGMENT | PRESENT
    }

    fn privilege(self) -> u32 {
        self.high >> 13 & 3
    }

    /// The first and the last offset, if it has any.
    fn offsets(self) -> Option<(u32, u32)> {
        const CODE: u32 = 1 << 11;
        const EXPAND_DOWN: u32 = 1 << 10;
        const BIG: u32 = 1 << 22;
        const IN_PAGES: u32 = 1 << 23;
        let limit = self.low & 0xffff | self.high & 0xf_0000;
        let limit = if self.high & IN_PAGES == 0 { limit } else { limit << 12 | 0xfff };
        if self.high & (CODE | EXPAND_DOWN) != EXPAND_DOWN {
            return Some((0, limit));
        }
        let last = if self.high & BIG == 0 { 0xffff } else { u32::MAX };
        limit.checked_add(1).filter(|first| *first <= last).map(|first| (first, last))
    }

    /// Linear addresses of the first and the last byte, from 2^32 on those that wrap around, if it
    /// has any.
    fn linear(self) -> Option<(u64, u64)> {
        let base = u64::from(self.low >> 16 | (self.high & 0xff) << 16 | self.high & 0xff00_0000);
        self.offsets().map(|(first, last)| (base + u64::from(first), base + u64::from(last)))
    }

    /// Whether a byte of it lies at `address` or above. Linear addresses wrap around.
    fn reaches(self, address: u32) -> bool {
        const AROUND: u64 = 1 << 32;
        self.linear().is_some_and(|(first, last)| {
            last >= AROUND + u64::from(address) || first < AROUND && last >= u64::from(address)
        })
    }

    /// Whether a byte of it lies outside a range.
    fn leaves(self, region: &RangeInclusive<u32>) -> bool {
        self.linear().is_some_and(|(first, last)| {
            first < u64::from(*region.start()) || last > u64::from(*region.end())
        })
    }
}

/// The descriptors of a table.
fn descriptors(table: &[u8]) -> Vec<Descriptor> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    table
        .chunks_exact(8)
        .map(|bytes| Descriptor { low: word(&bytes[..4]), high: word(&bytes[4..]) })
        .collect()
}

/// The one that a selector names.
fn named(descriptors: &[Descriptor], selector: u16) -> Option<Descriptor> {
    descriptors.get(usize::from(selector >> 3)).filter(|_| selector & LOCAL == 0).copied()
}

/// The selectors of open descriptors that rings from `least` on can load, and the registers that
/// have such a selector, or one whose descriptor is gone: such a register keeps the segment that it
/// was loaded with, and where that ends is unknown.
fn open(
    descriptors: &[Descriptor],
    registers: &[u16],
    least: u32,
    is_open: impl Fn(Descriptor) -> bool,
) -> [Vec<u16>; 2] {
    let loadable =
        |descriptor: Descriptor| descriptor.is_loadable() && descriptor.privilege() >= least;
    let all = descriptors.iter().enumerate().skip(1);
    let left = all
        .filter(|(_, descriptor)| loadable(**descriptor) && is_open(**descriptor))
        .map(|(index, _)| (index * 8) as u16);
    let is_null = |selector: u16| selector & !3 == 0;
    let is_closed = |selector: u16| {
        named(descriptors, selector)
            .is_some_and(|descriptor| descriptor.is_loadable() && !is_open(descriptor))
    };
    let loaded = registers.iter().filter(|&&selector| !is_null(selector) && !is_closed(selector));
    [left.collect(), loaded.copied().collect()]
}

fn named_rules(rules: [Rule; 2], selectors: [Vec<u16>; 2]) -> Vec<(Rule, u16)> {
    rules
        .into_iter()
        .zip(selectors)
        .flat_map(|(rule, selectors)| selectors.into_iter().map(move |selector| (rule, selector)))
        .collect()
}

/// The rules that are broken, with selectors, if ring 1 continues with this table and these
/// selectors in its data segment registers, and the kernel begins at `limit`.
pub fn violations(table: &[u8], registers: &[u16], limit: u32) -> Vec<(Rule, u16)> {
    let selectors = open(&descriptors(table), registers, 1, |descriptor| descriptor.reaches(limit));
    named_rules([Rule::OpenDescriptor, Rule::OpenSegmentRegister], selectors)
}

/// The linear addresses of a code segment, if it is one of a small space: any other reaches from 0
/// to the kernel, which begins at `limit`.
pub fn region(table: &[u8], code: u16, limit: u32) -> Option<RangeInclusive<u32>> {
    let (first, last) =
        named(&descriptors(table), code).filter(|descriptor| descriptor.is_loadable())?.linear()?;
    let is_small = first > 0 || last < u64::from(limit) - 1;
    is_small.then(|| first as u32..=last.min(u64::from(u32::MAX)) as u32)
}

/// The rules that are broken, with selectors, if ring 3 continues in a small space, with this table
/// and these selectors in its code segment register and its data segment registers.
pub fn small_violations(
    table: &[u8],
    code: u16,
    registers: &[u16],
    region: &RangeInclusive<u32>,
) -> Vec<(Rule, u16)> {
    const LEAST: u64 = 4 << 20;
    let size = u64::from(*region.end()) + 1 - u64::from(*region.start());
    let is_region =
        size >= LEAST && size.is_power_of_two() && u64::from(*region.start()).is_multiple_of(size);
    let selectors = open(&descriptors(table), registers, 3, |descriptor| descriptor.leaves(region));
    let mut found = named_rules([Rule::WideDescriptor, Rule::WideSegmentRegister], selectors);
    found.extend((!is_region).then_some((Rule::OddRegion, code)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KERNEL: u32 = 0xe000_0000;
    /// Access bytes: present code and data of ring 3, data that expands down.
    const CODE: u32 = 0xfb;
    const DATA: u32 = 0xf3;
    const DOWN: u32 = 0xf7;
    /// Flags: limit in pages, 32 bits.
    const PAGES: u32 = 8;
    const BIG: u32 = 4;

    fn descriptor(base: u32, limit: u32, access: u32, flags: u32) -> Descriptor {
        Descriptor {
            low: base << 16 | limit & 0xffff,
            high: base & 0xff00_0000
                | flags << 20
                | limit & 0xf_0000
                | access << 8
                | base >> 16 & 0xff,
        }
    }

    /// Null, then these.
    fn table(descriptors: &[Descriptor]) -> Vec<u8> {
        let words = descriptors.iter().flat_map(|descriptor| [descriptor.low, descriptor.high]);
        [0, 0].into_iter().chain(words).flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn segments_end_where_they_say() {
        let reaches =
            |base, limit, access, flags| descriptor(base, limit, access, flags).reaches(KERNEL);
        for access in [CODE, DATA] {
            assert!(!reaches(0, 0xd_ffff, access, PAGES | BIG), "[0, K)");
            assert!(reaches(0, 0xe_0000, access, PAGES | BIG), "a page more");
            assert!(reaches(0, 0xf_ffff, access, PAGES | BIG), "flat");
            assert!(!reaches(0, 0xf_ffff, access, BIG), "1 MiB");
            assert!(!reaches(0xdfff_ff00, 0xff, access, BIG), "up to K");
            assert!(reaches(0xdfff_ff01, 0xff, access, BIG), "a byte more");
            assert!(reaches(0x1000, 0xf_ffff, access, PAGES | BIG), "around");
        }
        assert!(
            reaches(0, 0xf_ffff, CODE | 4, PAGES | BIG),
            "conforming code does not expand down"
        );
        assert!(reaches(0, 0, DOWN, PAGES | BIG), "from a page to the end");
        assert!(!reaches(0, 0, DOWN, PAGES), "up to 64 KiB");
        assert!(!reaches(0, 0xf_ffff, DOWN, PAGES | BIG), "nothing");
        assert!(!reaches(KERNEL, 0x1_ffff, DOWN, PAGES | BIG), "only beyond the last address");
        assert!(reaches(0xf000_0000, 0x1_0000, DOWN, PAGES | BIG), "after it, and up again");
    }

    proptest! {
        #[test]
        fn a_segment_reaches_what_one_of_its_bytes_does(
            base in any::<u32>(),
            limit in 0..0x10_0000_u32,
            (access, big, pages) in (prop_oneof![Just(CODE), Just(DATA), Just(DOWN)], any::<bool>(), any::<bool>()),
            kernel in 1_u32..,
            somewhere in prop::collection::vec(any::<u32>(), 20),
        ) {
            let flags = u32::from(big) * BIG + u32::from(pages) * PAGES;
            let size = if pages { limit * 4096 + 4095 } else { limit };
            let top = if big { u32::MAX } else { 0xffff };
            let valid = |offset: u32| if access == DOWN { offset > size && offset <= top } else { offset <= size };
            // Where offsets begin and end to be of the segment, and linear addresses of the kernel.
            let ends = [0, size, size.wrapping_add(1), top, kernel.wrapping_sub(base), base.wrapping_neg().wrapping_sub(1)];
            let reached = |offset: &u32| valid(*offset) && base.wrapping_add(*offset) >= kernel;
            let found = descriptor(base, limit, access, flags).reaches(kernel);
            prop_assert_eq!(found, ends.iter().any(reached));
            prop_assert!(found || !somewhere.iter().any(reached));
        }
    }

    #[test]
    fn instructions_say_which_segment_they_use() {
        use SegmentRegister::{Cs, Ds, Es, Fs, Gs, Ss};
        for (what, bytes, read, written) in [
            ("mov eax, [ecx]", &[0x8b, 0x01][..], Some(Ds), None),
            ("mov [ebp], eax", &[0x89, 0x45, 0], None, Some(Ss)),
            ("mov [esp], eax", &[0x89, 0x04, 0x24], None, Some(Ss)),
            ("mov [ds:ebp], eax", &[0x3e, 0x89, 0x45, 0], None, Some(Ds)),
            ("mov eax, [fs:ecx]", &[0x64, 0x8b, 0x01], Some(Fs), None),
            ("mov [gs:1], eax", &[0x65, 0xa3, 1, 0, 0, 0], None, Some(Gs)),
            ("mov eax, [cs:ecx]", &[0x2e, 0x8b, 0x01], Some(Cs), None),
            ("lock add [es:ecx], eax", &[0xf0, 0x26, 0x01, 0x01], Some(Es), Some(Es)),
            ("rep movsd", &[0xf3, 0xa5], Some(Ds), Some(Es)),
            ("rep movsd from gs", &[0xf3, 0x65, 0xa5], Some(Gs), Some(Es)),
            ("push dword [ecx]", &[0xff, 0x31], Some(Ds), Some(Ss)),
            ("call 0", &[0xe8, 0, 0, 0, 0], None, Some(Ss)),
            ("mov eax, ecx", &[0x89, 0xc8], None, None),
            ("no instruction", &[0x0f, 0xff], None, None),
        ] {
            let mut with_next = bytes.to_vec();
            with_next.extend([0x90; 4]);
            for bytes in [bytes, &with_next] {
                assert_eq!(SegmentRegister::used_by(bytes, false), read, "{what} reads");
                assert_eq!(SegmentRegister::used_by(bytes, true), written, "{what} writes");
            }
        }
    }

    #[test]
    fn all_that_ring_1_can_load_is_looked_at() {
        let flat = |access| descriptor(0, 0xf_ffff, access, PAGES | BIG);
        let found = |access| violations(&table(&[flat(access)]), &[0; 4], KERNEL);
        for (what, access, expected) in [
            ("ring 0", 0x93, false),
            ("ring 1", 0xb3, true),
            ("ring 2", 0xd3, true),
            ("ring 3", DATA, true),
            ("ring 3's code", CODE, true),
            ("not present", 0x73, false),
            ("a task-state segment", 0xeb, false),
        ] {
            assert_eq!(
                found(access),
                [(Rule::OpenDescriptor, 8)][..usize::from(expected)],
                "{what}"
            );
        }
        let mut bytes = table(&[descriptor(0, 0xd_ffff, DATA, PAGES | BIG)]);
        bytes[..8].copy_from_slice(&table(&[flat(DATA)])[8..]);
        assert!(
            violations(&bytes, &[0; 4], KERNEL).is_empty(),
            "nobody can load the null descriptor"
        );
    }

    #[test]
    fn registers_hold_what_ends_below() {
        let limited = descriptor(0, 0xd_ffff, DATA, PAGES | BIG);
        let absent = descriptor(0, 0xd_ffff, 0x73, PAGES | BIG);
        let kernel = descriptor(0, 0xf_ffff, 0x93, PAGES | BIG);
        let task = descriptor(0, 0x67, 0xeb, 0);
        let table = table(&[limited, absent, kernel, task]);
        for (what, selector, expected) in [
            ("null", 0, false),
            ("null with a privilege", 3, false),
            ("ends below", 0xb, false),
            ("not present", 0x13, true),
            ("ring 0's, flat", 0x18, true),
            ("no segment", 0x23, true),
            ("beyond the table", 0x2b, true),
            ("a local one", 0xf, true),
        ] {
            for place in 0..4 {
                let mut registers = [0; 4];
                registers[place] = selector;
                let expected = &[(Rule::OpenSegmentRegister, selector)][..usize::from(expected)];
                assert_eq!(
                    violations(&table, &registers, KERNEL),
                    expected,
                    "{what} in register {place}"
                );
            }
        }
    }
}
