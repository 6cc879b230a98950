// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of a page fault: of a native thread to the pager that waits openly, of an alien to the handler that waits in `run`. It
// does what `trap.rs` and `fault.rs` of the portable kernel would do (`access_failed`, `fetch_failed`, `raise`, `transfer_exception`).
// The answer comes by `map.S`, `ipc.S` or `alien.S`.
//
//  F | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | an entry of a coarse table is empty, or does not allow it      | `abort::decode`
//  2 | the table is that of the running space or of a Segment that    | `fault_in`
//    | has a domain of its own: its domain is open to the space       |
//  3 | and it is no copy: the space has no Segments, or it is one's   | `shadow.rs`
//  4 | the instruction is ARM's and no helper's                       | `restart_helper`
//  5 | which loads or stores words, bytes, or several words           | `abort::writes`
//  6 | no thread pointer, nothing lazily loaded                       | `lazy`
//  7 | the thread has a handler                                       | `raise`
//  8 | which waits openly and may be resumed fast                     | `receives_from`
//  9 | and is at least as urgent as every ready thread                | `schedule`
//
// For an alien A2 to A4 are in the place of F6 to F9. For a fetch P1 to P3 are in the place of F1 to F5:
//
//  P | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | the address is below the UTCBs, and what everybody can read    | `lookup`
//  2 | there is a table                                               | `lookup`
//  3 | and its entry is empty                                         | `lookup`
//
// A translation fault takes precedence over a domain fault. So F1 by itself would take a page that is missing in another space's table,
// which is in the directory, for one that is missing in the running space's.
//
// All registers are saved in the thread's context before the tests: the portable code needs them there, and so does the answer. SP is the
// thread, r0 the number of the vector, and r12 becomes the handler.

// Copies the registers of the thread, with the vector in r2, the address in r3 and the error in r4, as a frame to r1 and up, and records
// why the thread stopped. Destroys all registers above r4 except r12.
.macro TELL
    add r0, sp, #{r0}
    ldmia r0!, {{r5-r11}}
    str r3, [sp, #{fault_address}]
    str r2, [sp, #{vector}]
    str r4, [sp, #{error}]
    stmia r1!, {{r5-r11}}
    ldmia r0, {{r5-r11, lr}}
    stmia r1!, {{r5-r11, lr}}
    ldr r5, [sp, #{pc}]
    ldr r6, [sp, #{cpsr}]
    mov r7, r2
    mov r8, r4
    mov r9, r3
    mov r10, #0
    stmia r1!, {{r5-r10}}
    ldr r1, [sp, #{handle}]
    ldr r0, [sp, #{handler} + 4]
    add r1, r1, #{sequence}
    str r1, [sp, #{handle}]
.endm

.section .text.fast, "ax", %progbits

// It does not matter whether the section is in the directory: when there is a page, another fault brings it.
fetch_fault:
    ldr r3, [sp, #{pc}]
    ldr r6, [sp, #{space}]
    cmp r3, #{utcbs}                                    // P1
    bhs enter
    ldr r7, [r6, #{region_top}]
    mov r8, r3, lsr #22
    ldr r8, [r7, r8, lsl #2]
    tst r8, #{table}                                    // P2
    beq enter
    LEAF_ENTRY r8, r3, r10, r11
    ldr r8, [r8]
    ldr r10, ={all_domains}
    teq r8, #0                                          // P3
    bne enter
    mcr p15, 0, r10, c3, c0, 0
    mov r4, #{fetch_error}
    b page_failed

data_fault:
    mrc p15, 0, r4, c5, c0, 0
    mrc p15, 0, r3, c6, c0, 0
    and r5, r4, #{status}
    bic r5, r5, #{status_protection}
    cmp r5, #{page_missing}                             // F1
    bne enter
    ldr r6, [sp, #{space}]
    and r5, r4, #{status_domain}
    mov r5, r5, lsr #4
    ldr r7, [r6, #{dacr}]
    mov r8, r5, lsl #1
    mov r7, r7, lsr r8
    tst r7, #1                                          // F2
    beq enter
    ldr r7, [r6, #{segments}]
    ldr r8, [r6, #{domain}]
    teq r7, #0
    moveq r8, #0
    teq r8, r5                                          // F3
    beq enter
    // Some processors report the relocated address. That of an indifferent space is not relocated, whatever the process identifier is.
    ldr r7, [r6, #{pid}]
    eor r7, r7, r3
    cmp r7, #{slot_bytes}
    biclo r3, r3, #{slot}
    ldr r8, [sp, #{pc}]
    ldr r9, [sp, #{cpsr}]
    tst r9, #{thumb}                                    // F4
    bne enter
    cmp r8, #{helpers}                                  // F4
    bhs enter
    ldr r10, ={all_domains}
    mcr p15, 0, r10, c3, c0, 0
    // It was fetched from there since the last change of the tables: so it can be read.
    ldr r10, [r8]
    and r4, r4, #{status_protection}
    and r11, r10, #{class}
    sub r11, r11, #{words_class}
    cmp r11, #{words_class}                             // F5
    bhi enter
    mov r4, r4, lsr #{protection_shift}
    tst r10, #{load}
    orreq r4, r4, #{write_error}
page_failed:
    mov r2, #{page_fault}
    ldr r10, [sp, #{flags}]
    ldr r12, [sp, #{handler}]
    tst r10, #{alien}
    bne 1f
    ldr r10, [sp, #{lazy}]
    teq r10, #0                                         // F6
    bne enter
    tst r12, #{call_right}                              // F7
    beq enter
    bic r12, r12, #{rights}
    ldr r10, [r12, #{gate}]
    ldr lr, ={cpu}
    cmp r10, #{gate_open}                               // F8
    ldr r11, [r12, #{priority}]
    ldr r10, [lr, #{top}]
    bne enter
    cmp r10, r11                                        // F9
    bhi enter
    ldr r1, [r12, #{utcb}]
    mov r10, #{kind_exception}
    add r1, r1, #{message}
    str r10, [sp, #{sending}]
    TELL
    ldr r10, ={delivery_exception}
    mov r11, #{gate_exception}
    orr r0, r0, r10
    str r12, [sp, #{partner}]
    str r11, [sp, #{gate}]
    // The rest of the message's words in registers; the frame is after them, in the UTCB.
    mov r5, #0
    mov r6, #0
    mov r7, #0
    mov r8, #0
    mov r9, #0
    b goes_on

// For an alien.
1:
    bics r12, r12, #{rights}                            // A2
    beq enter
    ldr r10, [r12, #{gate}]
    ldr r11, [r12, #{partner}]
    cmp r10, #{gate_run}                                // A3
    cmpeq r11, sp
    bne enter
    ldr lr, ={cpu}
    ldr r11, [r12, #{priority}]
    ldr r10, [lr, #{top}]
    cmp r10, r11                                        // A4
    bhi enter
    ldr r1, [sp, #{utcb}]
    TELL
    ldr r11, ={thread_pointer_word}
    mov r10, #0
    str r10, [r11]
    ldr r10, ={delivery_alien}
    mov r11, #{gate_alien}
    orr r0, r0, r10
    str r11, [sp, #{gate}]
    b goes_on
    .ltorg
