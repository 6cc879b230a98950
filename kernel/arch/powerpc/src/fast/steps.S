// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps that several fast paths make.

// The thread that the handle in r4 names, in r20: its index is one of the table, whatever a user made of it. r17 is the table's mask.
.macro THREAD_OF_HANDLE
    lis 20, {threads_high}
    and 17, 17, 4
    ori 20, 20, {threads_low}
    slwi 17, 17, {thread_shift}
    add 20, 20, 17
.endm

// T7 to T10 and T6 of an answer to a thread that waits with this gate, which is in r20; the thread is in r11. Destroys r17 and r22 to r26.
.macro MAY_REPLY waits
    THREAD_OF_HANDLE                                    // T7
    lwz 22, {gate}(20)
    lwz 23, {handle}(20)
    lwz 24, {partner}(20)
    cmpwi 22, \waits                                    // T8
    cmplw 1, 23, 4                                      // T9
    cmplw 6, 24, 11
    bne- slow
    bne- 1, slow
    bne- 6, slow
    lwz 25, {senders}(11)
    lwz 26, {signals}(11)
    lwz 24, {cpu}@l + {top}(0)
    lwz 23, {priority}(20)
    or. 25, 25, 26                                      // T10
    cmplw 1, 24, 23                                     // T6
    bne- slow
    bgt- 1, slow
.endm

// R2 to R6 of `run`: the alien is in r20, its frame in r21, its space in r19; the thread is in r11. Destroys r17 and r22 to r25.
.macro MAY_RUN
    THREAD_OF_HANDLE                                    // R2
    lwz 22, {gate}(20)
    lwz 23, {handle}(20)
    lwz 24, {partner}(20)
    lwz 21, {handler}(20)
    cmplwi 22, {gate_alien}                             // R3
    cmplw 1, 23, 4
    cmplw 6, 24, 11
    rlwinm 21, 21, 0, 0, 31 - {rights_bits}
    cmplw 7, 21, 11
    bne- slow
    bne- 1, slow
    bne- 6, slow
    bne- 7, slow
    lwz 25, {signals}(11)
    lwz 24, {cpu}@l + {top}(0)
    lwz 23, {priority}(20)
    cmpwi 25, 0                                         // R4
    cmplw 1, 24, 23                                     // R5
    lwz 21, {utcb}(20)
    bne- slow
    bgt- 1, slow
    lwz 22, {f_changed}(21)
    lwz 19, {space}(20)
    cmpwi 22, 0                                         // R6
    bne- slow
.endm

// A thread waits: saves the registers that its system call keeps. Destroys r13.
.macro SAVE_CALLER
    mfspr 13, 26
    stw 1, {r1}(11)
    stw 2, {r2}(11)
    stw 13, {pc}(11)
.endm

// A thread runs from now on. Ends any reservation: if the store happens, it is to the same word. Destroys `word`.
.macro RUN thread, word
    li \word, {gate_ready}
    stw \word, {gate}(\thread)
    stwcx. \word, 0, \thread
    stw \thread, {cpu}@l + {current}(0)
    mtspr 273, \thread
.endm

// To a space that shows the server whose window is known, from another one that shows it (R7). The window is closed after that. Destroys
// r17 and r22 to r24.
.macro LOAD_BELOW space
    lwz 22, {vsid_0}(\space)
    lis 24, {scatter_high}
    lwz 17, {directory}(\space)
    ori 24, 24, {scatter_low}
    stw \space, {shown}@l + {shown_tables}(0)
    mtsr 0, 22
    // A VSID has 24 bits.
    .irp n, 1,2,3,4,5,6,7,8,9
    add 22, 22, 24
    rlwinm 22, 22, 0, 8, 31
    mtsr \n, 22
    .endr
    mtspr 272, 17
.endm

// To a space that uses only the two lowest segments, from another one (T11). Destroys the other registers.
.macro LOAD_SPACE space, low, high, directory
    lwz \low, {vsid_0}(\space)
    lwz \high, {vsid_1}(\space)
    lwz \directory, {directory}(\space)
    mtsr 0, \low
    mtsr 1, \high
    mtspr 272, \directory
.endm
