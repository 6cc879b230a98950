// SPDX-License-Identifier: MIT OR Apache-2.0
// From reset to Rust: the emulator enters in kseg0.

.section .text.boot, "ax"
.set push
.set noreorder
.set noat
.global _start
_start:
    // Vectors in RAM, interrupts closed, no coprocessor open.
    li $8, {kernel}
    mtc0 $8, $12
    // What is zero at first.
    lui $8, %hi(bss_start)
    daddiu $8, $8, %lo(bss_start)
    lui $9, %hi(bss_end)
    daddiu $9, $9, %lo(bss_end)
1:  beq $8, $9, 2f
    nop
    sd $0, 0($8)
    b 1b
    daddiu $8, $8, 8
2:  lui $29, %hi({stack} + {stack_bytes})
    daddiu $29, $29, %lo({stack} + {stack_bytes})
    move $30, $0
    jal {start}
    nop
.set pop
.text
