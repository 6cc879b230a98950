// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From reset to Rust. The emulator begins at the first instruction, in PALmode.
    .set noat
    .set nomacro
    .equ fen, {qemu_fen}
    .equ mode, {qemu_mode}

// The pointer to the table of addresses, which C expects in $29.
.macro TABLE_OF_ADDRESSES
    br $29, 1f
1:  ldah $29, 0($29) !gpdisp!1\@
    lda $29, 0($29) !gpdisp!1\@
.endm

// On with C, in the kernel's mode.
.macro GO_ON function, stack
    lda $9, {kernel_mode}($31)
    hw_mtpr $9, mode
    ldah $30, \stack($29) !gprelhigh
    lda $30, \stack($30) !gprellow
    ldah $27, \function($29) !gprelhigh
    lda $27, \function($27) !gprellow
    hw_ret ($27)
.endm

    .section .pal, "ax"
begin:
    // Users have no FPU.
    hw_mtpr $31, fen
    TABLE_OF_ADDRESSES
    GO_ON kernel_begin, stack_end

    .bss
    .balign 16
    .space {stack_bytes}
stack_end:
    .space {panic_bytes}
panic_stack_end:
