// SPDX-License-Identifier: MIT OR Apache-2.0
// The page at 0xffff0000: exception vectors, and at its end the helpers that Linux's kernel gives to programs (Linux's
// Documentation/arch/arm/kernel_user_helpers.rst). User mode executes them; `restart_helper` knows their places.

.section .vectors, "aw", %progbits
.arm
.global vectors
vectors:
    ldr pc, 1f
    ldr pc, 2f
    ldr pc, 3f
    ldr pc, 4f
    ldr pc, 5f
    ldr pc, 1f
    ldr pc, 6f
    ldr pc, 1f
1:  .word never
2:  .word undefined_entry
3:  .word swi_entry
4:  .word prefetch_entry
5:  .word data_entry
6:  .word interrupt_entry

// Compares 64 bits at [r2] with those at [r0]; if they are the same, stores those at [r1]. R0 becomes 0 and the carry is set if so.
    .org vectors + 0xf60
    push {r4-r9}
    ldm r0, {r4, r5}
    ldm r1, {r6, r7}
    // From here to the store it begins again.
    ldm r2, {r8, r9}
    cmp r8, r4
    cmpeq r9, r5
    stmeq r2, {r6, r7}
    moveq r0, #0
    movne r0, #1
    rsbs r3, r0, #0
    pop {r4-r9}
    bx lr

// A memory barrier: one processor sees its own writes in order.
    .org vectors + 0xfa0
    bx lr

// Compares the word at [r2] with r0; if it is the same, stores r1. R0 becomes 0 and the carry is set if so.
    .org vectors + 0xfc0
    ldr r3, [r2]
    cmp r3, r0
    streq r1, [r2]
    moveq r0, #0
    movne r0, #1
    rsbs r3, r0, #0
    bx lr

// The thread pointer.
    .org vectors + 0xfe0
    ldr r0, [pc, #8]
    bx lr

// The word that the kernel writes, and how many helpers there are.
    .org vectors + 0xff0
    .word 0
    .org vectors + 0xffc
    .word 5
.text
