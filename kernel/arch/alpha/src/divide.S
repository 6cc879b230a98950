// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Division as GCC calls it (gcc/config/alpha/alpha.cc): $24 by $25, the result in $27, back by $23; nothing else changes but $28.
    .set noat
    .set nomacro
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
