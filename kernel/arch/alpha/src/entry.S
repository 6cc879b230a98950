// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Entries of PALmode, the saving of all registers, the way back to user mode, and what PALcode does for Rust. It follows `start.S` and
// `fast/ipc.S`, whose names it uses.
//
// A thread's saved registers end at its reference. In PALmode $8 to $14 and $25 are no user's: a user's are in registers of their own.

    .equ arguments, {qemu_arguments}
    .equ shadows, {qemu_shadows}
    .equ tbia, {qemu_tbia}

// What is saved and loaded as it is, and what has a shadow.
.macro EACH_USERS
    .irp n, 0,1,2,3,4,5,6,7,15,16,17,18,19,20,21,22,23,24,26,27,28,29
    USERS \n
    .endr
.endm
.macro EACH_SHADOWED
    .irp n, 8,9,10,11,12,13,14
    SHADOWED \n, shadows + \n - 8
    .endr
    SHADOWED 25, shadows + 7
.endm

    .section .vectors, "ax"
    .globl start
start:
    br $31, begin
// Exceptions: machine check, another processor, clock, device, memory, alignment, instruction, arithmetic, FPU.
    .irp number, 1,2,3,4,5,6,7,8,9
    .org 0x80 * \number
    lda $10, \number($31)
    br $31, save
    .endr

// A CALL_PAL of a user.
    .section .unprivileged, "ax"
    .rept {call_pal_port_read} - {first_call_pal}
    lda $10, {vector_call_pal}($31)
    br $31, save
    .balign 64
    .endr
    lda $10, {vector_port_read}($31)
    br $31, save
    .balign 64
    lda $10, {vector_port_write}($31)
    br $31, save
    .org 64 * ({call_pal_counter} - {first_call_pal})
    hw_mfpr $0, {qemu_time}
    hw_mfpr $8, exc_addr
    hw_ret ($8)

    .section .pal, "ax"
// Not for the fast path.
    .globl slow
slow:
    lda $10, {vector_system_call}($31)

// Why it was entered is in $10.
save:
    hw_mfpr $9, mode
    hw_mfpr $8, current
    and $9, {user_bit}, $9
    beq $9, bug
.macro USERS n
    hw_stq/p $\n, {gpr} + 8 * \n($8)
.endm
.macro SHADOWED n, from
    hw_mfpr $9, \from
    hw_stq/p $9, {gpr} + 8 * \n($8)
.endm
    EACH_USERS
    EACH_SHADOWED
.purgem USERS
.purgem SHADOWED
    hw_mfpr $9, exc_addr
    hw_stq/p $30, {sp}($8)
    hw_stq/p $9, {pc}($8)
    bis $10, $10, $16
    hw_mfpr $17, arguments
    hw_mfpr $18, arguments + 2
    bis $8, $8, $19
    TABLE_OF_ADDRESSES
    GO_ON kernel_enter, stack_end

// An exception in the kernel.
bug:
    bis $10, $10, $16
    hw_mfpr $17, exc_addr
    hw_mfpr $18, arguments
    bis $26, $26, $19
    bis $30, $30, $20
    TABLE_OF_ADDRESSES
    GO_ON kernel_exception, panic_stack_end

// To the thread in $16, whose highest table is at $17; what is loaded, and what a fast path compares with, are in $18 and $19.
leave:
    bis $16, $16, $8
    hw_mfpr $9, ptbr
    hw_mtpr $8, current
    hw_mtpr $18, loaded
    hw_mtpr $19, top_open
    subq $9, $17, $9
    beq $9, 1f
    hw_mtpr $17, ptbr
    hw_mtpr $31, tbia
1:  lda $9, {user_mode}($31)
    hw_mtpr $9, mode
    // Nobody keeps anything there, so nobody learns of another by it.
    hw_mtpr $31, {qemu_unique}
.macro USERS n
    hw_ldq/p $\n, {gpr} + 8 * \n($8)
.endm
.macro SHADOWED n, to
    hw_ldq/p $9, {gpr} + 8 * \n($8)
    hw_mtpr $9, \to
.endm
    EACH_USERS
    EACH_SHADOWED
    hw_ldq/p $30, {sp}($8)
    hw_ldq/p $9, {pc}($8)
    hw_ret ($9)

// What PALcode does for Rust: what it is called, its number, what it executes. QEMU executes some CALL_PAL of low numbers itself, as another
// PALcode would; these are none of them.
.macro FOR_RUST name, number, lines:vararg
    .text
    .globl \name
\name:
    call_pal \number
    ret $31, ($26), 1
    .section .privileged, "ax"
    .org 64 * \number
    \lines
    hw_mfpr $8, exc_addr
    hw_ret ($8)
.endm
.macro EMPTY_TLB
    hw_mtpr $31, tbia
.endm
.macro NO_TABLE
    hw_mtpr $31, ptbr
    hw_mtpr $31, tbia
.endm
.macro KNOW_THREADS
    hw_mtpr $16, threads
    hw_mtpr $17, index_mask
.endm
    FOR_RUST alpha_wait, 3, hw_mtpr $31, {qemu_wait}
    FOR_RUST alpha_alarm, 4, hw_mtpr $16, {qemu_alarm}
    FOR_RUST alpha_drop_all, 5, EMPTY_TLB
    FOR_RUST alpha_forget_table, 6, NO_TABLE
    FOR_RUST alpha_threads, 7, KNOW_THREADS
    FOR_RUST alpha_leave, 8, br $31, leave
    // The emulator goes on for a while.
    FOR_RUST clipper_halt, 11, hw_mtpr $31, {qemu_halt}

    .text
    .globl alpha_time
alpha_time:
    call_pal {call_pal_counter}
    ret $31, ($26), 1

    .globl alpha_kernel_end
alpha_kernel_end:
    TABLE_OF_ADDRESSES
    ldq $0, kernel_end($29) !literal
    ret $31, ($26), 1

// Registers of the board at the address in $16, of as many bits as the name says; what is written is in $17.
.macro ACCESS name, instruction, register
    .globl \name
\name:
    \instruction \register, 0($16)
    mb
    ret $31, ($26), 1
.endm
    ACCESS clipper_read8, ldbu, $0
    ACCESS clipper_read16, ldwu, $0
    ACCESS clipper_read32, ldl, $0
    ACCESS clipper_read64, ldq, $0
    ACCESS clipper_write8, stb, $17
    ACCESS clipper_write16, stw, $17
    ACCESS clipper_write32, stl, $17
    ACCESS clipper_write64, stq, $17
