// SPDX-License-Identifier: MIT OR Apache-2.0
// What the compiler calls to fill and copy memory, a line at a time. Clearing a page is most of what a new translation table costs.
//
// void *memset(void *to, int byte, size_t count)
// void *memcpy(void *to, const void *from, size_t count)
//
// and the names that the ARM EABI has for them (IHI 0043, section 4.3.4), of which some have their arguments in another order.

.section .text.mem, "ax", %progbits
.balign 32
.global __aeabi_memclr, __aeabi_memclr4, __aeabi_memclr8
__aeabi_memclr:
__aeabi_memclr4:
__aeabi_memclr8:
    mov r2, #0
.global __aeabi_memset, __aeabi_memset4, __aeabi_memset8
__aeabi_memset:
__aeabi_memset4:
__aeabi_memset8:
    mov r3, r1
    mov r1, r2
    mov r2, r3
.global memset
memset:
    mov r3, r0
    and r1, r1, #0xff
    orr r1, r1, r1, lsl #8
    orr r1, r1, r1, lsl #16
    cmp r2, #32
    blo 4f
1:  tst r3, #3
    strbne r1, [r3], #1
    subne r2, r2, #1
    bne 1b
    push {r4-r9}
    mov r4, r1
    mov r5, r1
    mov r6, r1
    mov r7, r1
    mov r8, r1
    mov r9, r1
    mov r12, r1
    subs r2, r2, #32
2:  stmhs r3!, {r1, r4-r9, r12}
    subshs r2, r2, #32
    bhs 2b
    pop {r4-r9}
    add r2, r2, #32
4:  tst r3, #3
    bne 6f
5:  subs r2, r2, #4
    strhs r1, [r3], #4
    bhs 5b
    add r2, r2, #4
6:  subs r2, r2, #1
    strbhs r1, [r3], #1
    bhs 6b
    bx lr

.balign 32
.global memcpy, __aeabi_memcpy, __aeabi_memcpy4, __aeabi_memcpy8
memcpy:
__aeabi_memcpy:
__aeabi_memcpy4:
__aeabi_memcpy8:
    mov r12, r0
    // What is never aligned together goes byte by byte.
    eor r3, r0, r1
    tst r3, #3
    bne 6f
    cmp r2, #4
    blo 6f
1:  tst r12, #3
    ldrbne r3, [r1], #1
    strbne r3, [r12], #1
    subne r2, r2, #1
    bne 1b
    subs r2, r2, #32
    blo 3f
    push {r4-r10}
2:  ldm r1!, {r3-r10}
    stm r12!, {r3-r10}
    subs r2, r2, #32
    bhs 2b
    pop {r4-r10}
3:  add r2, r2, #32
4:  subs r2, r2, #4
    ldrhs r3, [r1], #4
    strhs r3, [r12], #4
    bhs 4b
    add r2, r2, #4
6:  subs r2, r2, #1
    ldrbhs r3, [r1], #1
    strbhs r3, [r12], #1
    bhs 6b
    bx lr
