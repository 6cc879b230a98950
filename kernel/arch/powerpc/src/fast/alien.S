// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of aliens: from `sc` to the handler that waits in `run`, and the next `run`. Fast paths that give up also end here.
//
// It does what `fault.rs` of the portable kernel would do (`raise`, `transfer_exception`, `run`), and changes no word before its last test.
//
//  A | test at an alien's `sc`                                        | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | it is an alien: it has no capabilities                         | `trap::enter`
//  2 | it has a handler                                               | `raise`
//  3 | which waits in `run` for this thread, and may be resumed fast  | `receives_from`
//  4 | and is at least as urgent as every ready thread                | `schedule`
//  5 | the handler's space is a server that the alien's shows, by a   | `Spaces::enter`
//    | window of two segments; or see T11                             |
//
//  R | test at `run`                                                  | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no flags, no words                                             | `check_tag`
//  2 | the handle's index, which is always one of the table           | `waiting_caller`
//  3 | an alien that waits, under this handle, for this very thread,  | `waiting_caller`, `run`
//    | which is its handler                                           |
//  4 | no notification waits                                          | `run`
//  5 | the alien is at least as urgent as every ready thread          | `schedule`
//  6 | the handler changed no FPU's registers                         | `resume_exception`
//  7 | the alien's tables are the processor's, and show the handler's | `Spaces::enter`
//    | server by such a window; or the processor's and they show one  |
//    | server, by contexts that count; or see T11                     |
//
// A1 recognises an alien before anything is saved: it uses r11, r12 and CR0, which a program of Linux loses in a system call. The tests
// also use r31, which SPRG2 keeps.
//
// The frame of an alien is in its UTCB, which the kernel can access. The handler writes it: only registers and masked flags are taken from
// it. The FPU keeps an alien's registers while its handler runs, and is disabled for the handler. `Cpu::loaded` says whose registers they
// are, so the FPU is enabled again for the alien.
//
// At an event the handler gets the words of the message and its own r1 and r2. The other registers keep the alien's values: the handler has
// all of them in the frame, too. None has a word of the kernel.

// All registers to the frame at r11, which is the alien's; r12 is the handler. Afterwards r3 is the alien and all others except r12 are
// free; r27 is the machine state of a thread without its own flags.
.macro SAVE_FRAME
    mfspr 31, 274
    stmw 0, 0(11)
    mflr 22
    mfctr 23
    mfxer 24
    mfcr 25
    mfspr 26, 26
    mfspr 27, 27
    li 28, {event}
    li 29, 0
    rlwinm 27, 27, 0, {below_fpu}, {above_fpu}
    li 30, 0
    li 31, 0
    mfspr 3, 273
    stw 31, 11 * 4(11)
    stw 31, 12 * 4(11)
    stmw 22, {f_lr}(11)
    rlwinm 27, 27, 0, {below_flags}, {above_flags}
.endm

// The handler, in r12, gets the event. The alien is in r3.
.macro TELL
    lwz 4, {handle}(3)
    li 26, {gate_alien}
    addis 4, 4, {sequence_high}
    stw 26, {gate}(3)
    stw 4, {handle}(3)
    lwz 3, {handler} + 4(3)
    RUN 12, 26
    ori 3, 3, {delivery_alien}
.endm

// Leaves to the handler. The frame's words of the event are its message: the number, the address, the error.
.macro TO_HANDLER
    lwz 11, {pc}(12)
    lwz 1, {r1}(12)
    lwz 2, {r2}(12)
    mtspr 26, 11
    mtspr 27, 27
    mr 5, 28
    mr 6, 30
    mr 7, 29
    li 11, 0
    li 12, 0
    rfi
.endm

// To the server that the alien's space shows: its window opens.
.macro TELL_BY_WINDOW name
    TELL
\name\()_opens:
    lwz 5, {shown}@l + {shown_vsids}(0)
    lwz 6, {shown}@l + {shown_vsids} + 4(0)
    mtsr {window}, 5
    mtsr {window} + 1, 6
    TO_HANDLER
