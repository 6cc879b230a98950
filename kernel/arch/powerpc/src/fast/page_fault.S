// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of a page fault: of a native thread to the pager that waits openly, of an alien to the handler that waits in `run`. It
// does what `trap.rs` and `fault.rs` of the portable kernel would do (`page_fault`, `raise`, `transfer_exception`). The answer comes by
// `map.S`, `ipc.S` or `alien.S`.
//
//  F | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | a user's address: it is none of an I/O port                    | `used_port`
//  2 | the directory has nothing there, or a table of pages of the    | `Spaces::seen`
//    | space, which are no server's                                   |
//  3 | which has a page there that cannot be written, by a store: no | `fault_in`
//    | TLB has less than the tables                                   |
//  4 | the thread has a handler                                       | `raise`
//  5 | which waits openly and may be resumed fast                     | `receives_from`
//  6 | the thread has no FPU and no flags of its own                  | `transfer_exception`
//  7 | the handler is at least as urgent as every ready thread        | `schedule`
//  8 | T11                                                            | `Spaces::enter`
//
// For an alien A3 to A5 are in the place of F5 to F8.
//
// If a miss has found a table without the page, the path begins with F4.
//
// r25 is CR, and r25 to r31 are saved with what the misses need (`hash.S`). r27 is the address, r28 the error; r26 becomes the thread, r29
// its handler.

// All registers of the alien in r26 to its frame. Then as SAVE_FRAME, but that r11, r12 and CR are the alien's in its frame.
.macro SAVE_FAILED
    lwz 31, {utcb}(26)
    stmw 0, 0(31)
    mr 11, 31
    mr 12, 29
    mr 3, 26
    mr 4, 25
    mr 5, 28
    stw 27, {fault_address}(26)
    mr 6, 27
    lmw 25, {reload}@l(0)
    stmw 25, 25 * 4(11)
    mflr 22
    mfctr 23
    mfxer 24
    mr 25, 4
    mfspr 26, 26
    mfspr 27, 27
    li 28, {page_fault}
    mr 29, 5
    mr 30, 6
    li 31, 0
    // A fetch's reason is in the upper half.
    rlwinm 27, 27, 0, 16, 31
    rlwinm 27, 27, 0, {below_fpu}, {above_fpu}
    stmw 22, {f_lr}(11)
    rlwinm 27, 27, 0, {below_flags}, {above_flags}
.endm

.section .text.fast, "ax"
page_failed:
    rlwinm 26, 27, 4, 28, 31
    mfspr 29, 272
    cmpwi 26, {user_segments}                           // F1
    rlwimi 29, 27, 12, 20, 29
    bge- page_slow
    lwz 29, 0(29)
    mfspr 26, 273
    andi. 30, 29, {present} | {large} | {server} | {read_only}
    cmpwi 1, 30, {present} | {read_write}
    cmpwi 29, 0
    beq page_missing
    rlwimi 29, 27, 22, 20, 29
    bne- 1, page_slow                                   // F2
    lwz 29, -{read_write}(29)
    cmpwi 1, 28, {write_error}
    andi. 29, 29, {present} | {read_only}
    cmpwi 29, {present} | {read_only}
    bne- 1, page_slow                                   // F3
    bne- page_slow                                      // F3
    li 28, {write_protected}
page_missing:
    .if {kdb}
    b page_slow
    .endif
    lwz 29, {handler}(26)
    lwz 30, {cap_limit}(26)
    rlwinm. 29, 29, 0, 0, 31 - {rights_bits}            // F4
    cmpwi 1, 30, 0
    beq- page_slow
    lwz 30, {gate}(29)
    lwz 31, {priority}(29)
    beq 1, alien_failed
    cmpwi 30, {gate_open}                               // F5
    lwz 30, {lazy}(26)
    bne- page_slow
    cmpwi 30, 0                                         // F6
    lwz 30, {cpu}@l + {top}(0)
    bne- page_slow
    cmplw 30, 31                                        // F7
    lwz 30, {space}(26)
    lwz 31, {space}(29)
    bgt- page_slow
    cmplw 5, 30, 31
    beq 5, native_failed
    lwz 30, {cpu}@l + {port}(0)
    lwz 31, {simple}(31)
    cmplw 30, 31                                        // F8
    bne- page_slow
native_failed:
    // All registers are saved. They are the message to the handler, in r20.
    lwz 31, {utcb}(29)
    stmw 0, {gpr}(26)
    stmw 0, {message}(31)
    mr 11, 26
    mr 12, 31
    mr 13, 25
    mr 6, 27
    mr 7, 28
    mr 20, 29
    lmw 25, {reload}@l(0)
    stmw 25, {gpr} + 25 * 4(11)
    stmw 25, {message} + 25 * 4(12)
    mflr 24
    mfctr 25
    mfxer 26
    mr 27, 13
    mfspr 28, 26
    mfspr 29, 27
    li 30, {page_fault}
    mr 31, 7
    rlwinm 29, 29, 0, 16, 31
    li 8, 0
    stmw 24, {lr}(11)
    stmw 24, {message} + {f_lr}(12)
    stw 6, {fault_address}(11)
    stw 6, {message} + {f_address}(12)
    stw 8, {message} + {f_changed}(12)
    lwz 4, {handle}(11)
    lwz 3, {handler} + 4(11)
    li 9, {kind_exception}
    li 10, {gate_exception}
    addis 4, 4, {sequence_high}
    stw 9, {sending}(11)
    stw 10, {gate}(11)
    stw 20, {partner}(11)
    stw 4, {handle}(11)
    oris 3, 3, {delivery_exception} >> 16
    ori 3, 3, {delivery_exception} & 0xffff
    mtspr 27, 29
    RUN 20, 26
    bne- 5, native_failed_elsewhere
native_told:
    lwz 5, {pc}(20)
    lwz 1, {r1}(20)
    lwz 2, {r2}(20)
    mtspr 26, 5
    li 5, {page_fault}
    // The rest of the message's words in registers; the frame is in the UTCB. The other registers keep the thread's values; none has a
    // word of the kernel.
    li 8, 0
    li 9, 0
    li 10, 0
    li 11, 0
    li 12, 0
    li 14, 0
    li 15, 0
    li 20, 0
    rfi

native_failed_elsewhere:
    lwz 8, {space}(20)
    LOAD_SPACE 8, 9, 10, 11
    b native_told

// The alien is in r26, its handler in r29 with its gate in r30 and its priority in r31.
alien_failed:
    cmpwi 30, {gate_run}                                // A3
    lwz 30, {partner}(29)
    bne- page_slow
    cmplw 30, 26                                        // A3
    lwz 30, {cpu}@l + {top}(0)
    bne- page_slow
    cmplw 30, 31                                        // A4
    lwz 31, {space}(29)
    lwz 30, {shown}@l + {shown_server}(0)
    bgt- page_slow
    cmplw 30, 31                                        // A5
    bne- alien_failed_elsewhere
    SAVE_FAILED
    TELL_BY_WINDOW alien_failed

alien_failed_elsewhere:
    lwz 30, {cpu}@l + {port}(0)
    lwz 31, {simple}(31)
    cmplw 30, 31                                        // A5
    bne- page_slow
    SAVE_FAILED
    TELL_ELSEWHERE
.text
