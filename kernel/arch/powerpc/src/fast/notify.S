// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of `notify` and `receive`. They do what `notify.rs`, `ipc.rs` and `sched.rs` of the portable kernel would do: they put
// threads into ready queues, take them from there, and begin time slices. In every other case they go to `slow`.
//
// T1 of `ipc.S` holds. The tests have the same numbers as on IA-32.
//
//  N | test at `notify`                                               | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words, capabilities or flags                                |
//  2 | selector below the table's size                                | `slot`
//  3 | a Thread capability with the right to notify                   | `slot_of`
//  4 | that thread waits for anybody or for notifications, and may be | `notify`
//    | resumed fast; or it is no alien and is ready or calls          |
//  5 | if it is more urgent than this one and accepts a bit: T11, B   | `schedule`
//
//  W | test at `receive`                                              | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words and capabilities, no other flags than its own         |
//  2 | from anybody                                                   | `receive_call`
//  3 | a bit that it accepts is pending; or no thread waits to send   | `receive`
//    | to it, or it takes only notifications                          |
//  4 | if it waits: there is a ready thread                           | `pick`
//  5 | whose registers are all in its context, and nothing else is to | `carry_on`, `lazy`
//    | be loaded                                                      |
//  6 | T11 and B, for that thread                                     |
//
//  B | test before a time slice begins                                | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | the timer ticks no later than at the slice's end               | `program_timer`
//  2 | of a slice that is interrupted, the rest is a word             | `preempt`
//  3 | the halves of the time base are of one moment                  | `time_base`
//
// A thread that is put into a queue here continues later as if its system call ended then: its context has the results, and it has the flag
// `BRIEF`.
//
// r11 is the thread, r18 its space, r20 the other thread, r19 that one's space, r12 the UTCB of the thread that is notified, r25 the
// kernel.

.macro KERNEL
    lis 25, {kernel}@ha
    addi 25, 25, {kernel}@l
.endm

// The time becomes r26 and r27, when the slice of the thread in r20 would end r28 and r29 (the upper half first). To `slow` unless B1 and B3.
// Destroys r0, r22 to r24, r30 and r31. The clock is that of `abi::kip::scale`.
.macro END_OF_SLICE
    mftbu 22
    mftb 23
    mftbu 24
    lwz 30, {clock_base}(25)
    lwz 31, {clock_base} + 4(25)
    cmplw 22, 24                                        // B3
    lwz 24, {clock_mult}(25)
    lwz 0, {clock_shift}(25)
    bne- slow
    subfc 23, 31, 23
    subfe 22, 30, 22
    mullw 27, 23, 24
    mulhwu 26, 23, 24
    mullw 30, 22, 24
    mulhwu 31, 22, 24
    subfic 23, 0, 32
    srw 27, 27, 0
    slw 22, 26, 23
    srw 26, 26, 0
    or 27, 27, 22
    srw 22, 30, 0
    slw 30, 30, 23
    slw 31, 31, 23
    or 31, 31, 22
    addc 27, 27, 30
    adde 26, 26, 31
    lwz 22, {slice_left}(20)
    lwz 23, {programmed}(25)
    lwz 24, {programmed} + 4(25)
    cmpwi 22, 0
    bne has_left\@
    lis 22, {slice_high}
    ori 22, 22, {slice_low}
has_left\@:
    addc 29, 27, 22
    addze 28, 26
    subfc 24, 24, 29
    subfe 23, 23, 28
    subfe. 23, 23, 23                                   // B1
    bne- slow
.endm

// The slice begins. r22 is 0 afterwards.
.macro BEGIN_SLICE
    li 22, 0
    stw 28, {slice_end}(25)
    stw 29, {slice_end} + 4(25)
    stw 22, {slice_left}(20)
    stw 20, {slice_owner}(25)
.endm

// The bit of a priority in its word of those that are not empty: the word's address less `occupied` is in r23, the word in r24, the bit in
// r30. Destroys r31.
.macro OCCUPIED priority
    rlwinm 23, \priority, 29, 27, 29
    rlwinm 31, \priority, 0, 27, 31
    add 23, 23, 25
    li 30, 1
    lwz 24, {occupied}(23)
    slw 30, 30, 31
