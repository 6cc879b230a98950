// SPDX-License-Identifier: MIT OR Apache-2.0
// The exception vectors, which boot copies to the beginning of kseg0, and in one of them the TLB misses of users: three levels of tables
// of the space that was entered (`mmu::mips`). $26 and $27 are the kernel's, and are 0 when the user continues.

.section .text.entry, "ax"
.set push
.set noreorder
.set noat
.balign 0x80
.global vectors
vectors:
    // 0x000: a miss of 32-bit addresses. Only the kernel has these, and it has no misses.
    j save_all
    nop
    .balign 0x80
refill:
    // 0x080: a miss of 64-bit addresses. If an entry cannot be followed, the kernel handles the miss like any other exception.
    dmfc0 $26, $8
    lui $27, %hi({hot} + {top})
    dsrl32 $26, $26, {bad_bits}
    bnez $26, not_here
    lw $27, %lo({hot} + {top})($27)
    dmfc0 $26, $8
    dsrl $26, $26, {top_shift}
    andi $26, $26, {index}
    daddu $27, $27, $26
    lw $27, 0($27)
    dmfc0 $26, $8
    bgez $27, not_here
    dsrl $26, $26, {directory_shift}
    andi $26, $26, {index}
    daddu $27, $27, $26
    lw $27, 0($27)
    dmfc0 $26, $8
    bgez $27, not_here
    dsrl $26, $26, {leaf_shift}
    andi $26, $26, {pair}
    daddu $27, $27, $26
    lw $26, 0($27)
    lw $27, {entry}($27)
    mtc0 $26, $2
    mtc0 $27, $3
    // Hazards (`regs.rs`): one instruction from EntryLo to `tlbwr`, three from there to `eret`.
    nop
    tlbwr
    move $26, $0
    move $27, $0
    nop
    eret
    .balign 0x80
    // 0x100: an error of a cache, after which nothing is certain.
1:  b 1b
    nop
not_here:
    j save_all
    nop
    .balign 0x80
    // 0x180: all other exceptions (`fast/ipc.S`).
.set pop
