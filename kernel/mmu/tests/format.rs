// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation-table entries and descriptors.

use abi::{PhysAddr, Rights};
use mmu::alpha::{self, Alpha};
use mmu::armv5::{self, Armv5, SECTION_BYTES, SECTIONS};
use mmu::ia32::{Ia32, bits};
use mmu::mips::{self, Mips};
use mmu::powerpc::{self, PowerPc};
use mmu::x86_64::{X86_64, bits as wide};
use mmu::{Attributes, Format, Leaf};
use proptest::prelude::*;

fn leaf() -> impl Strategy<Value = Leaf> {
    let rights = prop_oneof![Just(Rights::NONE), Just(Rights(5)), Just(Rights::RWX)];
    let most = prop_oneof![Just(Rights(5)), Just(Rights::RWX)];
    let attributes =
        prop_oneof![Just(Attributes::Cached), Just(Attributes::Uncached), Just(Attributes::Device)];
    (any::<u32>(), rights, most, attributes, any::<bool>()).prop_map(
        |(physical, rights, most, attributes, global)| Leaf {
            physical: PhysAddr((physical & bits::ADDRESS).into()),
            rights: rights.intersection(most),
            most,
            attributes,
            global,
        },
    )
}

/// Rights that x86-64 can tell apart: what can be reached can be read.
fn wide_rights() -> impl Strategy<Value = Rights> {
    prop_oneof![
        Just(Rights::READ),
        Just(Rights::READ.union(Rights::WRITE)),
        Just(Rights::READ.union(Rights::EXECUTE)),
        Just(Rights::RWX)
    ]
}

fn wide_leaf() -> impl Strategy<Value = Leaf> {
    let rights = prop_oneof![Just(Rights::NONE), wide_rights()];
    (leaf(), rights, wide_rights()).prop_map(|(leaf, rights, most)| Leaf {
        rights: rights.intersection(most),
        most,
        ..leaf
    })
}

