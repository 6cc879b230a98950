// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of IPC on Alpha: `call` and `reply_wait`, with up to eight words. It is PALcode.
//
// It does what `ipc.rs` of the portable kernel would do in the common case, and nothing else. It changes no word of memory and no register
// of the user before its last test. In every other case it goes to `slow`. The message stays where it is, in $17 to $21 and $1 to $3. A
// system call of a native thread keeps $30 only; the receiver gets the other registers as the sender has them. The kernel works with
// PALmode's own $8 to $14 and $25, so the receiver sees nothing of the kernel.
//
// The tests, in the order in which they are made. Comments in the code have the same numbers, as on the other processors.
//
//  T | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no alien; no FPU, and nothing else that is loaded rarely       | `trap::enter`, `lazy`
//  2 | operation, 0 to 8 words, no capabilities, no flags             | `check_tag`
//  3 | selector below the table's size                                | `slot`
//  4 | a Thread capability with the right to call                     | `slot_of`
//  5 | receiver waits openly and may be resumed fast                  | `receives_from`
//  6 | receiver at least as urgent as every ready thread              | `schedule`
//  7 | the handle's index, which is always one of the table           | `waiting_caller`
//  8 | that thread waits for a reply, and may be resumed fast         | `waiting_caller`
//  9 | under this handle, from this very thread                       | `waiting_caller`
// 10 | this thread has no sender and no notification waiting          | `receive`
// 11 | the other thread's space has a tag                             | `mmu::tags`
//
// T3 need not look for selector 0: slot 0 of a table is always empty, so it has no right to call.
// Receiver and sender cannot be one thread: the sender runs, so its gate is not `OPEN`.
//
// The words of `Cpu` need no memory. Registers of PALmode have the thread that runs, what is loaded of it, and the highest ready priority
// next to the gate of an open wait. A port writes these registers where another port writes `Cpu`. References are physical addresses, by
// which objects are accessed, so the kernel needs no TLB entry.
//
// $8 is the thread, $9 its program counter, $10 the number of words, $12 the other thread.

// The differences: QEMU has registers of its own, and no tags. The number of instructions is the same: QEMU's TLB is emptied where the
// 21164 gets the program counter. Two registers take the place of the tags; only a test reads them.
.if {qemu}
    .equ exc_addr, {qemu_exc_addr}
    .equ current, {qemu_temporaries}
    .equ itb_asn, {qemu_temporaries} + 8
    .equ dtb_asn, {qemu_temporaries} + 9
    .equ ptbr, {qemu_ptbr}
.else
    .equ exc_addr, {exc_addr}
    .equ current, {temporaries}
    .equ itb_asn, {itb_asn}
    .equ dtb_asn, {dtb_asn}
    .equ ptbr, {temporaries} + 5
.endif
    .equ loaded, current + 1
    .equ top_open, current + 2
    .equ threads, current + 3
    .equ index_mask, current + 4

// T11, for the thread in $12: its tag in $14, its table in $25.
.macro HAS_TAG
    hw_ldl/p $25, {space}($12)
    hw_ldq/p $14, {tag}($25)
    hw_ldq/p $25, {table}($25)
    beq $14, slow                                       // T11
.endm

// From the thread in $8 to the one in $12, after HAS_TAG. The 21164 returns to the user five cycles after ITB_ASN is written at the
// earliest, and one after EXC_ADDR.
.macro SWITCH
    hw_mtpr $14, itb_asn
    hw_stq/p $9, {pc}($8)
    hw_stq/p $30, {sp}($8)
    lda $10, {gate_ready}($31)
    hw_stl/p $10, {gate}($12)
    hw_mtpr $12, current
    hw_ldq/p $9, {pc}($12)
    hw_ldq/p $30, {sp}($12)
    hw_mtpr $14, dtb_asn
.if {qemu}
    hw_mtpr $31, {qemu_tbia}
    hw_mtpr $25, ptbr
    hw_ret ($9)
.else
    hw_mtpr $9, exc_addr
    hw_mtpr $25, ptbr
    hw_rei
.endif
.endm

// The last of all entries, so that the code may be longer than an entry's 64 bytes.
    .section .fast, "ax"
    .globl entry
entry:
    hw_mfpr $8, current
    hw_mfpr $11, loaded
    hw_mfpr $9, exc_addr
    lda $10, -{op_call}($0)
    cmpule $10, {words}, $12                            // T2
    bne $11, slow                                       // T1
    beq $12, reply_wait
    .globl call
call:
    hw_ldl/p $13, {cap_limit}($8)
    hw_ldl/p $14, {space}($8)
    sll $16, {slot_shift}, $25
    cmpult $16, $13, $12                                // T3
    addq $14, $25, $25
    beq $12, slow
    hw_ldq/p $11, {slots}($25)
    hw_mfpr $14, top_open
    and $11, {call_right}, $13                          // T4
    zapnot $11, 15, $12
    beq $13, slow
    bic $12, {rights}, $12
    hw_ldq/p $13, {gate}($12)
    // The badge word of a Thread capability has zeros below the badge.
    srl $11, 32, $11
    // Gate and priority are one word, as are those that they are compared with.
    subq $13, $14, $13
    sll $13, 32, $14
    bne $14, slow                                       // T5
    blt $13, slow                                       // T6
    HAS_TAG
    // Nothing can fail any more.
    hw_ldl/p $16, {handle}($8)
    bis $10, $11, $0
    lda $13, {gate_reply}($31)
    ldah $16, {sequence_high}($16)
    hw_stl/p $13, {gate}($8)
    zapnot $16, 15, $16
    hw_stl/p $12, {partner}($8)
    hw_stl/p $16, {handle}($8)
    SWITCH
    .globl call_end
call_end:

    .balign 32
    .globl reply_wait
reply_wait:
    lda $10, -{op_reply_wait}($0)
    hw_mfpr $25, index_mask
    cmpule $10, {words}, $12                            // T2
    hw_mfpr $14, threads
    beq $12, slow
    and $16, $25, $12                                   // T7
    hw_ldq/p $13, {signals}($8)
    sll $12, {thread_shift}, $12
    addq $12, $14, $12
    bne $13, slow                                       // T10
    hw_ldq/p $13, {gate}($12)
    hw_mfpr $14, top_open
    hw_ldq/p $25, {handle}($12)
    subq $13, $14, $13
    // Handle and partner are one word, too.
    sll $8, 32, $14
    lda $13, {gate_open} - {gate_reply}($13)
    xor $25, $14, $25
    sll $13, 32, $11
    xor $25, $16, $25
    srl $16, 32, $14
    bis $25, $11, $25
    bis $25, $14, $25
    bne $25, slow                                       // T8, T9
    blt $13, slow                                       // T6
    HAS_TAG
    // Nothing can fail any more.
    lda $0, {delivery_reply}($10)
    lda $13, {gate_open}($31)
    bis $31, $31, $16
    hw_stl/p $13, {gate}($8)
    SWITCH
    .globl reply_wait_end
reply_wait_end:
