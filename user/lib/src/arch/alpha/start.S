// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What of a component is neither Rust nor C: where it and its threads begin, system calls, and what it is told by PALcode. The names in
// braces are constants of a section of the component's WebAssembly (user/lib/src/arch/alpha.rs).
    .set noat
    .set nomacro

// The pointer to the table of addresses, which C expects in $29.
.macro TABLE_OF_ADDRESSES
    br $29, 1f
1:  ldah $29, 0($29) !gpdisp!1\@
    lda $29, 0($29) !gpdisp!1\@
.endm
.macro CALL function
    ldah $27, \function($29) !gprelhigh
    lda $27, \function($27) !gprellow
    jsr $26, ($27), 0
    call_pal {bug}
.endm

    .text
// $16: UTCB address; $17: argument; $30: end of the stack.
    .globl _start
_start:
    TABLE_OF_ADDRESSES
    // The count of messages, its address, and the UTCB's (image::layout).
    lda $1, -{messages}($30)
    stq $31, -24($30)
    stq $1, -16($30)
    stq $16, -8($30)
    lda $30, -32($30)
    bis $17, $17, $16
    CALL macadamia_main

// $17: argument; on the stack: the function's number, below two words.
macadamia_thread:
    TABLE_OF_ADDRESSES
    ldq $16, 0($30)
    lda $30, -8($30)
    CALL macadamia_run

    .globl macadamia_thread_entry
macadamia_thread_entry:
    TABLE_OF_ADDRESSES
    ldah $0, macadamia_thread($29) !gprelhigh
    lda $0, macadamia_thread($0) !gprellow
    ret $31, ($26), 1

// $16: the registers of a system call. The kernel keeps $30.
    .globl macadamia_call
macadamia_call:
    lda $30, -80($30)
    zapnot $16, 15, $16
    .irp n, 9,10,11,12,13,14,15
    stq $\n, 8 * \n - 72($30)
    .endr
    stq $26, 56($30)
    stq $16, 64($30)
    bis $16, $16, $28
    ldq $0, 0($28)
    .irp n, 16,17,18,19,20,21
    ldq $\n, 8 * \n - 120($28)
    .endr
    .irp n, 1,2,3
    ldq $\n, 8 * \n + 48($28)
    .endr
    // A fast path leaves these to the next receiver, which gets nothing of this component by them.
    .irp n, 4,5,6,7,8,9,10,11,12,13,14,15,22,23,24,25,26,27,28,29
    bis $31, $31, $\n
    .endr
    call_pal {system_call}
    ldq $28, 64($30)
    stq $0, 0($28)
    .irp n, 16,17,18,19,20,21
    stq $\n, 8 * \n - 120($28)
    .endr
    .irp n, 1,2,3
    stq $\n, 8 * \n + 48($28)
    .endr
    .irp n, 9,10,11,12,13,14,15
    ldq $\n, 8 * \n - 72($30)
    .endr
    ldq $26, 56($30)
    lda $30, 80($30)
    ret $31, ($26), 1

    .globl macadamia_stack_pointer
macadamia_stack_pointer:
    bis $30, $30, $0
    ret $31, ($26), 1

    .globl macadamia_counter
macadamia_counter:
    call_pal {counter}
    ret $31, ($26), 1

// A marker for the machine model (abi, `marker`): $16 and $17 have the addresses of the first and of the last byte of a name.
    .globl macadamia_case
macadamia_case:
    zapnot $16, 15, $16
    zapnot $17, 15, $17
    lda $31, {case}($31)
    ldbu $0, 0($16)
    ldbu $0, 0($17)
    ret $31, ($26), 1

    .globl macadamia_raise
macadamia_raise:
    call_pal {bug}
    ret $31, ($26), 1

// I/O ports (boards/isa/src/io/alpha.rs).
    .globl isa_read
isa_read:
    call_pal {port_read}
    addl $0, 0, $0
    ret $31, ($26), 1

    .globl isa_write
isa_write:
    call_pal {port_write}
    ret $31, ($26), 1
