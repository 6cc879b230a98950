// SPDX-License-Identifier: MIT OR Apache-2.0
// Switching to a thread: the one place for all assembly that makes another thread the running one,
// and its space the processor's. `switch.rs` is the same for Rust. Another way into a space has to
// be added there and here, and nowhere else.
//
// The thread that goes is in ESP. Data is addressed through SS, as DS and ES may still be a user's.

// Makes `thread` the running one, and its space the processor's. With `same`, goes there if both
// threads have one space. Without, the caller knows that they have two.
.macro SWITCH_TO thread, scratch, same
    mov dword ptr ss:[\thread + {gate}], {gate_ready}
    mov ss:[{current}], \thread
    mov \scratch, ss:[\thread + {space}]
    .ifnb \same
    cmp \scratch, [esp + {space}]
    je \same
    .endif
    mov \scratch, ss:[\scratch + {directory}]
    mov cr3, \scratch
.endm

// Loads DS and ES. Loading a selector reads its segment descriptor: that takes a cache line, and is
// slow on every processor. A fast path looks first whether they are loaded already.
.macro LOAD_DATA selector, scratch
    mov \scratch, \selector
    mov ds, \scratch
    mov es, \scratch
.endm

