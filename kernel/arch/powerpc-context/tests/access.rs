// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses to I/O ports, by instructions as an assembler encodes them.

use powerpc_context::access::{Access, decode};

#[test]
fn the_six_instructions_are_known() {
    for (instruction, register, bytes, is_write) in [
        (0x7c85_30ae, 4, 1, false),  // lbzx r4, r5, r6
        (0x7c85_31ae, 4, 1, true),   // stbx
        (0x7fe3_262c, 31, 2, false), // lhbrx r31, r3, r4
        (0x7fe3_272c, 31, 2, true),  // sthbrx
        (0x7c03_242c, 0, 4, false),  // lwbrx r0, r3, r4
        (0x7c03_252c, 0, 4, true),   // stwbrx
    ] {
        assert_eq!(
            decode(instruction),
            Some(Access { register, bytes, is_write }),
            "{instruction:#x}"
        );
    }
}

#[test]
fn others_are_not() {
    // lbz, lhz, lwz, stw, lwzx, stwx, lhzx, lbzux, lwarx, dcbz, stwcx., nothing
    for instruction in [
        0x8885_0000,
        0xa085_0000,
        0x8085_0000,
        0x9085_0000,
        0x7c85_302e,
        0x7c85_312e,
        0x7c85_322e,
        0x7c85_30ee,
        0x7c85_3028,
        0x7c05_37ec,
        0x7c85_312d,
        0,
    ] {
        assert_eq!(decode(instruction), None, "{instruction:#x}");
    }
}
