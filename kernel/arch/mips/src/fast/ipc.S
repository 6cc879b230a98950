// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All exceptions but the misses of users, and the fast path of IPC: `call` and `reply_wait`, with up to eight words. It is a part of the
// vectors, at 0x180 (`refill.S`); `notify.S` follows.
//
// The fast path does what `ipc.rs` of the portable kernel would do in the common case, and nothing else. It changes no word before its
// last test. In every other case it goes to `slow`. The message stays where it is, in $5 to $12. Of the other registers a system call of a
// native thread keeps $29 only, so the kernel may use all others; in these the receiver gets zeros, or the sender's values.
//
// The tests, in the order in which they are made. Comments in the code have the same numbers, as on the other processors.
//
//  T | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | a system call, not in a delay slot; no alien                   | `trap::enter`
//  2 | operation, 0 to 8 words, no capabilities, no flags             | `check_tag`
//  3 | selector below the table's size                                | `slot`
//  4 | a Thread capability with the right to call                     | `slot_of`
//  5 | receiver waits openly and may be resumed fast                  | `receives_from`
//  6 | receiver at least as urgent as every ready thread              | `schedule`
//  7 | the handle's index, which is always one of the table           | `waiting_caller`
//  8 | that thread waits for a reply, and may be resumed fast         | `waiting_caller`
//  9 | under this handle, from this very thread                       | `waiting_caller`
// 10 | this thread has no sender and no notification waiting          | `receive`
// 11 | the receiver's space has an ASID                               | `space.rs`
//
// T3 need not look for selector 0: slot 0 of a table is always empty, so it has no right to call. Receiver and sender cannot be one
// thread: the sender runs, so its gate is not `OPEN`.

.set push
.set noreorder
.set noat
.global general
general:
    mfc0 $26, $13
    bltz $26, not_fast                                  // T1
    andi $26, $26, {code}
    addiu $26, $26, -{call_code}
    bnez $26, not_fast
    lui $27, %hi({hot} + {current})
    lw $26, %lo({hot} + {loaded})($27)
    bnez $26, not_fast
    lw $26, %lo({hot} + {current})($27)
    // A native thread's system call. $26: the thread; $27: the address of the hot words.
    dmfc0 $13, $14
    xori $15, $2, {op_call}                             // T2
    sltiu $24, $15, {words} + 1
    beqz $24, no_call
    daddiu $13, $13, 4
    // call
    lw $24, {cap_limit}($26)                            // T3
    lw $25, {space}($26)
    sltu $24, $4, $24
    beqz $24, slow
    sll $28, $4, {slot_shift}
    daddu $25, $25, $28
    lw $14, {slots}($25)
    lwu $1, {slots} + 4($25)
    andi $24, $14, {call_right}                         // T4
    beqz $24, slow
    andi $28, $14, {rights}
    xor $24, $14, $28
    lw $28, {gate}($24)                                 // T5
    xori $28, $28, {gate_open}
    bnez $28, slow
    lw $14, {priority}($24)
    lw $28, %lo({hot} + {urgent})($27)                  // T6
    lw $25, {space}($24)
    sltu $28, $14, $28
    bnez $28, slow
    lw $14, {asid}($25)                                 // T11
    beqz $14, slow
    lw $28, {handle}($26)
    // Nothing can fail any more. The badge word of a Thread capability has zeros below the badge.
    lui $3, {sequence} >> 16
    addu $28, $28, $3
    or $2, $15, $1
    sw $28, {handle}($26)
    lwu $4, {handle}($26)
    li $28, {gate_reply}
    sw $24, {partner}($26)
// From the thread in $26, which gets the gate in $28 and continues at $13, to the one in $24, of the space in $25, whose ASID is in $14.
goes_on:
    sw $28, {gate}($26)
    sd $13, {pc}($26)
    sd $29, {sp}($26)
    li $28, {gate_ready}
    sw $28, {gate}($24)
    sw $24, %lo({hot} + {current})($27)
    lw $25, {tables}($25)
    dmtc0 $14, $10
    ld $13, {pc}($24)
    ld $29, {sp}($24)
    sw $25, %lo({hot} + {top})($27)
    // Hazards (`regs.rs`): more than two instructions from EPC to `eret`, and from EntryHi, too.
    dmtc0 $13, $14
    move $14, $0
    move $24, $0
    move $25, $0
    move $26, $0
    move $27, $0
    eret

no_call: // reply_wait
    xori $15, $15, {op_call} ^ {op_reply_wait}          // T2
    sltiu $24, $15, {words} + 1
    beqz $24, no_reply
    lui $28, %hi({pool} + {index_mask})
    lw $28, %lo({pool} + {index_mask})($28)             // T7
    lui $24, {threads_high}
    and $28, $4, $28
    sll $28, $28, {thread_shift}
    daddu $24, $24, $28
    daddiu $24, $24, {threads_low}
    lw $14, {gate}($24)                                 // T8
    lwu $3, {handle}($24)                               // T9
    lw $28, {partner}($24)
    ld $1, {signals}($26)                               // T10
    xori $14, $14, {gate_reply}
    xor $3, $3, $4
    xor $28, $28, $26
    or $14, $14, $3
    or $28, $28, $1
    or $14, $14, $28
    bnez $14, slow
    lw $14, {priority}($24)
    lw $28, %lo({hot} + {urgent})($27)                  // T6
    lw $25, {space}($24)
    sltu $28, $14, $28
    bnez $28, slow
    lw $14, {asid}($25)                                 // T11
    beqz $14, slow
    li $28, {gate_open}
    ori $2, $15, {delivery_reply}
    b goes_on
    move $4, $0

// Not for the fast path: the registers that a system call of a native thread loses have no value of the kernel.
slow:
    move $1, $0
    move $3, $0
    move $13, $0
    move $14, $0
    move $15, $0
    move $24, $0
    move $25, $0
    move $28, $0
.global not_fast
not_fast:
    j save_all
    nop
.set pop
.text
