// SPDX-License-Identifier: MIT OR Apache-2.0
// Entering the space of a thread: the one place for all assembly that makes another thread the
// processor's. `switch.rs` is the same for Rust. The thread that leaves is in ESP.

// Makes the space of `thread` the processor's. With `same`, goes there if both threads have one
// space; without, the caller knows that they have two.
.macro ENTER_SPACE thread, scratch, same
    mov \scratch, ss:[\thread + {space}]
    .ifnb \same
    cmp \scratch, [esp + {space}]
    je \same
    .endif
    mov \scratch, ss:[\scratch + {directory}]
    mov cr3, \scratch
.endm

// Loads DS and ES. Loading a selector reads its segment descriptor: a cache line, and slow on
// every processor. Fast paths look first whether the two are loaded already.
.macro LOAD_DATA selector, scratch
    mov \scratch, \selector
    mov ds, \scratch
    mov es, \scratch
.endm

