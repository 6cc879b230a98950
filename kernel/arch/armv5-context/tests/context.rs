// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values the kernel accepts for registers that others write, and what it decodes.

use armv5_context::abort::{Abort, decode, writes, writes_thumb};
use armv5_context::{restart_helper, word};

/// Instructions of ARM as the assembler makes them, and whether they write.
const ARM: [(u32, bool, &str); 20] = [
    (0xe580_1000, true, "str r1, [r0]"),
    (0xe590_1000, false, "ldr r1, [r0]"),
    (0xe7c0_1002, true, "strb r1, [r0, r2]"),
    (0xe7d0_1002, false, "ldrb r1, [r0, r2]"),
    (0xe1c0_10b0, true, "strh r1, [r0]"),
    (0xe1d0_10b0, false, "ldrh r1, [r0]"),
    (0xe1d0_10d0, false, "ldrsb r1, [r0]"),
    (0xe1d0_10f0, false, "ldrsh r1, [r0]"),
    (0xe1c0_20f0, true, "strd r2, [r0]"),
    (0xe1c0_20d0, false, "ldrd r2, [r0]"),
    (0xe100_1092, true, "swp r1, r2, [r0]"),
    (0xe140_1092, true, "swpb r1, r2, [r0]"),
    (0xe880_0006, true, "stm r0, {r1, r2}"),
    (0xe890_0006, false, "ldm r0, {r1, r2}"),
    (0xe92d_4010, true, "push {r4, lr}"),
    (0xe8bd_8010, false, "pop {r4, pc}"),
    (0xed80_0a00, true, "vstr s0, [r0]"),
    (0xed90_0a00, false, "vldr s0, [r0]"),
    (0xe5a0_1004, true, "str r1, [r0, #4]!"),
    (0xe490_1004, false, "ldr r1, [r0], #4"),
];

/// The same of Thumb.
const THUMB: [(u16, bool, &str); 16] = [
    (0x6001, true, "str r1, [r0]"),
    (0x6801, false, "ldr r1, [r0]"),
    (0x7001, true, "strb r1, [r0]"),
    (0x7801, false, "ldrb r1, [r0]"),
    (0x8001, true, "strh r1, [r0]"),
    (0x8801, false, "ldrh r1, [r0]"),
    (0x5081, true, "str r1, [r0, r2]"),
    (0x5281, true, "strh r1, [r0, r2]"),
    (0x5481, true, "strb r1, [r0, r2]"),
    (0x5681, false, "ldrsb r1, [r0, r2]"),
    (0x5881, false, "ldr r1, [r0, r2]"),
    (0x5e81, false, "ldrsh r1, [r0, r2]"),
    (0x9100, true, "str r1, [sp]"),
    (0x9900, false, "ldr r1, [sp]"),
    (0xb510, true, "push {r4, lr}"),
    (0xbd10, false, "pop {r4, pc}"),
];

#[test]
fn what_writes_is_known() {
    for (instruction, is_write, name) in ARM {
        assert_eq!(writes(instruction), is_write, "{name}");
    }
    for (instruction, is_write, name) in THUMB {
        assert_eq!(writes_thumb(instruction), is_write, "{name}");
    }
    assert!(writes_thumb(0xc006) && !writes_thumb(0xc806), "stmia, ldmia");
}

#[test]
fn a_fault_status_has_one_meaning() {
    let all: Vec<Abort> = (0..16).map(decode).collect();
    assert_eq!(all.iter().filter(|abort| **abort == Abort::Page).count(), 6);
    assert_eq!(decode(0x1), Abort::Alignment);
    assert_eq!(decode(0x8), Abort::Bus);
    assert_eq!(decode(0xb | 3 << 4), Abort::Page, "the domain is no part of it");
}

#[test]
fn only_helpers_begin_again() {
    for (pc, expected) in [
        (0xffff_0fc0, 0xffff_0fc0),
        (0xffff_0fc8, 0xffff_0fc0),
        (0xffff_0fcc, 0xffff_0fcc),
        (0xffff_0f60, 0xffff_0f60),
        (0xffff_0f78, 0xffff_0f6c),
        (0x8000, 0x8000),
    ] {
        let mut context = [0; kcore::port::CONTEXT_WORDS];
        context[word::PC] = pc;
        restart_helper(&mut context);
        assert_eq!(context[word::PC], expected, "{pc:#x}");
    }
}