proptest! {
    #[test]
    fn an_entry_says_what_was_put_into_it(leaf in leaf()) {
        prop_assert_eq!(Ia32::decode(Ia32::leaf(leaf)), Some(leaf));
    }

    #[test]
    fn no_entry_gives_a_right_that_was_not_asked_for(leaf in leaf()) {
        let entry = Ia32::leaf(leaf);
        prop_assert_eq!(entry & bits::GLOBAL != 0, leaf.global);
        prop_assert_eq!(entry & bits::PRESENT != 0, leaf.rights != Rights::NONE);
        prop_assert_eq!(entry & bits::WRITABLE != 0, leaf.rights.contains(Rights::WRITE));
    }

    #[test]
    fn a_table_entry_says_what_was_put_into_it(physical in any::<u32>()) {
        let physical = PhysAddr((physical & bits::ADDRESS).into());
        prop_assert_eq!(Ia32::decode_table(Ia32::table(physical)), Some((physical, false)));
        prop_assert_eq!(Ia32::decode_large(Ia32::table(physical)), None);
    }

    #[test]
    fn a_large_entry_says_what_was_put_into_it(leaf in leaf()) {
        let leaf = Leaf { physical: leaf.physical.align_down(Ia32::SPAN), ..leaf };
        let entry = Ia32::large(leaf);
        prop_assert_eq!(Ia32::decode_large(entry), Some((leaf, false)));
        prop_assert_eq!(Ia32::decode_table(entry), None);
        prop_assert_eq!(entry & bits::PRESENT != 0, leaf.rights != Rights::NONE);
        // Bits that are reserved, or an address beyond 4 GiB, and the one that means a table's
        // attributes.
        prop_assert_eq!(entry & 0x003f_f000, 0);
    }

    #[test]
    fn a_shared_entry_gives_at_most_its_rights(leaf in leaf(), writes in any::<bool>()) {
        let rights = if writes { Rights::RWX } else { Rights(5) };
        let leaf = Leaf { physical: leaf.physical.align_down(Ia32::SPAN), ..leaf };
        let given = Leaf { rights: leaf.rights.intersection(rights), ..leaf };
        prop_assert_eq!(Ia32::decode_large(Ia32::shared(Ia32::large(leaf), rights)), Some((given, true)));
        let table = Ia32::shared(Ia32::table(leaf.physical), rights);
        prop_assert_eq!(Ia32::decode_table(table), Some((leaf.physical, true)));
        prop_assert_eq!(table & bits::WRITABLE != 0, writes);
        prop_assert_eq!(Ia32::table_rights(table), rights);
        prop_assert_eq!(Ia32::table_rights(Ia32::table(leaf.physical)), Rights::RWX);
        let nothing = Ia32::shared(0, rights);
        prop_assert!(nothing != 0, "the place is the Segment's");
        prop_assert_eq!((Ia32::decode_table(nothing), Ia32::decode_large(nothing)), (None, None));
    }

    #[test]
    fn a_wide_entry_says_what_was_put_into_it(leaf in wide_leaf()) {
        let entry = X86_64::leaf(leaf);
        prop_assert_eq!(X86_64::decode(entry), Some(leaf));
        prop_assert_eq!(entry & wide::PRESENT != 0, leaf.rights != Rights::NONE);
        prop_assert_eq!(entry & wide::WRITABLE != 0, leaf.rights.contains(Rights::WRITE));
        prop_assert_eq!(entry & wide::NO_EXECUTE == 0, leaf.rights.contains(Rights::EXECUTE));
        // Without the present bit its address is none of RAM.
        let is_away = entry & wide::AWAY == wide::AWAY;
        prop_assert_eq!(is_away, leaf.rights == Rights::NONE);
        if let Some(after) = leaf.physical.0.checked_add(abi::PAGE_SIZE) {
            let after = Leaf { physical: PhysAddr(after), ..leaf };
            prop_assert_eq!(X86_64::next(entry), X86_64::leaf(after));
        }
        prop_assert_eq!(X86_64::decode_table(X86_64::table(leaf.physical)), Some((leaf.physical, false)));
        prop_assert_eq!(X86_64::decode_large(X86_64::table(leaf.physical)), None);
        let leaf = Leaf { physical: leaf.physical.align_down(X86_64::SPAN), ..leaf };
        let large = X86_64::large(leaf);
        prop_assert_eq!((X86_64::decode_large(large), X86_64::decode_table(large)), (Some((leaf, false)), None));
    }

    #[test]
    fn a_wide_shared_entry_gives_at_most_its_rights(leaf in wide_leaf(), rights in wide_rights()) {
        let table = X86_64::shared(X86_64::table(leaf.physical), rights);
        prop_assert_eq!(X86_64::decode_table(table), Some((leaf.physical, true)));
        prop_assert_eq!(X86_64::table_rights(table), rights);
        let leaf = Leaf { physical: leaf.physical.align_down(X86_64::SPAN), ..leaf };
        let given = Leaf { rights: leaf.rights.intersection(rights), ..leaf };
        prop_assert_eq!(X86_64::decode_large(X86_64::shared(X86_64::large(leaf), rights)), Some((given, true)));
        let nothing = X86_64::shared(0, rights);
        prop_assert!(nothing != 0, "the place is the Segment's");
        prop_assert_eq!((X86_64::decode_table(nothing), X86_64::decode_large(nothing)), (None, None));
    }

    #[test]
    fn an_entry_of_mips_says_what_was_put_into_it(leaf in leaf()) {
        let leaf = on_mips(leaf);
        prop_assert_eq!(Mips::decode(Mips::leaf(leaf)), Some(leaf));
        let after = Leaf { physical: leaf.physical + abi::PAGE_SIZE, ..leaf };
        prop_assert_eq!(Mips::next(Mips::leaf(leaf)), Mips::leaf(after));
        let leaf = Leaf { physical: leaf.physical.align_down(Mips::SPAN), ..leaf };
        let large = Mips::large(leaf);
        prop_assert_eq!((Mips::decode_large(large), Mips::decode_table(large)), (Some((leaf, false)), None));
        // The handler of misses does not take it for a table's address.
        prop_assert_eq!(large & mips::bits::FOLLOWED, 0);
    }

    #[test]
    fn a_table_of_mips_is_an_address_in_kseg0(physical in any::<u32>(), writes in any::<bool>()) {
        let rights = if writes { Rights::RWX } else { Rights(5) };
        let physical = PhysAddr((physical & 0x1fff_f000).into());
        let table = Mips::table(physical);
        prop_assert_eq!(table >> 32, 0x8000_0000 | u64::from(physical.0));
        prop_assert_eq!((Mips::decode_table(table), Mips::decode_large(table)), (Some((physical, false)), None));
        prop_assert_eq!(Mips::table_rights(table), Rights::RWX);
        let copy = Mips::shared(table, rights);
        prop_assert_eq!(Mips::decode_table(copy), Some((physical, true)));
        prop_assert_eq!(Mips::table_rights(copy), rights);
        // What it restricts, the handler of misses does not follow.
        prop_assert_eq!(copy & mips::bits::FOLLOWED != 0, writes);
        let nothing = Mips::shared(0, rights);
        prop_assert!(nothing != 0, "the place is the Segment's");
        prop_assert_eq!((Mips::decode_table(nothing), Mips::decode_large(nothing)), (None, None));
    }

    #[test]
    fn the_tlb_of_mips_gets_what_the_tables_say(
        leaves in [leaf(), leaf()],
        writes in any::<bool>(),
        is_large in any::<bool>(),
        address in any::<u32>(),
    ) {
        let rights = if writes { Rights::RWX } else { Rights(5) };
        let [even, odd] = leaves.map(on_mips);
        let address = u64::from(address);
        let (directory, pages) = if is_large {
            let large = Leaf { physical: even.physical.align_down(Mips::SPAN), ..even };
            let first = abi::UserAddr(address as abi::Word % Mips::SPAN).align_down(2 * abi::PAGE_SIZE);
            let page = |offset| Leaf { physical: large.physical + first.0 + offset, ..even };
            (Mips::large(large), [page(0), page(abi::PAGE_SIZE)])
        } else {
            (Mips::table(PhysAddr(0x1000)), [even, odd])
        };
        let pair = mips::pair(Mips::shared(directory, rights), [even, odd].map(Mips::leaf), address);
        for (entry, page) in pair.into_iter().zip(pages) {
            // EntryLo: the frame from bit 6 on, C from 3 on, D, V; and never G.
            prop_assert_eq!(entry >> 6, (page.physical.0 as u64 >> 12) as u32 & 0xff_ffff);
            prop_assert_eq!(entry >> 3 & 7, if page.attributes == Attributes::Cached { 3 } else { 2 });
            let given = page.rights.intersection(rights);
            prop_assert_eq!(entry & 7, match (given == Rights::NONE, given.contains(Rights::WRITE)) {
                (true, _) => 0,
                (false, false) => 2,
                (false, true) => 6,
            });
        }
    }

    #[test]
    fn a_tls_descriptor_is_ring_3_data_or_nothing(base in any::<u32>(), limit in 0u32..1 << 24) {
        let [low, high] = mmu::descriptor::tls(base, limit);
        if limit & 1 << 23 == 0 {
            prop_assert_eq!([low, high], [0, 0]);
        } else {
            // Present, ring 3, code-or-data, data, not expanding downwards.
            prop_assert_eq!(high >> 8 & 0b1111_1101, 0b1111_0001);
            prop_assert_eq!(low >> 16 | (high & 0xff) << 16 | high & 0xff00_0000, base);
            prop_assert_eq!(low & 0xffff | high & 0xf_0000, limit & 0xf_ffff);
        }
    }
}

