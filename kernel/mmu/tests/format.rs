// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation-table entries and descriptors.

use abi::{PhysAddr, Rights};
use mmu::ia32::{Ia32, bits};
use mmu::{Attributes, Format, Leaf};
use proptest::prelude::*;

fn leaf() -> impl Strategy<Value = Leaf> {
    let rights = prop_oneof![Just(Rights::NONE), Just(Rights(5)), Just(Rights::RWX)];
    let most = prop_oneof![Just(Rights(5)), Just(Rights::RWX)];
    let attributes = prop_oneof![Just(Attributes::Cached), Just(Attributes::Uncached), Just(Attributes::Device)];
    (any::<u32>(), rights, most, attributes, any::<bool>()).prop_map(|(physical, rights, most, attributes, global)| Leaf {
        physical: PhysAddr((physical & bits::ADDRESS).into()),
        rights: rights.intersection(most),
        most,
        attributes,
        global,
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
        // Bits that are reserved, or an address beyond 4 GiB, and the one that means a table's attributes.
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

#[test]
fn nothing_is_nothing() {
    assert_eq!(Ia32::decode(0), None);
    assert_eq!(Ia32::decode_table(0), None);
    assert_eq!(Ia32::decode_large(0), None);
}
