// SPDX-License-Identifier: MIT OR Apache-2.0
// The saving of all registers, and the way back to user mode.
//
// `Cpu::current` is the reference to the thread that runs: its saved registers end there. $26 and $27 are the kernel's in user mode, too.
// Interrupts are disabled in the kernel, except while it waits for one.

.section .text.entry, "ax"
.set push
.set noreorder
.set noat

.global save_all
save_all:
    mfc0 $26, $12
    lui $27, %hi({hot} + {current})
    andi $26, $26, {user}
    beqz $26, from_kernel
    lw $27, %lo({hot} + {current})($27)
    .irp n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,28,29,30,31
    sd $\n, {gpr} + 8 * \n($27)
    .endr
    mfhi $8
    mflo $9
    dmfc0 $10, $14
    sd $8, {hi}($27)
    sd $9, {lo}($27)
    sd $10, {pc}($27)
    mfc0 $4, $13
    dmfc0 $5, $8
    li $8, {kernel}
    mtc0 $8, $12
    lui $29, %hi({stack} + {stack_bytes})
    daddiu $29, $29, %lo({stack} + {stack_bytes})
    move $30, $0
    jal {enter}
    nop

// To user mode, with the saved registers of the thread in `Cpu::current`, whose space was entered.
.global leave_kernel
leave_kernel:
    lui $27, %hi({hot} + {current})
    li $26, {closed}
    lw $27, %lo({hot} + {current})($27)
    // Hazards (`regs.rs`): EXL is set before the mode becomes user mode.
    mtc0 $26, $12
    ld $8, {hi}($27)
    ld $9, {lo}($27)
    ld $10, {pc}($27)
    li $26, {leaving}
    mthi $8
    mtlo $9
    mtc0 $26, $12
    dmtc0 $10, $14
    .irp n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,28,29,30,31
    ld $\n, {gpr} + 8 * \n($27)
    .endr
    move $26, $0
    move $27, $0
    eret

// From the kernel itself: an interrupt for which it waits, and which it finds by polling after that; or a bug.
from_kernel:
    mfc0 $26, $13
    andi $26, $26, {code}
    bnez $26, kernels_bug
    // To `regs::wait`, after its wait.
    lui $26, %hi(waited)
    mfc0 $27, $12
    daddiu $26, $26, %lo(waited)
    xori $27, $27, {interrupts}
    dmtc0 $26, $14
    mtc0 $27, $12
    // Hazards (`regs.rs`): two instructions from Status and EPC to `eret`.
    nop
    nop
    eret
kernels_bug:
    mfc0 $4, $13
    dmfc0 $5, $14
    dmfc0 $6, $8
    move $7, $31
    move $8, $29
    move $9, $30
    li $10, {kernel}
    mtc0 $10, $12
    lui $29, %hi({panic_stack} + {panic_bytes})
    daddiu $29, $29, %lo({panic_stack} + {panic_bytes})
    move $30, $0
    jal {bug}
    nop
.set pop
.text
