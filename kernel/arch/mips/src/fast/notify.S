// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of `notify` and `receive`, as far as the same thread continues: a notification of a thread that learns of it later, or
// that waits and is not more urgent; and a receive of bits that are pending. They do what `notify.rs` of the portable kernel would do.
// In every other case they go to `slow`. They are a part of the vectors, after `ipc.S`, whose T1 holds. The tests have the same numbers
// as on the other processors.
//
//  N | test at `notify`                                               | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words, capabilities or flags                                |
//  2 | selector below the table's size                                | `slot`
//  3 | a Thread capability with the right to notify                   | `slot_of`
//  4 | that thread waits for anybody or for notifications, and may be | `notify`
//    | resumed fast; or it is no alien and is ready or calls          |
//  5 | if it waits and accepts a bit: it is not more urgent           | `schedule`
//
//  W | test at `receive`                                              | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words and capabilities, no other flags than its own         |
//  2 | from anybody                                                   | `receive_call`
//  3 | a bit that it accepts is pending                               | `receive`

.section .text.entry, "ax"
.set push
.set noreorder
.set noat

// From T2 of `ipc.S`: the thread is in $26, its tag minus that of a reply in $15, its program counter in $13, the hot words at $27.
no_reply:
    xori $24, $15, {op_reply_wait} ^ {op_notify}        // N1
    bnez $24, try_receive
    lw $24, {cap_limit}($26)                            // N2
    lw $25, {space}($26)
    sltu $24, $4, $24
    beqz $24, slow
    sll $28, $4, {slot_shift}
    daddu $25, $25, $28
    lw $14, {slots}($25)
    lwu $1, {slots} + 4($25)
    andi $24, $14, {notify_right}                       // N3
    beqz $24, slow
    andi $28, $14, {rights}
    xor $24, $14, $28
    lw $28, {gate}($24)
    lw $3, {signals}($24)
    lw $14, {utcb}($24)
    srl $1, $1, {badge_shift}
    xori $25, $28, {gate_open}
    beqz $25, notifies_who_waits
    or $1, $1, $3
    xori $25, $28, {gate_notified}
    beqz $25, notifies_who_waits
    lw $25, {cap_limit}($24)
    beqz $25, slow                                      // N4
    xori $25, $28, {gate_ready}
    beqz $25, learns_later
    xori $25, $28, {gate_reply}
    bnez $25, slow                                      // N4
    nop
learns_later:
    sw $1, {signals}($24)
    sw $1, {pending_bits}($14)
notified:
    move $2, $0
    move $4, $0
    move $5, $0
    move $6, $0
to_self:
    dmtc0 $13, $14
    .irp n, 1,3,13,14,15,24,25,26,27,28
    move $\n, $0
    .endr
    eret

notifies_who_waits:
    lwu $25, {accept}($14)
    lw $28, {priority}($24)
    lw $3, {priority}($26)
    and $25, $25, $1
    beqz $25, learns_later
    sltu $3, $3, $28                                    // N5
    bnez $3, slow
    xor $1, $1, $25
    // The thread continues when its turn comes.
    li $3, {gate_ready}
    sw $1, {signals}($24)
    sw $1, {pending_bits}($14)
    sw $3, {gate}($24)
    ori $3, $0, {delivery_notification}
    sd $25, {gpr} + 8 * 5($24)
    sd $3, {gpr} + 8 * 2($24)
    .irp n, 4,6,7,8,9,10,11,12
    sd $0, {gpr} + 8 * \n($24)
    .endr
    lui $3, %hi({kernel_place} + {heads})
    sll $25, $28, 2
    daddu $3, $3, $25
    lw $25, %lo({kernel_place} + {heads})($3)
    beqz $25, is_alone
    nop
    lw $14, {prev}($25)
    sw $25, {next}($24)
    sw $14, {prev}($24)
    sw $24, {next}($14)
    b notified
    sw $24, {prev}($25)
is_alone:
    sw $24, {next}($24)
    sw $24, {prev}($24)
    sw $24, %lo({kernel_place} + {heads})($3)
    lui $3, %hi({kernel_place} + {occupied})
    srl $25, $28, 5
    sll $25, $25, 2
    daddu $3, $3, $25
    lw $14, %lo({kernel_place} + {occupied})($3)
    li $25, 1
    sllv $25, $25, $28
    or $14, $14, $25
    sw $14, %lo({kernel_place} + {occupied})($3)
    lw $25, %lo({hot} + {urgent})($27)
    sltu $25, $25, $28
    beqz $25, notified
    nop
    b notified
    sw $28, %lo({hot} + {urgent})($27)

try_receive:
    andi $24, $2, {poll} | {notifications_only}
    xor $24, $2, $24
    xori $24, $24, {op_receive}
    or $24, $24, $4                                     // W1, W2
    bnez $24, slow
    lw $14, {utcb}($26)
    lw $1, {signals}($26)
    lwu $25, {accept}($14)
    and $25, $25, $1                                    // W3
    beqz $25, slow
    xor $1, $1, $25
    sw $1, {signals}($26)
    sw $1, {pending_bits}($14)
    ori $2, $0, {delivery_notification}
    move $5, $25
    .irp n, 6,7,8,9,10,11,12
    move $\n, $0
    .endr
    b to_self
    nop
.global vectors_end
vectors_end:
.set pop
.text
