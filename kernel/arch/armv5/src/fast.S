// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of IPC: `call` and `reply_wait`, with up to eight words; and that of aliens: `swi` to the handler that waits in `run`,
// and the next `run`.
//
// It does what `ipc.rs` of the portable kernel would do in the common case, and nothing else. It changes no word but what it saves of
// the user's registers before its last test. On any doubt it goes to `slow`. The message stays where it is, in r2 to r9.
//
// The tests, in the order in which they are made. The same numbers stand beside the code, and beside IA-32's.
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
// T3 need not look for selector 0: slot 0 of a table is always empty, so it has no right to call.
// Receiver and sender cannot be one thread: the sender runs, so its gate is not `OPEN`.
// An alien replies to nobody: T9.
//
//  A | test at an alien's `swi`                                       | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | it is an alien                                                 | `trap::swi`
//  2 | it has a handler                                               | `raise`
//  3 | which waits in `run` for this thread, and may be resumed fast; | `receives_from`
//    | and the instruction was ARM's                                  | `trap::swi`
//  4 | and is at least as urgent as every ready thread                | `schedule`
//
//  R | test at `run`                                                  | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no flags, no words                                             | `check_tag`
//  2 | the handle's index, which is always one of the table           | `waiting_caller`
//  3 | an alien that waits, under this handle, for this very thread,  | `waiting_caller`, `run`
//    | which is its handler                                           |
//  4 | no notification waits                                          | `run`
//  5 | the alien is at least as urgent as every ready thread          | `schedule`
//
// What a handler says that it has changed beside is of no matter here: no such state is in the processor. It has no thread pointer (T1),
// and sees none: the alien's is written by `run`, and 0 at the event.
//
// SP is the thread, r12 becomes the other one. The kernel's own domain is open to everybody. The frame of an alien is in its handler's
// UTCBs, for which all domains are opened. The handler writes it: registers and masked flags alone are taken from it.

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

// To the thread in r12, which waited without any flag in its gate.
goes_on:
    ldr lr, ={cpu}
goes_on_by_cpu:
    mov r11, #{gate_ready}
    ldr r10, [r12, #{space}]
    str r11, [r12, #{gate}]
    str r12, [lr, #{current}]
    mov sp, r12
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
    beq 3f
    eor r11, r0, #{op_reply_wait}
    cmp r11, #{words}                                   // T2
    bhi slow
    ldr r10, ={index_mask}
    ldr r12, ={threads}
    ldr r10, [r10]
    and r10, r10, r1                                    // T7
    add r12, r12, r10, lsl #{thread_shift}
    ldr r10, [r12, #{gate}]
    ldr r11, [r12, #{handle}]
    cmp r10, #{gate_reply}                              // T8
    cmpeq r11, r1                                       // T9
    ldreq r10, [r12, #{partner}]
    cmpeq r10, sp
    bne slow
    ldr r10, [sp, #{senders}]
    ldr r11, [sp, #{signals}]
    orrs r10, r10, r11                                  // T10
    bne slow
    ldr lr, ={cpu}
    ldr r11, [r12, #{priority}]
    ldr lr, [lr, #{top}]
    cmp lr, r11                                         // T6
    bhi slow
    eor r0, r0, #{op_reply_wait}
    orr r0, r0, #{delivery_reply}
    mov r1, #0
    mov r11, #{gate_open}
    str r11, [sp, #{gate}]
    b goes_on

// `run`: the alien is in r12, its frame in r11.
3:
    ldr r10, ={index_mask}
    ldr r12, ={threads}
    ldr r10, [r10]
    and r10, r10, r1                                    // R2
    add r12, r12, r10, lsl #{thread_shift}
    ldr r10, [r12, #{gate}]
    ldr r11, [r12, #{handle}]
    cmp r10, #{gate_alien}                              // R3
    cmpeq r11, r1
    ldreq r10, [r12, #{partner}]
    ldreq r11, [r12, #{handler}]
    cmpeq r10, sp
    biceq r11, r11, #{rights}
    cmpeq r11, sp
    ldreq r10, [sp, #{signals}]
    teqeq r10, #0                                       // R4
    bne slow
    ldr lr, ={cpu}
    ldr r11, [r12, #{priority}]
    ldr r10, [lr, #{top}]
    cmp r10, r11                                        // R5
    bhi slow
    ldr r10, ={all_domains}
    ldr r11, [r12, #{utcb}]
    mcr p15, 0, r10, c3, c0, 0
    mov r10, #{gate_run}
    str r12, [sp, #{partner}]
    str r10, [sp, #{gate}]
    mov r10, #{gate_ready}
    str r12, [lr, #{current}]
    str r10, [r12, #{gate}]
    mov sp, r12
    ldr r2, [sp, #{thread_pointer}]
    ldr r3, ={thread_pointer_word}
    ldr r0, [r11, #{f_pc}]
    str r2, [r3]
    ldr r1, [r11, #{f_cpsr}]
    ldr r2, ={user_flags}
    bic r0, r0, #1
    and r1, r1, r2
    tst r1, #{thumb}
    biceq r0, r0, #2
    orr r1, r1, #{user}
    str r0, [sp, #{pc}]
    msr spsr_cxsf, r1
    ldr r10, [sp, #{space}]
    ENTER_SPACE lr, r10, r9, r8
    ldmia r11, {{r0-lr}}^
    nop
    mcr p15, 0, lr, c3, c0, 0
    ldr lr, [sp, #{pc}]
    movs pc, lr

slow:
    ldr r10, [sp, #{flags}]
    tst r10, #{alien}                                   // A1
    beq slower
    ldr r12, [sp, #{handler}]
    bics r12, r12, #{rights}                            // A2
    beq slower
    ldr r10, [r12, #{gate}]
    ldr r11, [r12, #{partner}]
    cmp r10, #{gate_run}                                // A3
    cmpeq r11, sp
    ldr r10, [sp, #{cpsr}]
    tsteq r10, #{thumb}
    bne slower
    ldr lr, ={cpu}
    ldr r11, [r12, #{priority}]
    ldr r10, [lr, #{top}]
    cmp r10, r11                                        // A4
    bhi slower
    // It was fetched there, by these domains, since the tables changed last: it can be read.
    ldr r10, [sp, #{pc}]
    ldr r11, [r10, #-4]
    ldr r10, ={all_domains}
    mcr p15, 0, r10, c3, c0, 0
    ldr r10, [sp, #{utcb}]
    stmia r10!, {{r0-r9}}
    bic r9, r11, #{condition}
    ldmdb sp, {{r1-r5}}
    ldr r6, [sp, #{pc}]
    ldr r7, [sp, #{cpsr}]
    mov r8, #{swi}
    stmia r10!, {{r1-r9}}
    mov r3, #0
    ldr r0, ={thread_pointer_word}
    str r3, [r10]
    str r3, [r10, #4]
    ldr r1, [sp, #{handle}]
    str r3, [r0]
    mov r10, #{gate_alien}
    add r1, r1, #{sequence}
    str r10, [sp, #{gate}]
    str r1, [sp, #{handle}]
    ldr r0, [sp, #{handler} + 4]
    ldr r10, ={delivery_alien}
    mov r2, r8
    mov r4, r9
    orr r0, r0, r10
    b goes_on_by_cpu

// All that is not saved yet of the user's registers, and on to the portable kernel.
slower:
    add lr, sp, #{r0}
    stmia lr, {{r0-r9}}
    mov r0, #{swi}
    b enter
    .ltorg
.text
