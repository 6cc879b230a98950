// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps that several fast paths make.

// The thread that the handle in r1 names, in r12: its index is one of the table, whatever a user made of it. Its gate is in r10, its
// handle in r11.
.macro THREAD_OF_HANDLE
    ldr r10, ={pool} + {index_mask}
    ldr r12, ={threads}
    ldr r10, [r10]
    and r10, r10, r1
    add r12, r12, r10, lsl #{thread_shift}
    ldr r10, [r12, #{gate}]
    ldr r11, [r12, #{handle}]
.endm

// T7 to T10 and T6 of an answer to a thread that waits with this gate, which is in r12; LR is `Cpu`. Destroys r10 and r11.
.macro MAY_REPLY waits
    THREAD_OF_HANDLE                                    // T7
    cmp r10, #\waits                                    // T8
    cmpeq r11, r1                                       // T9
    ldreq r10, [r12, #{partner}]
    cmpeq r10, sp
    bne slow
    ldr r10, [sp, #{senders}]
    ldr r11, [sp, #{signals}]
    orrs r10, r10, r11                                  // T10
    bne slow
    ldr lr, ={cpu}
    ldr r11, [r12, #{priority}]
    ldr r10, [lr, #{top}]
    cmp r10, r11                                        // T6
    bhi slow
.endm

// R2 to R5 of `run`: the alien is in r12, LR is `Cpu`. Destroys r10 and r11.
.macro MAY_RUN
    THREAD_OF_HANDLE                                    // R2
    cmp r10, #{gate_alien}                              // R3
    cmpeq r11, r1
    ldreq r10, [r12, #{partner}]
    ldreq r11, [r12, #{handler}]
    cmpeq r10, sp
    biceq r11, r11, #{rights}
    cmpeq r11, sp
    ldreq r10, [sp, #{signals}]
    teqeq r10, #0                                       // R4
    bne slow
    ldr lr, ={cpu}
    ldr r11, [r12, #{priority}]
    ldr r10, [lr, #{top}]
    cmp r10, r11                                        // R5
    bhi slow
.endm

// The address in the pool of the entry for `address` in its leaf table, in place of the directory's entry `table`; and its index there.
// Destroys `word`.
.macro LEAF_ENTRY table, address, index, word
    ldr \word, ={pool} + {pool_offset}
    mov \index, \address, lsl #10
    mov \table, \table, lsr #12
    ldr \word, [\word]
    mov \index, \index, lsr #22
    orr \table, \index, \table, lsl #10
    rsb \table, \word, \table, lsl #2
.endm

// The address by which caches and TLB find a space's. Destroys the space's register and `word`.
.macro RELOCATE address, space, word
    cmp \address, #{slot_bytes}
    bhs 99f
    ldr \word, [\space, #{pid}]
    tst \word, #{indifferent}
    orreq \address, \address, \word
99:
.endm
