// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Two threads in two spaces. Client and server have the same series of random numbers, each in its own page of data at the same address.
// In each message, every register that a system call does not set gets the next number, whether it is part of the message or not. The
// receiver compares all of them.
//
// $30 points to the page: the number that comes next, rounds that are left, the tag to send, the delivery
// to expect, then registers as they have arrived.

    .equ next, 0
    .equ rounds, 8
    .equ sent, 16
    .equ expected, 24
    .equ saved, 32

// The next number into a register: five times the last one, and a constant.
.macro NEXT value
    s4addq \value, \value, \value
    lda \value, 12345(\value)
.endm

// Every register but $0 and $16, from the series.
.macro SEND
    ldq $0, next($30)
    .irp n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,17,18,19,20,21,22,23,24,25,26,27,28,29
    NEXT $0
    bis $0, $0, $\n
    .endr
    stq $0, next($30)
.endm

// Compares all of these; what arrived in $0 and $16 stays in `saved`. The one that differs ends the machine with its number.
.macro COMPARE wrong
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29
    stq $\n, saved + 8 * \n($30)
    .endr
    ldq $0, next($30)
    .irp n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,17,18,19,20,21,22,23,24,25,26,27,28,29
    NEXT $0
    ldq $1, saved + 8 * \n($30)
    lda $16, \n($31)
    subq $0, $1, $2
    bne $2, \wrong
    .endr
    stq $0, next($30)
.endm

    .section .client, "ax"
    .globl client
client:
    SEND
    ldq $0, sent($30)
    lda $16, {selector}($31)
    call_pal {call_pal}
    .globl client_goes_on
client_goes_on:
    COMPARE client_wrong
    ldq $1, saved($30)
    ldq $0, expected($30)
    lda $16, 0($31)
    subq $0, $1, $2
    bne $2, client_wrong
    ldq $1, saved + 8 * 16($30)
    lda $16, 16($31)
    lda $0, 0($31)
    bne $1, client_wrong
    ldq $1, rounds($30)
    subq $1, 1, $1
    stq $1, rounds($30)
    bne $1, client
    lda $16, {right}($31)
client_wrong:
    call_pal {call_pal_end}

    .section .server, "ax"
    .globl server
    .globl server_goes_on
server:
    COMPARE server_wrong
    ldq $1, saved($30)
    ldq $0, expected($30)
    lda $16, 0($31)
    subq $0, $1, $2
    bne $2, server_wrong
    SEND
    ldq $0, sent($30)
    ldq $16, saved + 8 * 16($30)
    call_pal {call_pal}
server_goes_on:
    br server
server_wrong:
    call_pal {call_pal_end}
