// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation-table entries and descriptors.

use abi::Rights;
use mmu::ia32::{Ia32, bits};
use mmu::{Attributes, Format, Leaf};
use proptest::prelude::*;

fn leaf() -> impl Strategy<Value = Leaf> {
    let rights = prop_oneof![Just(Rights::NONE), Just(Rights(5)), Just(Rights::RWX)];
    let most = prop_oneof![Just(Rights(5)), Just(Rights::RWX)];
    (any::<u32>(), rights, most, any::<bool>()).prop_map(|(physical, rights, most, device)| Leaf {
        physical: physical & bits::ADDRESS,
        rights: rights.intersection(most),
        most,
        attributes: if device { Attributes::Device } else { Attributes::Cached },
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
        prop_assert_eq!(entry & bits::GLOBAL, 0);
        prop_assert_eq!(entry & bits::PRESENT != 0, leaf.rights != Rights::NONE);
        prop_assert_eq!(entry & bits::WRITABLE != 0, leaf.rights.contains(Rights::WRITE));
    }

    #[test]
    fn a_table_entry_says_what_was_put_into_it(physical in any::<u32>(), shared in any::<bool>()) {
        let physical = physical & bits::ADDRESS;
        prop_assert_eq!(Ia32::decode_table(Ia32::table(physical, Rights::RWX, shared)), Some((physical, shared)));
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
}