.endm

// Puts a thread into the ready queue of a priority: at its end, or its `front`. Destroys r22 to r24, r30 and r31.
.macro ENQUEUE thread, priority, front
    slwi 22, \priority, 2
    add 22, 22, 25
    lwz 23, {heads}(22)
    cmpwi 23, 0
    beq is_alone\@
    lwz 24, {prev}(23)
    stw 23, {next}(\thread)
    stw 24, {prev}(\thread)
    stw \thread, {next}(24)
    stw \thread, {prev}(23)
    .if \front
    stw \thread, {heads}(22)
    .endif
    b is_queued\@
is_alone\@:
    stw \thread, {next}(\thread)
    stw \thread, {prev}(\thread)
    stw \thread, {heads}(22)
    OCCUPIED \priority
    or 24, 24, 30
    stw 24, {occupied}(23)
    .if \front == 0
    // The thread that has just run is more urgent than all others.
    lwz 22, {cpu}@l + {top}(0)
    cmplw 22, \priority
    bge is_queued\@
    .endif
    stw \priority, {cpu}@l + {top}(0)
is_queued\@:
    lwz 23, {thread_flags}(\thread)
    ori 23, 23, {brief}
    stw 23, {thread_flags}(\thread)
.endm

// Words of a message in registers, all zero but the first.
.macro NO_OTHER_WORDS
    li 4, 0
    .irp n, 6,7,8,9,10,14,15
    li \n, 0
    .endr
.endm

.section .text.fast, "ax"

// From M1 of `map`: the thread is in r11, its space in r18, the size of its table in r12.
try_notify:
    cmplwi 3, {op_notify}                               // N1
    bne- try_receive
    cmplw 4, 12                                         // N2
    slwi 17, 4, {slot_shift}
    add 17, 17, 18
    bge- slow
    lwz 20, {slots}(17)
    lwz 21, {slots} + 4(17)
    andi. 22, 20, {notify_right}                        // N3
    rlwinm 20, 20, 0, 0, 31 - {rights_bits}
    beq- slow
    lwz 22, {gate}(20)
    lwz 23, {signals}(20)
    lwz 24, {cap_limit}(20)
    lwz 12, {utcb}(20)
    srwi 17, 21, {badge_shift}
    cmpwi 22, {gate_open}
    or 17, 17, 23
    cmpwi 1, 22, {gate_notified}
    beq notifies_who_waits
    beq 1, notifies_who_waits
    cmpwi 24, 0                                         // N4
    cmpwi 1, 22, {gate_ready}
    cmpwi 6, 22, {gate_reply}
    beq- slow
    beq 1, learns_later
    bne- 6, slow                                        // N4
learns_later:
    stw 17, {signals}(20)
    stw 17, {pending_bits}(12)
notified:
    li 3, 0
    li 4, 0
    li 5, 0
    li 6, 0
to_self:
    // Ends any reservation.
    li 26, {gate_ready}
    stwcx. 26, 0, 11
    CLEAR
    li 11, 0
    rfi

notifies_who_waits:
    lwz 16, {accept}(12)
    lwz 26, {priority}(20)
    lwz 27, {priority}(11)
    and. 16, 16, 17
    beq learns_later
    cmplw 26, 27                                        // N5
    KERNEL
    andc 17, 17, 16
    bgt more_urgent
    // The thread continues when its turn comes.
    li 22, {gate_ready}
    li 23, 0
    stw 17, {signals}(20)
    stw 17, {pending_bits}(12)
    stw 22, {gate}(20)
    ori 22, 23, {delivery_notification}
    stw 22, {gpr} + 3 * 4(20)
    stw 16, {gpr} + 5 * 4(20)
    .irp n, 4,6,7,8,9,10,14,15
    stw 23, {gpr} + \n * 4(20)
    .endr
    ENQUEUE 20, 26, 0
    b notified

