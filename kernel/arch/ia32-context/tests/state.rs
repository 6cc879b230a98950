// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's rarely loaded state: which parts it has, and which of its breakpoints count where its
//! space ends early.

use abi::state::{DEBUG, TLS, TLS_COUNT};
use abi::{USER_END, UserAddr};
use bytemuck::Zeroable;
use ia32_context::{Ia32, lazy, limit_debug, state};
use kcore::Thread;
use kcore::port::Registers;
use proptest::prelude::*;

/// The limit of a TLS descriptor that is present.
const PRESENT: u32 = 1 << 23;

/// Whether breakpoint `index` is hit anywhere: its enable bits of DR7.
const fn is_on(control: u32, index: usize) -> bool {
    control >> (2 * index) & 3 != 0
}

proptest! {
    /// Fast paths know only the first TLS descriptor: who has another one is told from who has
    /// not, whatever was set before.
    #[test]
    fn a_thread_with_another_tls_descriptor_than_the_first_is_known(
        steps in prop::collection::vec((0..TLS_COUNT, any::<u32>(), 0u32..1 << 23, any::<bool>()), 1..12),
        others in 0u32..16,
    ) {
        let others = others & !(lazy::TLS | lazy::MORE_TLS);
        let mut thread = Thread { lazy: others, ..Thread::zeroed() };
        let mut present = [false; TLS_COUNT as usize];
        for (index, base, limit, is_present) in steps {
            let limit = limit | if is_present { PRESENT } else { 0 };
            prop_assert_eq!(Ia32::set_state(&mut thread, TLS + index, [base, limit]), Ok(0));
            present[index as usize] = is_present;
            let of = |part, has: bool| if has { part } else { 0 };
            let expected = others | of(lazy::TLS, present.contains(&true)) | of(lazy::MORE_TLS, present[1..].contains(&true));
            prop_assert_eq!(thread.lazy, expected, "{:?}", present);
        }
        // What cannot be set changes nothing.
        let before = thread.lazy;
        prop_assert!(Ia32::set_state(&mut thread, TLS + TLS_COUNT - 1, [0, 1 << 24]).is_err());
        prop_assert!(Ia32::set_state(&mut thread, TLS + TLS_COUNT, [0, PRESENT]).is_err());
        prop_assert_eq!(thread.lazy, before);
    }

    /// Breakpoints below the end are as they were; none is hit at or above it, and nothing else
    /// changes.
    #[test]
    fn no_breakpoint_is_hit_where_the_space_ends(
        addresses in prop::array::uniform4(prop_oneof![0..USER_END, (0u32..16).prop_map(|near| 0x6000_0000 - 8 + near)]),
        enabled in any::<u8>(),
        kinds in prop::array::uniform4(prop::sample::select(vec![0u32, 1, 3, 4, 5, 7, 13, 15])),
        end in prop_oneof![0..=USER_END, Just(0x6000_0000), Just(USER_END)],
    ) {
        let mut thread = Thread::zeroed();
        for (index, address) in (0..).zip(addresses) {
            prop_assert!(Ia32::set_state(&mut thread, DEBUG + index, [address, 0]).is_ok());
        }
        let control = kinds.into_iter().rev().fold(0, |all, kind| all << 4 | kind) << 16 | u32::from(enabled) & 0x55;
        prop_assert!(Ia32::set_state(&mut thread, DEBUG + 7, [control, 0]).is_ok());
        let before = state(&thread).debug;
        // Global enables would be hit, too.
        for also in [0, u32::from(enabled) & 0xaa] {
            let mut before = before;
            before[5] |= also;
            let mut after = before;
            limit_debug(&mut after, UserAddr(end));
            prop_assert_eq!(&after[..5], &before[..5]);
            for (index, address) in addresses.into_iter().enumerate() {
                prop_assert_eq!(is_on(after[5], index), is_on(before[5], index) && address < end, "breakpoint {}", index);
            }
            prop_assert_eq!(after[5] & !0xff, before[5] & !0xff, "kinds and lengths");
            let stay = (0..4).filter(|index| addresses[*index] < end).fold(0, |all, index| all | 3 << (2 * index));
            prop_assert_eq!(after[5] & stay, before[5] & stay);
        }
    }
}
