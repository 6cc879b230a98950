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

// A thread waits: its registers of a system call that are kept are saved. Destroys r13.
.macro SAVE_CALLER
    mfspr 13, 26
    stw 1, {r1}(11)
    stw 2, {r2}(11)
    stw 13, {pc}(11)
.endm

// A thread runs from now on. What is reserved is not any more: if the store happens, then of the same word. Destroys `word`.
.macro RUN thread, word
    li \word, {gate_ready}
    stw \word, {gate}(\thread)
    stwcx. \word, 0, \thread
    stw \thread, {cpu}@l + {current}(0)
    mtspr 273, \thread
.endm

// To a space that uses the two lowest segments only, from another one (T11). Destroys the other registers.
.macro LOAD_SPACE space, low, high, directory
    lwz \low, {vsid_0}(\space)
    lwz \high, {vsid_1}(\space)
    lwz \directory, {directory}(\space)
    mtsr 0, \low
    mtsr 1, \high
    mtspr 272, \directory
.endm