// The thread continues now, and this one when it is the most urgent again.
more_urgent:
    MAY_SWITCH
    END_OF_SLICE
    lwz 22, {slice_end}(25)
    lwz 23, {slice_end} + 4(25)
    subfc 23, 27, 23
    subfe. 22, 26, 22                                   // B2
    bne- slow
    stw 23, {slice_left}(11)
    BEGIN_SLICE
    lwz 26, {priority}(11)
    .irp n, 3,4,5,6
    stw 22, {gpr} + \n * 4(11)
    .endr
    .irp n, 7,8,9,10,14,15
    stw \n, {gpr} + \n * 4(11)
    .endr
    ENQUEUE 11, 26, 1
    stw 17, {signals}(20)
    stw 17, {pending_bits}(12)
    li 3, 0
    mr 5, 16
    ori 3, 3, {delivery_notification}
    NO_OTHER_WORDS
    b goes_on

// `receive`, in the same way.
try_receive:
    andi. 22, 3, {poll} | {notifications_only}
    xor 23, 3, 22
    cmplwi 23, {op_receive}                             // W1
    cmpwi 1, 4, 0                                       // W2
    bne- slow
    bne- 1, slow
    lwz 12, {utcb}(11)
    lwz 17, {signals}(11)
    lwz 16, {accept}(12)
    lwz 23, {senders}(11)
    and. 16, 16, 17                                     // W3
    bne takes_bits
    andi. 24, 3, {notifications_only}
    cmpwi 1, 23, 0                                      // W3
    bne takes_bits_alone
    bne- 1, slow
takes_bits_alone:
    andi. 24, 3, {poll}
    bne finds_nothing
    // The thread waits.
    lwz 26, {cpu}@l + {top}(0)
    KERNEL
    slwi 22, 26, 2
    add 22, 22, 25
    lwz 20, {heads}(22)
    cmpwi 20, 0                                         // W4
    beq- slow
    lwz 23, {thread_flags}(20)
    lwz 24, {lazy}(20)
    andi. 23, 23, {brief}                               // W5
    cmpwi 1, 24, 0                                      // W5
    beq- slow
    bne- 1, slow
    MAY_SWITCH                                          // W6
    END_OF_SLICE                                        // W6
    BEGIN_SLICE
    andi. 23, 3, {notifications_only}
    li 23, {gate_open}
    beq waits_for_all
    li 23, {gate_notified}
waits_for_all:
    stw 22, {partner}(11)
    stw 23, {gate}(11)
    SAVE_CALLER
    lwz 26, {cpu}@l + {top}(0)
    lwz 23, {next}(20)
    lwz 24, {prev}(20)
    stw 22, {next}(20)
    stw 22, {prev}(20)
    lwz 30, {thread_flags}(20)
    slwi 31, 26, 2
    rlwinm 30, 30, 0, {below_brief}, {above_brief}
    add 31, 31, 25
    stw 30, {thread_flags}(20)
    cmplw 23, 20
    beq was_alone
    stw 23, {next}(24)
    stw 24, {prev}(23)
    stw 23, {heads}(31)
goes_on_briefly:
    .irp n, 3,4,5,6,7,8,9,10,14,15
    lwz \n, {gpr} + \n * 4(20)
    .endr
    RUN 20, 26
    beq- 5, arrive
    b switch

// It was the only one in its queue: the next one that is not empty has a lower priority.
was_alone:
    stw 22, {heads}(31)
    OCCUPIED 26
    andc 24, 24, 30
    stw 24, {occupied}(23)
    srwi 30, 26, 5
find_priority:
    cmpwi 24, 0
    bne found_priority
    cmpwi 30, 0
    beq no_priority
    addi 30, 30, -1
    slwi 23, 30, 2
    add 23, 23, 25
    lwz 24, {occupied}(23)
    b find_priority
found_priority:
    cntlzw 24, 24
    slwi 22, 30, 5
    subfic 24, 24, 31
    add 22, 22, 24
no_priority:
    stw 22, {cpu}@l + {top}(0)
    b goes_on_briefly

// There are no bits.
finds_nothing:
    lis 3, {would_block_high}
    ori 3, 3, {would_block_low}
    li 5, 0
    NO_OTHER_WORDS
    b to_self

takes_bits:
    andc 17, 17, 16
    li 3, 0
    stw 17, {signals}(11)
    stw 17, {pending_bits}(12)
    ori 3, 3, {delivery_notification}
    mr 5, 16
    NO_OTHER_WORDS
    b to_self
.text
