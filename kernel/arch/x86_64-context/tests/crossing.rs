// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of an exception of the entry area's own code.
#![cfg(feature = "wide")]

use proptest::prelude::*;
use x86_64_context::crossing::{Code, Who, Words, mend};
use x86_64_context::{FIXED_FLAGS, SAVED, selector, word};

const AREA: u64 = 0xffff_ffff_ffe0_0000;
const CODE: Code = Code { call: AREA + 64, server_call: AREA + 200, end: AREA + 320 };

const fn at(word: usize) -> usize {
    word - word::GENERAL
}

proptest! {
    #[test]
    fn who_called_has_the_exception_at_its_call(
        saved in prop::array::uniform22(any::<u64>()),
        offset in 0..400_u64,
        forged in prop::array::uniform3(any::<u64>()),
        is_kernels in any::<bool>(),
        is_alien in any::<bool>(),
    ) {
        let mut saved: [u64; SAVED] = saved;
        let [rip, rsp, scratch] = forged;
        let words = Words { handle: 1, rip, rsp, scratch };
        saved[at(word::RIP)] = AREA + offset;
        let code = if is_kernels { selector::KERNEL_CODE } else { selector::SERVER_CODE };
        saved[at(word::CS)] = code.into();
        let (before, found) = (saved, if is_alien { Who::Alien } else { Who::Server });
        let is_its = is_kernels && (64..320).contains(&offset);
        prop_assert_eq!(mend(&mut saved, CODE, found, &words), is_its);
        if !is_its {
            prop_assert_eq!(saved, before);
            return Ok(());
        }
        let [rcx, r11] = [word::RCX, word::R11].map(|word| before[at(word)]);
        let again = rcx.wrapping_sub(2);
        let expected = match (found, offset < 200) {
            (Who::Alien, _) => [again, scratch, r11],
            (Who::Server, false) => [again, rsp, r11],
            (Who::Server, true) => [rip, rsp, FIXED_FLAGS],
        };
        let places = [word::RIP, word::RSP, word::RFLAGS].map(at);
        prop_assert_eq!(places.map(|place| saved[place]), expected);
        for place in (0..SAVED).filter(|place| !places.contains(place)) {
            prop_assert_eq!(saved[place], before[place], "the others are as they were");
        }
    }
}
