// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The entry by `sc`, and the fast path of IPC: `call` and `reply_wait`, with up to eight words.
//
// It does what `ipc.rs` of the portable kernel would do in the common case, and nothing else. It changes no word before its last test. In
// every other case it goes to `slow`, in `alien.S`; so do all other system calls, except `run` and answers that map (`map.S`). The message
// stays where it is, in r3 to r10, r14 and r15. Of the other registers a system call keeps r1 and r2 only, so the kernel may use all
// others; in these the receiver gets zeros.
//
// The tests, in the order in which they are made. Comments in the code have the same numbers, as on the other processors.
//
//  T | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no alien; no FPU, no flags of its own in the machine state     | `trap::enter`, `lazy`
//  2 | operation, 0 to 8 words, no capabilities, no flags             | `check_tag`
//  3 | selector below the table's size                                | `slot`
//  4 | a Thread capability with the right to call                     | `slot_of`
//  5 | receiver waits openly and may be resumed fast                  | `receives_from`
//  6 | receiver at least as urgent as every ready thread              | `schedule`
//  7 | the handle's index, which is always one of the table           | `waiting_caller`
//  8 | that thread waits for a reply, and may be resumed fast         | `waiting_caller`
//  9 | under this handle, from this very thread                       | `waiting_caller`
// 10 | this thread has no sender and no notification waiting          | `receive`
// 11 | the other thread's space is the same, or both use the two      | `Spaces::enter`
//    | lowest segments only, by contexts that count                   |
//
// T3 need not look for selector 0: slot 0 of a table is always empty, so it has no right to call.
// Receiver and sender cannot be one thread: the sender runs, so its gate is not `OPEN`.
//
// An alien's `sc` goes to `alien.S` with all registers except r11, r12 and CR0, which Linux's programs lose in a system call anyway.
//
// r11 is the thread, r18 its space, r20 the other thread, r19 that one's space.

// Clears the registers that a system call does not keep, except r11.
.macro CLEAR
    li 0, 0
    .irp n, 12,13,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    li \n, 0
    .endr
    mtctr 0
    mtlr 0
    mtcr 0
    mtxer 0
.endm

// T11, for the thread in r20. CR5 says whether both threads have one space.
.macro MAY_SWITCH
    lwz 19, {space}(20)
    cmplw 5, 18, 19
    beq- 5, 1f
    lwz 22, {cpu}@l + {port}(0)
    lwz 23, {simple}(19)
    cmplw 22, 23                                        // T11
    bne- slow
1:
.endm

// The code at the vector.
.macro SYSTEM_CALL
    .org 0xc00
    .if {kdb}
    mfspr 11, 273
    mtspr 274, 31
    b alien_slow
    .endif
    mfspr 11, 273
    lwz 12, {cap_limit}(11)
    cmplwi 12, 0                                        // T1
    beq- alien_called
    lwz 13, {lazy}(11)
    lwz 18, {space}(11)
    xori 16, 3, {op_call}
    cmpwi 13, 0                                         // T1
    cmplwi 1, 16, {words}                               // T2
    bne- slow
    bgt- 1, not_call
    // call
    cmplw 4, 12                                         // T3
    slwi 17, 4, {slot_shift}
    bge- slow
    add 17, 17, 18
    lwz 20, {slots}(17)
    lwz 21, {slots} + 4(17)
    andi. 0, 20, {call_right}                           // T4
    rlwinm 20, 20, 0, 0, 31 - {rights_bits}
    beq- slow
    lwz 22, {gate}(20)
    lwz 23, {priority}(20)
    lwz 24, {cpu}@l + {top}(0)
    cmpwi 22, {gate_open}                               // T5
    cmplw 1, 24, 23                                     // T6
    bne- slow
    bgt- 1, slow
    MAY_SWITCH
    // Nothing can fail any more. The badge word of a Thread capability has zeros below the badge.
    lwz 25, {handle}(11)
    or 3, 16, 21
    addis 4, 25, {sequence_high}
    li 26, {gate_reply}
    stw 4, {handle}(11)
    stw 20, {partner}(11)
    stw 26, {gate}(11)

// To the thread in r20.
goes_on:
    SAVE_CALLER
    RUN 20, 26
    beq- 5, arrive
    b switch
.endm

.section .text.fast, "ax"
switch:
    LOAD_SPACE 19, 16, 17, 22
arrive:
    lwz 13, {pc}(20)
    lwz 1, {r1}(20)
    lwz 2, {r2}(20)
    // SRR1 is that of any thread without its own bits in the machine state (T1).
    mtspr 26, 13
    CLEAR
    li 11, 0
    rfi

not_call:
    xori 16, 3, {op_reply_wait}
    lis 17, {pool_place}@ha
    lwz 17, {pool_place}@l + {index_mask}(17)
    cmplwi 16, {words}                                  // T2
    bgt- run
    MAY_REPLY {gate_reply}
    MAY_SWITCH
    ori 3, 16, {delivery_reply}
    li 4, 0
    li 26, {gate_open}
    stw 26, {gate}(11)
    b goes_on
.text
