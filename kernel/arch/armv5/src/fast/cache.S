// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of `cache`, which writes back the lines of a part of a page of a Space, or also drops them. Code that accesses a page by
// two addresses calls it at each access, as Linux does for memory of a process outside of its slot (linux/arm/os-L4/cache.c).
//
//  C | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | operation, no words, capabilities or flags                     | `execute`
//  2 | the selector is below the table's size (0 for an alien)        | `slot`
//  3 | it names a Space with the right to control it                  | `cached_range`
//  4 | the range is in one page, below the end of what users map      | `cached_range`
//  5 | no code was written                                            | `CacheOp::from_code`
//
// If the range has no bytes, its last byte is not in the page of its first.

.section .text.fast, "ax", %progbits
cache:
    teq r0, #{op_cache}                                 // C1
    bne slow
    ldr r10, [sp, #{cap_limit}]
    ldr r11, [sp, #{space}]
    cmp r1, r10                                         // C2
    bhs slow
    add r12, r11, r1, lsl #{slot_shift}
    ldr r11, [r12, #{slots} + 4]
    ldr r12, [r12, #{slots}]
    teq r11, #{space_kind}                              // C3
    bne slow
    tst r12, #{control}                                 // C3
    beq slow
    bic r12, r12, #{rights}
    sub r10, r3, #1
    adds r10, r2, r10                                   // C4
    bcs slow
    ldr r11, [r12, #{region_end}]
    eor lr, r2, r10
    cmp r10, r11                                        // C4
    bhs slow
    movs lr, lr, lsr #12                                // C4
    bne slow
    cmp r4, #{drop}                                     // C5
    bhi slow
    bic r11, r2, #{line} - 1
    sub r10, r10, r11
    RELOCATE r11, r12, lr
    add r10, r10, r11
1:
    teq r4, #{drop}
    mcr p15, 0, r11, c7, c10, 1
    mcreq p15, 0, r11, c7, c6, 1
    add r11, r11, #{line}
    cmp r11, r10
    bls 1b
    mcr p15, 0, r11, c7, c10, 4
    mov r0, #0
    mov r1, #0
    mov r2, #0
    mov r3, #0
    // Domains, process identifier and the status to return to are still the thread's.
    ldr lr, [sp, #{pc}]
    ldmdb sp, {{r10-lr}}^
    nop
    movs pc, lr