/// What MIPS says of a leaf: it knows no global pages, and who may reach one may read and execute.
fn on_mips(leaf: Leaf) -> Leaf {
    Leaf { global: false, ..leaf }
}

/// What ARMv5 says of a leaf: it knows no global pages, and tells uncached RAM from a device's
/// registers no more.
fn on_armv5(leaf: Leaf) -> Leaf {
    let attributes =
        if leaf.attributes == Attributes::Cached { Attributes::Cached } else { Attributes::Device };
    Leaf { global: false, attributes, most: leaf.most.union(leaf.rights), ..leaf }
}

/// What the processor lets users do by a small page or a section's access permission (DDI 0100I,
/// B4.3): 1 only the kernel, 2 users read, 3 users write.
const fn access(rights: Rights) -> u32 {
    if rights.contains(Rights::WRITE) { 3 } else { 2 }
}

proptest! {
    #[test]
    fn an_entry_of_armv5_says_what_was_put_into_it(leaf in leaf()) {
        let (leaf, entry) = (on_armv5(leaf), Armv5::leaf(leaf));
        prop_assert_eq!(Armv5::decode(entry), Some(leaf));
        prop_assert_eq!(Armv5::decode(Armv5::next(entry)).map(|next| next.physical.0), Some(leaf.physical.0.wrapping_add(4096)));
        if leaf.rights == Rights::NONE {
            prop_assert_eq!(entry & 3, 0, "a type that faults");
        } else {
            // A small page whose quarters have the same permission.
            prop_assert_eq!((entry & 3, entry >> 4 & 0xff), (2, access(leaf.rights) * 0x55));
            let cached = leaf.attributes == Attributes::Cached;
            prop_assert_eq!(entry & armv5::bits::CACHED != 0, cached);
            prop_assert!(!leaf.rights.contains(Rights::WRITE) || (entry & armv5::bits::BUFFERED != 0) == cached, "written back, or at once");
        }
        let only = armv5::read_only(entry);
        prop_assert_eq!(only & !0xff0, entry & !0xff0);
        prop_assert!(leaf.rights == Rights::NONE || only >> 4 & 0xff == 2 * 0x55);
    }

    #[test]
    fn an_entry_of_armv5s_directory_says_what_was_put_into_it(leaf in leaf(), writes in any::<bool>()) {
        let rights = if writes { Rights::RWX } else { Rights(5) };
        let leaf = Leaf { physical: leaf.physical.align_down(Armv5::SPAN), ..on_armv5(leaf) };
        let (table, large) = (Armv5::table(leaf.physical), Armv5::large(leaf));
        prop_assert_eq!((Armv5::decode_table(table), Armv5::decode_large(table)), (Some((leaf.physical, false)), None));
        prop_assert_eq!((Armv5::decode_table(large), Armv5::decode_large(large)), (None, Some((leaf, false))));
        let (table, large) = (Armv5::shared(table, rights), Armv5::shared(large, rights));
        let given = Leaf { rights: leaf.rights.intersection(rights), ..leaf };
        prop_assert_eq!((Armv5::decode_table(table), Armv5::decode_large(large)), (Some((leaf.physical, true)), Some((given, true))));
        prop_assert_eq!(Armv5::table_rights(table), rights);
        let nothing = Armv5::shared(0, rights);
        prop_assert!(nothing != 0, "the place is the Segment's");
        prop_assert_eq!((Armv5::decode_table(nothing), Armv5::decode_large(nothing)), (None, None));
    }

    #[test]
    fn armv5_sees_four_sections_for_an_entry(leaf in leaf(), part in 0..SECTIONS, domain in 0u32..16) {
        let leaf = Leaf { physical: leaf.physical.align_down(Armv5::SPAN), ..on_armv5(leaf) };
        let coarse = armv5::section(Armv5::table(leaf.physical), part, domain).expect("a table");
        prop_assert_eq!(coarse, (leaf.physical.0 as u32 + part * 1024) | domain << 5 | 1 << 4 | 1);
        let section = armv5::section(Armv5::large(leaf), part, domain);
        prop_assert_eq!(section.is_none(), leaf.rights == Rights::NONE);
        if let Some(section) = section {
            prop_assert_eq!(section & 0xfff0_0000, leaf.physical.0 as u32 + part * SECTION_BYTES);
            prop_assert_eq!((section & 3, section >> 5 & 15, section >> 10 & 3), (2, domain, access(leaf.rights)));
        }
        prop_assert_eq!(armv5::section(Armv5::shared(0, Rights::RWX), part, domain), None);
    }
}

