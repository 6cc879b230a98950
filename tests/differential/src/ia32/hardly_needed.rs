// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that are hardly ever the only one that prevents a wrong result, and why.

/// By the part of the code, the instruction that sets the flags, and the jump.
pub const ALL: &[(&str, &str)] = &[
    ("resume_small: cmp %ss:0xA8(%ecx),%edx, Jne", H4),
    ("resume_small: cmp %ss:0xAC(%ecx),%edx, Jne", H4),
    (
        "alien_entry: cmpl $0,%ss:0x50(%esi), Je",
        "H1: a small space's selectors are refused by the test after it, too, but for a few that are very rare.",
    ),
    ("alien_entry: test $0x8000,%edi, Je", S5),
    ("alien_entry: test $0x8000,%eax, Je", S5),
    ("alien_entry: test $0x8000,%eax, Jne", S5),
    (
        "map_reply: cmpl $0x24,%ss:(%edx), Jne",
        "R3: who waits otherwise, or not, has mostly another handle or waits for another thread, which the tests after it find.",
    ),
    (
        "map_reply: cmpl $4,%ss:0x84(%ecx), Jne",
        "M2: a space has mapped (M6) Memories and Segments only, and a Segment has its upper table where a Memory has its class, so M4 refuses it.",
    ),
    (
        "map_reply: test $0x3F,%esi, Jne",
        "M5: other rights stay in the address, and where it points nothing has been mapped (M6).",
    ),
    (
        "map_reply: cmpl $0,%ss:0x50(%ecx), Je",
        "M8: a server's answer has to take the place of a page in a small space; for large ones the second flush has no effect.",
    ),
    ("map_reply: cmp %ss:0x5C(%esi),%eax, Je", "M7: the simulated port has no UTCBs there."),
    (
        "map_reply: test %eax,%ss:0x10(%ecx), Jne",
        "The search: the other way leads to nothing, and the portable kernel does it all.",
    ),
    ("native_fault: Cmp of a static, Jne", "F1: a fault in the kernel is no event of a user."),
    (
        "try_notify: testl $1,%ss:0x34(%edx), Jne",
        "N4: an alien that is neither at its handler nor runs has to be notified, and there is one only if something more urgent runs.",
    ),
    (
        "try_notify: cmp %ebx,%ss:0x38(%ecx), Jne",
        "W5: who is in a ready queue by a fast path had nothing to load; only another thread's `set_state` changes that meanwhile.",
    ),
];

/// Only a thread that has a selector without its segment descriptor needs it.
const S5: &str = "S5, P3: a descriptor that is not present is harmless unless FS or GS names it.";
/// It is rare that this makes a difference for the descriptor.
const H4: &str =
    "H4: the space has to have moved since the alien was loaded, and in one of its bounds only.";
