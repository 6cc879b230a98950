// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of aliens: from `swi` to the handler that waits in `run`, and the next `run`. Fast paths that give up also end here.
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
// What else the handler says that it has changed does not matter here, because the processor has no such state. The handler has no thread
// pointer (T1), and sees none: `run` writes the alien's, and the event writes 0.
//
// The frame of an alien is mostly in its handler's UTCBs, and is accessed with the domains of the handler: so one write of the register is
// enough each way. If it is in another space's UTCBs, or the handler's space has no domain at the time, the first access faults before
// anything is changed, and `from_kernel` continues at `slower`. The handler writes the frame: only registers and masked flags are taken
// from it.

.section .text.fast, "ax", %progbits

// The alien is in r12.
run:
    MAY_RUN
resume_alien:
    ldr r11, [r12, #{utcb}]
    mov r10, #{gate_run}
frame_read:
    ldr r0, [r11, #{f_pc}]
    str r12, [sp, #{partner}]
    str r10, [sp, #{gate}]
    mov r10, #{gate_ready}
    str r12, [lr, #{current}]
    str r10, [r12, #{gate}]
    mov sp, r12
    ldr r2, [sp, #{thread_pointer}]
    ldr r3, ={thread_pointer_word}
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
    // It was fetched from there with these domains since the last change of the tables: so it can be read.
    ldr r10, [sp, #{pc}]
    ldr r11, [r10, #-4]
    ldr r10, [r12, #{space}]
    ldr r10, [r10, #{dacr}]
    mcr p15, 0, r10, c3, c0, 0
    ldr r10, [sp, #{utcb}]
frame_write:
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
    // As in `ipc.S`, except for the domains.
    mov r11, #{gate_ready}
    ldr r10, [r12, #{space}]
    str r11, [r12, #{gate}]
    str r12, [lr, #{current}]
    mov sp, r12
    ENTER_SPACE r11, r10, lr, r12
    ldr lr, [sp, #{pc}]
    ldr r10, [sp, #{cpsr}]
    msr spsr_cxsf, r10
    ldmdb sp, {{r10-lr}}^
    nop
    movs pc, lr

// Saves the rest of the user's registers, and goes to the portable kernel.
slower:
    add lr, sp, #{r0}
    stmia lr, {{r0-r9}}
saved:
    mov r0, #{swi}
    b enter
    .ltorg
.text