.endm

// To a handler in another space of the two lowest segments.
.macro TELL_ELSEWHERE
    TELL
    lwz 5, {space}(12)
    LOAD_SPACE 5, 6, 7, 11
    TO_HANDLER
.endm

.section .text.fast, "ax"

// The alien is in r11.
alien_called:
    mtspr 274, 31
    lwz 12, {handler}(11)
    rlwinm. 12, 12, 0, 0, 31 - {rights_bits}            // A2
    beq- alien_slow
    lwz 31, {gate}(12)
    cmpwi 31, {gate_run}                                // A3
    bne- alien_slow
    lwz 31, {partner}(12)
    cmplw 31, 11
    bne- alien_slow
    lwz 31, {priority}(12)
    lwz 11, {cpu}@l + {top}(0)
    cmplw 11, 31                                        // A4
    mfspr 11, 273
    bgt- alien_slow
    lwz 31, {space}(12)
    lwz 11, {shown}@l + {shown_server}(0)
    cmplw 11, 31                                        // A5
    mfspr 11, 273
    bne- alien_called_elsewhere
    lwz 11, {utcb}(11)
    SAVE_FRAME
    TELL_BY_WINDOW alien_called

alien_called_elsewhere:
    lwz 11, {cpu}@l + {port}(0)
    lwz 31, {simple}(31)
    cmplw 11, 31                                        // A5
    mfspr 11, 273
    bne- alien_slow
    lwz 11, {utcb}(11)
    SAVE_FRAME
    TELL_ELSEWHERE

// From `ipc.S`: the thread is in r11, its space in r18, the mask of handles in r17.
run:
    cmplwi 3, {op_run}                                  // R1
    bne- map_run
    MAY_RUN
    lwz 22, {shown}@l + {shown_tables}(0)
    cmplw 22, 19                                        // R7
    bne- run_elsewhere
resume_by_window:
    // The window closes.
    lis 16, {shut}
    mtsr {window}, 16
    mtsr {window} + 1, 16
resume:
    li 26, {gate_run}
    stw 20, {partner}(11)
    stw 26, {gate}(11)
    SAVE_CALLER
    RUN 20, 26
    // All registers of the frame at r21.
    mr 1, 21
    lmw 22, {f_lr}(21)
    lwz 21, {cpu}@l + {loaded}(0)
    rlwinm 27, 27, 0, {first_flag}, {last_flag}
    xor 21, 21, 20
    ori 27, 27, {running}
    // 32 zeros only if they are equal: the bit that opens the FPU.
    cntlzw 21, 21
    rlwimi 27, 21, 8, {fpu_bit}, {fpu_bit}
    mtlr 22
    mtctr 23
    mtxer 24
    mtcr 25
    mtspr 26, 26
    mtspr 27, 27
    lmw 2, 2 * 4(1)
    lwz 0, 0(1)
    lwz 1, 4(1)
    rfi

run_elsewhere:
    lwz 22, {cpu}@l + {port}(0)
    lwz 23, {simple}(19)
    cmplw 22, 23                                        // R7
    bne- run_by_another_window
resume_elsewhere:
    LOAD_SPACE 19, 16, 17, 22
    b resume

run_by_another_window:
    lwz 22, {shown}@l + {shown_token}(0)
    lwz 24, {shown}@l + {shown_server}(0)
    lwz 25, {server_shown}(19)
    cmplw 22, 23                                        // R7
    cmplw 1, 24, 25                                     // R7
    bne- slow
    bne- 1, slow
resume_by_another_window:
    LOAD_BELOW 19
    b resume_by_window

// The portable kernel does not see what was in these registers, and neither does the thread that gets them from it.
slow:
    CLEAR
    mtspr 274, 31
// An alien loses only r11 and r12. Its r31 is in SPRG2.
alien_slow:
    mr 31, 11
    li 11, 0
    li 12, 0
    stmw 0, {gpr}(31)
    li 30, {system_call}
    b enter
.text
