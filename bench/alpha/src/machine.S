// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The firmware of QEMU's clipper, around the fast path. It starts a thread in user mode, and ends the machine when that thread asks for
// it, when the fast path gives up, or on any exception. At the end it writes the reason, the user's registers and PALmode's into memory,
// which is a file of the host.

// A number of 32 bits, of which the highest is 0.
.macro CONSTANT register, value
    ldah \register, ((\value) + 0x8000) >> 16($31)
    lda \register, ((((\value) & 0xffff) ^ 0x8000) - 0x8000)(\register)
.endm

    .section .machine, "ax"
begin:
    CONSTANT $2, {boot}
    .irp n, 0,1,2,3,4
    hw_ldq/p $1, 8 * \n($2)
    hw_mtpr $1, current + \n
    .endr
    hw_mfpr $12, current
    hw_ldl/p $25, {space}($12)
    hw_ldq/p $25, {table}($25)
    hw_mtpr $25, ptbr
    hw_mtpr $31, {qemu_tbia}
    hw_ldq/p $9, {pc}($12)
    hw_ldq/p $30, {sp}($12)
    lda $1, {user_mode}($31)
    hw_mtpr $1, {qemu_ps}
    hw_ret ($9)

// Why it ends, in $8.
end:
    CONSTANT $9, {mailbox}
    hw_stq/p $8, 0($9)
    .irp n, 0,1,2,3,4,5,6,7,15,16,17,18,19,20,21,22,23,24,26,27,28,29,30
    hw_stq/p $\n, 8 + 8 * \n($9)
    .endr
    .irp n, 0,1,2,3,4,8,9
    hw_mfpr $8, current + \n
    hw_stq/p $8, 256 + 8 * \n($9)
    .endr
    hw_mfpr $8, exc_addr
    hw_stq/p $8, 336($9)
    // The emulator continues for a while.
    hw_mtpr $31, {qemu_halt}
halted:
    br halted

slow:
    lda $8, {why_slow}($31)
    br end

    .section .vectors, "ax"
    .globl start
start:
    br begin
// Exceptions: machine check, interrupts, memory, alignment, instruction, arithmetic, FPU.
    .irp at, 0x80, 0x180, 0x200, 0x280, 0x300, 0x380, 0x400, 0x480
    .org \at
    lda $8, {why_exception} + \at($31)
    br end
    .endr

    .section .end, "ax"
    lda $8, {why_user}($31)
    br end
