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

    .bss
    .balign 16
    .space 65536
stack_end:
    .space 16
