// SPDX-License-Identifier: MIT OR Apache-2.0
//
// PALcode around the core in QEMU's clipper: it begins with C, whose CALL_PAL 0 ends the machine, as any exception does. QEMU's registers:
// 0 is the mode, 6 where an exception came from, 252 switches off (target/alpha/translate.c).
    .set noat
    .set nomacro
    .equ mode, 0
    .equ exc_addr, 6
    .equ halt, 252
    // The kernel's mode, interrupts off.
    .equ kernel, 7

    .section .pal, "ax"
    .globl start
start:
    br $29, 1f
1:  ldah $29, 0($29) !gpdisp!1
    lda $29, 0($29) !gpdisp!1
    lda $1, kernel($31)
    hw_mtpr $1, mode
    ldah $30, stack_end($29) !gprelhigh
    lda $30, stack_end($30) !gprellow
    ldah $27, main($29) !gprelhigh
    lda $27, main($27) !gprellow
    hw_ret ($27)
    .irp at, 0x80, 0x100, 0x180, 0x200, 0x280, 0x300, 0x380, 0x400, 0x480
    .org \at
    // The host finds no outcome then.
    hw_mtpr $31, halt
2:  br 2b
    .endr
    .org 0x1000
    hw_mtpr $31, halt
3:  br 3b

// Division as GCC calls it (gcc/config/alpha/alpha.cc): $24 by $25, the result in $27, back by $23; nothing else changes but $28.
.macro DIVISION name, is_long, is_remainder
    .globl \name
\name:
    lda $30, -48($30)
    stq $0, 0($30)
    stq $1, 8($30)
    stq $2, 16($30)
    stq $3, 24($30)
    stq $24, 32($30)
    bis $25, $25, $28
.ifeq \is_long
    zapnot $24, 15, $24
    zapnot $25, 15, $28
.endif
    // The remainder so far, the quotient so far, bits that are left.
    bis $31, $31, $1
    bis $31, $31, $27
    lda $2, 64($31)
1:  srl $24, 63, $3
    addq $24, $24, $24
    // A bit that leaves the remainder: it is larger than any divisor then.
    srl $1, 63, $0
    addq $1, $1, $1
    bis $1, $3, $1
    addq $27, $27, $27
    cmpule $28, $1, $3
    bis $3, $0, $3
    beq $3, 2f
    subq $1, $28, $1
    bis $27, 1, $27
2:  subq $2, 1, $2
    bne $2, 1b
.if \is_remainder
    bis $1, $1, $27
.endif
.ifeq \is_long
    addl $27, 0, $27
.endif
    ldq $0, 0($30)
    ldq $1, 8($30)
    ldq $2, 16($30)
    ldq $3, 24($30)
    ldq $24, 32($30)
    lda $30, 48($30)
    ret $31, ($23), 1
.endm

    .text
    DIVISION __divlu, 0, 0
    DIVISION __remlu, 0, 1
    DIVISION __divqu, 1, 0
    DIVISION __remqu, 1, 1

    .bss
    .balign 16
    .space 65536
stack_end:
    .space 16
