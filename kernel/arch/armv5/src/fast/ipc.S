// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The entry by `swi`, and the fast path of IPC: `call` and `reply_wait`, with up to eight words.
//
// It does what `ipc.rs` of the portable kernel would do in the common case, and nothing else. Before its last test it changes no word
// except those in which it saves the user's registers. In every other case it goes to `slow`. The message stays where it is, in r2 to
// r9. The other fast paths, in the other files of this folder, work in the same way.
//
// The tests, in the order in which they are made. Comments in the code have the same numbers, as on IA-32.
//
//  T | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no thread pointer, nothing lazily loaded                       | `lazy`
//  2 | operation, 0 to 8 words, no capabilities, no flags             | `check_tag`
//  3 | selector below the table's size (0 for an alien)               | `slot`
//  4 | a Thread capability with the right to call                     | `slot_of`
//  5 | receiver waits openly and may be resumed fast                  | `receives_from`
//  6 | receiver at least as urgent as every ready thread              | `schedule`
//  7 | the handle's index, which is always one of the table           | `waiting_caller`
//  8 | that thread waits for a reply, and may be resumed fast         | `waiting_caller`
//  9 | under this handle, from this very thread                       | `waiting_caller`
// 10 | this thread has no sender and no notification waiting          | `receive`
//
// T3 need not look for selector 0: slot 0 of a table is always empty, so it has no right to call. Receiver and sender cannot be one
// thread: the sender runs, so its gate is not `OPEN`. An alien cannot reply: T9.
//
// SP is the thread, r12 becomes the other one.

.section .text.fast, "ax", %progbits
.arm

.balign 32
.global swi_entry
swi_entry:
    stmdb sp, {{r10-lr}}^
    mrs r12, spsr
    str lr, [sp, #{pc}]
    str r12, [sp, #{cpsr}]
    ldr r10, [sp, #{lazy}]
    eor r11, r0, #{op_call}
    teq r10, #0                                         // T1
    bne slow
    cmp r11, #{words}                                   // T2
    bhi 2f
    // call
    ldr r10, [sp, #{cap_limit}]
    ldr r11, [sp, #{space}]
    cmp r1, r10                                         // T3
    bhs slow
    add r10, r11, r1, lsl #{slot_shift}
    ldr r12, [r10, #{slots}]
    tst r12, #{call_right}                              // T4
    beq slow
    bic r12, r12, #{rights}
    ldr r11, [r12, #{gate}]
    cmp r11, #{gate_open}                               // T5
    bne slow
    ldr lr, ={cpu}
    ldr r11, [r12, #{priority}]
    ldr lr, [lr, #{top}]
    cmp lr, r11                                         // T6
    bhi slow
    // Nothing can fail any more. The badge word of a Thread capability has zeros below the badge.
    ldr r11, [r10, #{slots} + 4]
    ldr r1, [sp, #{handle}]
    eor r0, r0, #{op_call}
    orr r0, r0, r11
    add r1, r1, #{sequence}
    mov r11, #{gate_reply}
    str r1, [sp, #{handle}]
    str r12, [sp, #{partner}]
    str r11, [sp, #{gate}]

// To the thread in r12, whose r0 to r9 are already in the processor. LR becomes `Cpu`, if it is not already.
goes_on:
    ldr lr, ={cpu}
goes_on_by_cpu:
    mov r11, #{gate_ready}
    ldr r10, [r12, #{space}]
    str r11, [r12, #{gate}]
    str r12, [lr, #{current}]
    mov sp, r12
// Back to the thread in SP, whose space is in r10.
goes_back:
    ENTER_SPACE r11, r10, lr, r12
    ldr lr, [sp, #{pc}]
    ldr r10, [sp, #{cpsr}]
    mcr p15, 0, r11, c3, c0, 0
    msr spsr_cxsf, r10
    ldmdb sp, {{r10-lr}}^
    nop
    movs pc, lr

2:
    teq r0, #{op_run}                                   // R1
    beq run
    eor r11, r0, #{op_reply_wait}
    cmp r11, #{words}                                   // T2
    bhi map_reply
    MAY_REPLY {gate_reply}
    eor r0, r0, #{op_reply_wait}
    orr r0, r0, #{delivery_reply}
    mov r1, #0
    mov r11, #{gate_open}
    str r11, [sp, #{gate}]
    b goes_on_by_cpu
    .ltorg