/// What Alpha's leaf may have: any rights.
fn alpha_leaf() -> impl Strategy<Value = Leaf> {
    (leaf(), 0u32..8, 0u32..8).prop_map(|(leaf, rights, most)| Leaf {
        rights: Rights(rights & most),
        most: Rights(most),
        global: false,
        ..leaf
    })
}

/// What users may do by an entry of Alpha's: those of QEMU's walk that it lets pass (V, URE and UWE,
/// and the bits against reading and execution).
fn alpha_users(entry: u64) -> Rights {
    let bits = |shift: u32| (entry >> shift) as u32 & 1;
    let may = bits(0) * bits(9);
    Rights((may * (bits(1) ^ 1)) | ((may * bits(13)) << 1) | ((may * (bits(3) ^ 1)) << 2))
}

proptest! {
    #[test]
    fn an_entry_of_alpha_says_what_was_put_into_it(leaf in alpha_leaf()) {
        let entry = Alpha::leaf(leaf);
        prop_assert_eq!(Alpha::decode(entry), Some(leaf));
        prop_assert_eq!(alpha_users(entry), leaf.rights);
        prop_assert_eq!((entry >> 32) * abi::PAGE_SIZE as u64, leaf.physical.0 as u64);
        let after = Leaf { physical: leaf.physical + abi::PAGE_SIZE, ..leaf };
        if after.physical.0 != 0 {
            prop_assert_eq!(Alpha::next(entry), Alpha::leaf(after));
        }
        prop_assert_eq!((Alpha::decode_table(entry), Alpha::decode_large(entry)), (None, None));
    }

    #[test]
    fn an_entry_of_alphas_directory_says_what_was_put_into_it(leaf in alpha_leaf(), rights in 0u32..8) {
        let (rights, leaf) = (Rights(rights), Leaf { physical: leaf.physical.align_down(Alpha::SPAN), ..leaf });
        let (table, large) = (Alpha::table(leaf.physical), Alpha::large(leaf));
        prop_assert_eq!((Alpha::decode_table(table), Alpha::decode_large(table)), (Some((leaf.physical, false)), None));
        prop_assert_eq!((Alpha::decode_table(large), Alpha::decode_large(large)), (None, Some((leaf, false))));
        prop_assert_eq!(Alpha::table_rights(table), Rights::RWX);
        // A walk follows what names a table, for the kernel, and nothing else.
        prop_assert_eq!((table & 0x101, large & alpha::bits::VALID), (0x101, 0));
        let (copy, large) = (Alpha::shared(table, rights), Alpha::shared(large, rights));
        let given = Leaf { rights: leaf.rights.intersection(rights), ..leaf };
        prop_assert_eq!((Alpha::decode_table(copy), Alpha::decode_large(large)), (Some((leaf.physical, true)), Some((given, true))));
        prop_assert_eq!((Alpha::table_rights(copy), large & alpha::bits::VALID), (rights, 0));
        // Nor what it restricts: the walk would not see that.
        prop_assert_eq!(copy & alpha::bits::VALID != 0, rights == Rights::RWX);
        let nothing = Alpha::shared(0, rights);
        prop_assert!(nothing != 0, "the place is the Segment's");
        prop_assert_eq!((Alpha::decode_table(nothing), Alpha::decode_large(nothing)), (None, None));
    }
}

