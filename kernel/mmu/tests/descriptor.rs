// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segment descriptors that are cut short, against what the processor makes of one.

use mmu::descriptor::{clipped, tls};
use proptest::prelude::*;

const PAGE: u64 = 0x1000;
/// The bit of the upper word that says that the limit is in pages.
const PAGES: u32 = 1 << 23;
/// What a thread asks for: present; in pages.
const PRESENT: u32 = 1 << 23;
const IN_PAGES: u32 = 1 << 20;

/// The first address that a segment reaches, and the one after the last (Intel SDM volume 3,
/// section 3.4.5).
fn reach([low, high]: [u32; 2]) -> (u64, u64) {
    let base = u64::from(low >> 16 | (high & 0xff) << 16 | high & 0xff00_0000);
    let limit = u64::from(low & 0xffff | high & 0xf_0000);
    let bytes = if high & PAGES == 0 { limit + 1 } else { (limit + 1) * PAGE };
    (base, base + bytes)
}

/// The bits of the upper word that are neither base nor limit.
const fn flags(high: u32) -> u32 {
    high & 0x00f0_ff00
}

/// Addresses and limits, as often as not near where something changes.
fn address() -> impl Strategy<Value = u32> {
    let near = prop::sample::select(vec![
        0u32,
        0x1000,
        0xf_ffff,
        0x10_0000,
        0x6000_0000,
        0xdff0_0000,
        0xe000_0000,
        0xffff_ffff,
    ]);
    prop_oneof![
        any::<u32>(),
        (near, -3i32..4).prop_map(|(address, near)| address.wrapping_add_signed(near))
    ]
}

fn segment() -> impl Strategy<Value = [u32; 2]> {
    (address(), address(), 0u32..16)
        .prop_map(|(base, limit, flags)| tls(base, limit & 0xf_ffff | flags << 20))
}

/// Where the kernel may begin; also so close above the base that few bytes are left.
fn ends() -> impl Strategy<Value = ([u32; 2], u32)> {
    let close = |[low, high]: [u32; 2]| low >> 16 | (high & 0xff) << 16 | high & 0xff00_0000;
    segment().prop_flat_map(move |segment| {
        let near = (0u32..0x11_0000).prop_map(move |bytes| close(segment).saturating_add(bytes));
        let end = prop_oneof![2 => address(), 1 => near, 1 => Just(0xe000_0000)];
        (Just(segment), end)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn a_segment_ends_before_the_kernel((segment, end) in ends()) {
        let cut = clipped(segment, end);
        let (base, last) = reach(segment);
        let limit = u64::from(end);
        if segment == [0, 0] || base >= limit {
            prop_assert_eq!(cut, [0, 0], "nothing is left");
        } else if last <= limit {
            prop_assert_eq!(cut, segment, "all of it is");
        } else {
            let (start, cut_last) = reach(cut);
            prop_assert_eq!(start, base);
            prop_assert!(cut_last <= limit, "it reaches {:#x}", cut_last);
            prop_assert!(limit - cut_last < PAGE, "{:#x} bytes are lost", limit - cut_last);
            let in_bytes = segment[1] & PAGES == 0;
            prop_assert!(cut_last == limit || !in_bytes && limit - base > 1 << 20, "to the byte, where a limit can say so");
            prop_assert_eq!(flags(cut[1]) & !PAGES, flags(segment[1]) & !PAGES, "type, level and size stay");
        }
        // Once is enough.
        prop_assert_eq!(clipped(cut, end), cut);
    }
}

/// A segment that is all addresses ends where the kernel begins, and wherever that is.
#[test]
fn a_flat_segment_is_cut_to_the_page() {
    for end in [0xe000_0000, 0x10_0000, 0x10_0001, 0x10_1000, 0xf_ffff, 0x1000, 1] {
        let (base, last) = reach(clipped(tls(0, 0xf_ffff | PRESENT | IN_PAGES), end));
        let expected = if end > 0x10_0000 { end & !0xfff } else { end };
        assert_eq!((base, last), (0, u64::from(expected)), "{end:#x}");
    }
    assert_eq!(clipped(tls(0, 0xf_ffff | PRESENT | IN_PAGES), 0), [0, 0]);
}
