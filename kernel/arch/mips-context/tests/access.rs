// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that the kernel executes for users.

use mips_context::access::{Access, decode, reads_count};
use proptest::prelude::*;

/// Instructions as an assembler has them: those of `isa::io`, with $6 and $5.
#[test]
fn the_instructions_of_the_library_are_known() {
    for (instruction, bytes, is_write) in [
        (0x90a6_0000, 1, false),
        (0xa0a6_0000, 1, true),
        (0x94a6_0000, 2, false),
        (0xa4a6_0000, 2, true),
        (0x9ca6_0000, 4, false),
        (0xaca6_0000, 4, true),
    ] {
        assert_eq!(decode(instruction), Some(Access { register: 6, bytes, is_write }));
    }
    // lb, lh, lw, ld, sd, lwl, sc, beq, and what is all zeros.
    for other in [
        0x80a6_0000,
        0x84a6_0000,
        0x8ca6_0000,
        0xdca6_0000,
        0xfca6_0000,
        0x88a6_0000,
        0xe0a6_0000,
        0x10a6_0000,
        0,
    ] {
        assert_eq!(decode(other), None);
    }
}

#[test]
fn only_a_read_of_all_of_the_counter_is_one() {
    // dmfc0 $6, $9
    assert_eq!(reads_count(0x4026_4800), Some(6));
    // mfc0, mtc0, dmtc0, and dmfc0 of another register.
    for other in [0x4006_4800, 0x4086_4800, 0x40a6_4800, 0x4026_5000] {
        assert_eq!(reads_count(other), None);
    }
}

proptest! {
    #[test]
    fn any_register_and_offset_will_do(register in 0u32..32, base in 0u32..32, offset in any::<u16>()) {
        let fields = base << 21 | register << 16 | u32::from(offset);
        let access = Access { register: register as usize, bytes: 2, is_write: true };
        prop_assert_eq!(decode(0x29 << 26 | fields), Some(access));
        prop_assert_eq!(reads_count(0x4020_4800 | register << 16), Some(register as usize));
    }
}