/// What the processor does by the bits PP of a PTE, if no key is set or all are: users may write,
/// or only read (*Programming Environments*, table 7-9).
const fn permission(rights: Rights) -> u32 {
    if rights.contains(Rights::WRITE) { 1 } else { 3 }
}

proptest! {
    #[test]
    fn an_entry_of_powerpc_is_the_second_word_of_a_pte(leaf in leaf()) {
        let (leaf, entry) = (Leaf { global: false, ..leaf }, PowerPc::leaf(leaf));
        prop_assert_eq!(PowerPc::decode(entry), Some(leaf));
        prop_assert_eq!(PowerPc::decode(PowerPc::next(entry)).map(|next| next.physical.0), Some(leaf.physical.0.wrapping_add(4096)));
        let seen = powerpc::seen(PowerPc::table(PhysAddr(0)), entry, 0x1234_5678);
        prop_assert_eq!(seen.is_none(), leaf.rights == Rights::NONE);
        if let Some(seen) = seen {
            let attributes = match leaf.attributes { Attributes::Cached => 0, Attributes::Uncached => 0x20, Attributes::Device => 0x28 };
            prop_assert_eq!(seen, leaf.physical.0 as u32 | 0x180 | attributes | permission(leaf.rights));
        }
    }

    #[test]
    fn an_entry_of_powerpcs_directory_says_what_was_put_into_it(leaf in leaf(), writes in any::<bool>(), at in any::<u32>()) {
        let rights = if writes { Rights::RWX } else { Rights(5) };
        let page = Leaf { global: false, ..leaf };
        let leaf = Leaf { physical: leaf.physical.align_down(PowerPc::SPAN), ..page };
        let (table, large) = (PowerPc::table(leaf.physical), PowerPc::large(leaf));
        prop_assert_eq!((PowerPc::decode_table(table), PowerPc::decode_large(table)), (Some((leaf.physical, false)), None));
        prop_assert_eq!((PowerPc::decode_table(large), PowerPc::decode_large(large)), (None, Some((leaf, false))));
        let (table, large) = (PowerPc::shared(table, rights), PowerPc::shared(large, rights));
        let given = Leaf { rights: leaf.rights.intersection(rights), ..leaf };
        prop_assert_eq!((PowerPc::decode_table(table), PowerPc::decode_large(large)), (Some((leaf.physical, true)), Some((given, true))));
        prop_assert_eq!(PowerPc::table_rights(table), rights);
        let nothing = PowerPc::shared(0, rights);
        prop_assert!(nothing != 0, "the place is the Segment's");
        prop_assert_eq!((PowerPc::decode_table(nothing), PowerPc::decode_large(nothing)), (None, None));
        prop_assert_eq!(powerpc::seen(nothing, PowerPc::leaf(page), at), None);
        // The processor has no large pages: it sees the 4 KiB at the address.
        let small = Leaf { physical: PhysAddr(leaf.physical.0 | (at & 0x003f_f000)), ..given };
        prop_assert_eq!(powerpc::seen(large, 0, at), powerpc::seen(PowerPc::table(PhysAddr(0)), PowerPc::leaf(small), at));
        // A page allows what its entry and that of its table allow.
        let both = Leaf { rights: page.rights.intersection(rights), ..page };
        prop_assert_eq!(powerpc::seen(table, PowerPc::leaf(page), at), powerpc::seen(PowerPc::table(PhysAddr(0)), PowerPc::leaf(both), at));
        // A server's are what they are, to a space that has its window open. An empty one stays
        // empty.
        for entry in [table, large] {
            let servers = PowerPc::supervisor(entry);
            prop_assert!(servers & powerpc::bits::SUPERVISOR != 0 && entry & powerpc::bits::SUPERVISOR == 0);
            prop_assert_eq!(PowerPc::supervisor(servers), servers);
            prop_assert_eq!((PowerPc::decode_table(servers), PowerPc::decode_large(servers)), (PowerPc::decode_table(entry), PowerPc::decode_large(entry)));
            prop_assert_eq!(powerpc::seen(servers, PowerPc::leaf(page), at), powerpc::seen(entry, PowerPc::leaf(page), at));
        }
        prop_assert_eq!(PowerPc::supervisor(0), 0);
    }
}

#[test]
fn nothing_is_nothing() {
    assert_eq!(
        (PowerPc::decode(0), PowerPc::decode_table(0), PowerPc::decode_large(0)),
        (None, None, None)
    );
    assert_eq!(
        powerpc::seen(
            0,
            PowerPc::leaf(Leaf {
                physical: PhysAddr(0),
                rights: Rights::RWX,
                most: Rights::RWX,
                attributes: Attributes::Cached,
                global: false
            }),
            0
        ),
        None
    );
    assert_eq!(Armv5::decode(0), None);
    assert_eq!(Armv5::decode_table(0), None);
    assert_eq!(Armv5::decode_large(0), None);
    assert_eq!(Ia32::decode(0), None);
    assert_eq!(Ia32::decode_table(0), None);
    assert_eq!(Ia32::decode_large(0), None);
}
