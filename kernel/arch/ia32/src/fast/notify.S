// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of `notify` and `receive`. They do what `notify.rs`, `ipc.rs` and `sched.rs` of the portable kernel would do:
// they put threads into ready queues, take them from there, and begin time slices. In every other case they go to `slow`.
//
// T1 of `ipc.S` holds.
//
//  N | test at `notify`                                               | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words, capabilities or flags                                |
//  2 | selector below the table's size                                | `slot`
//  3 | a Thread capability with the right to notify                   | `slot_of`
//  4 | that thread waits for anybody or for notifications, and may be | `notify`
//    | resumed fast; or it is no alien and is ready or calls          |
//  5 | if it is more urgent than this one and accepts a bit: B        | `schedule`
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
//  6 | B, for that thread                                             |
//
//  B | test before a time slice begins                                | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | the timer ticks no later than at the slice's end               | `program_timer`
//  2 | of a slice that is interrupted, the rest is a word             | `preempt`
//
// A thread that is put into a queue here continues later as if its system call ended then: its context has the results, and it
// has the flag `BRIEF`.

// The time becomes EBP and EDI, when the slice of the thread in EBX would end EDX and ECX (the upper half first). To `refused`
// unless B1. Destroys EAX. The clock is that of `abi::kip::scale`; its shift is 1 to 31.
.macro END_OF_SLICE refused
    rdtsc
    sub eax, ss:[{kernel} + {clock_base}]
    sbb edx, ss:[{kernel} + {clock_base} + 4]
    mov ecx, ss:[{kernel} + {clock_shift}]
    mov edi, edx
    mul dword ptr ss:[{kernel} + {clock_mult}]
    shrd eax, edx, cl
    shr edx, cl
    xchg eax, edi
    mov ebp, edx
    mul dword ptr ss:[{kernel} + {clock_mult}]
    neg ecx
    shld edx, eax, cl
    shl eax, cl
    add edi, eax
    adc ebp, edx
    mov ecx, ss:[ebx + {slice_left}]
    test ecx, ecx
    jnz 9f
    mov ecx, {slice}
9:
    mov edx, ebp
    add ecx, edi
    adc edx, 0
    mov eax, edx
    cmp ecx, ss:[{kernel} + {programmed}]               // B1
    sbb eax, ss:[{kernel} + {programmed} + 4]
    jb \refused
.endm

// The slice begins.
.macro BEGIN_SLICE
    mov ss:[{kernel} + {slice_end}], ecx
    mov ss:[{kernel} + {slice_end} + 4], edx
    mov dword ptr ss:[ebx + {slice_left}], 0
    mov ss:[{kernel} + {slice_owner}], ebx
.endm

// Puts a thread into the ready queue of a priority: at its end, or its `front`. Destroys `a` and `b`.
.macro ENQUEUE thread, priority, a, b, front
    mov \a, ss:[{kernel} + {heads} + \priority * 4]
    test \a, \a
    jz 8f
    mov \b, ss:[\a + {prev}]
    mov ss:[\thread + {next}], \a
    mov ss:[\thread + {prev}], \b
    mov ss:[\b + {next}], \thread
    mov ss:[\a + {prev}], \thread
    .if \front
    mov ss:[{kernel} + {heads} + \priority * 4], \thread
    .endif
    jmp 9f
8:
    mov ss:[\thread + {next}], \thread
    mov ss:[\thread + {prev}], \thread
    mov ss:[{kernel} + {heads} + \priority * 4], \thread
    bts ss:[{kernel} + {occupied}], \priority
    cmp \priority, ss:[{top}]
    jbe 9f
    mov ss:[{top}], \priority
9:
    or dword ptr ss:[\thread + {thread_flags}], {brief}
.endm

// The saved DS and ES of a thread that continues after a system call.
.macro FLAT_IN_CONTEXT thread
    mov dword ptr ss:[\thread + {saved_ds}], {user_data}
    mov dword ptr ss:[\thread + {saved_es}], {user_data}
.endm

.section .text.fast, "ax", @progbits

// `notify`: from `map_reply`. ESP is the thread, the other registers are as the user had them, except ECX and EDX.
.balign 32
.global try_notify
try_notify:
    cmp eax, {op_notify}                                // N1
    jne try_receive
    cmp ebx, [esp + {cap_limit}]                        // N2
    jae slow
    mov ecx, [esp + {space}]
    shl ebx, 4
    mov edx, ss:[ecx + ebx + {slots}]
    mov ecx, ss:[ecx + ebx + {slots} + 4]
    shr ebx, 4
    test edx, {notify_right}                            // N3
    jz slow
    and edx, ~{rights}
    shr ecx, {badge_shift}
    or ecx, ss:[edx + {signals}]
    mov eax, ss:[edx + {utcb}]
    cmp dword ptr ss:[edx + {gate}], {gate_open}        // N4
    je 2f
    cmp dword ptr ss:[edx + {gate}], {gate_notified}
    je 2f
    test dword ptr ss:[edx + {thread_flags}], {alien_flag}
    jnz slow_notify
    cmp dword ptr ss:[edx + {gate}], {gate_ready}
    je 1f
    cmp dword ptr ss:[edx + {gate}], {gate_reply}
    jne slow_notify
    // The thread learns of the bits later.
1:
    mov ss:[edx + {signals}], ecx
    mov ss:[eax + {pending_bits}], ecx
notified:
    xor eax, eax
    xor ebx, ebx
    xor esi, esi
    xor edi, edi
to_self:
    mov edx, esp
    mov ecx, [esp + {space}]
    jmp ss:[ecx + {enter_space}]
2:
    test ss:[eax + {accept}], ecx
    jz 1b
    mov [esp + {saved_esi}], esi
    mov esi, ss:[edx + {priority}]
    cmp esi, [esp + {priority}]                         // N5
    ja 3f
    // The thread continues when its turn comes.
    mov edi, ss:[eax + {accept}]
    and edi, ecx
    xor ecx, edi
    mov ss:[edx + {signals}], ecx
    mov ss:[eax + {pending_bits}], ecx
    mov dword ptr ss:[edx + {gate}], {gate_ready}
    xor ecx, ecx
    mov dword ptr ss:[edx + {saved_eax}], {delivery_notification}
    mov ss:[edx + {saved_ebx}], ecx
    mov ss:[edx + {saved_esi}], edi
    mov ss:[edx + {saved_edi}], ecx
    mov ss:[edx + {saved_ebp}], ecx
    FLAT_IN_CONTEXT edx
    ENQUEUE edx, esi, eax, ecx, 0
    jmp notified
    // The thread continues now, and this one when it is the most urgent again.
3:
    mov [esp + {saved_ebx}], ebx
    mov [esp + {saved_edi}], edi
    mov [esp + {saved_ebp}], ebp
    mov [esp + {saved_eax}], ecx
    mov ebx, edx
    END_OF_SLICE 7f
    mov eax, ss:[{kernel} + {slice_end}]                // B2
    mov esi, ss:[{kernel} + {slice_end} + 4]
    sub eax, edi
    sbb esi, ebp
    jnz 7f
    BEGIN_SLICE
    mov [esp + {slice_left}], eax
    mov edi, [esp + {priority}]
    ENQUEUE esp, edi, eax, ecx, 1
    mov edx, ebx
    mov ecx, [esp + {saved_eax}]
    mov eax, ss:[edx + {utcb}]
    mov esi, ss:[eax + {accept}]
    and esi, ecx
    xor ecx, esi
    mov ss:[edx + {signals}], ecx
    mov ss:[eax + {pending_bits}], ecx
    xor ebx, ebx
    mov [esp + {saved_eax}], ebx
    mov [esp + {saved_ebx}], ebx
    mov [esp + {saved_esi}], ebx
    mov [esp + {saved_edi}], ebx
    FLAT_IN_CONTEXT esp
    xor edi, edi
    xor ebp, ebp
    mov eax, {delivery_notification}
    GOES_ON
    jmp fast_switch
7:
    mov ebx, [esp + {saved_ebx}]
    mov esi, [esp + {saved_esi}]
    mov edi, [esp + {saved_edi}]
    mov ebp, [esp + {saved_ebp}]
slow_notify:
    mov eax, {op_notify}
    jmp slow

// `receive`, in the same way.
.balign 32
try_receive:
    mov ecx, eax                                        // W1
    and ecx, ~({poll} | {notifications_only})
    cmp ecx, {op_receive}
    jne slow
    test ebx, ebx                                       // W2
    jnz slow
    mov edx, [esp + {utcb}]
    mov ecx, ss:[edx + {accept}]
    and ecx, [esp + {signals}]                          // W3
    jnz 4f
    test eax, {notifications_only}
    jnz 1f
    cmp [esp + {senders}], ebx
    jne slow
1:
    test eax, {poll}
    jnz 5f
    // The thread waits.
    mov edx, ss:[{top}]
    mov ecx, ss:[{kernel} + {heads} + edx * 4]
    test ecx, ecx                                       // W4
    jz slow
    test dword ptr ss:[ecx + {thread_flags}], {brief}   // W5
    jz slow
    cmp ss:[ecx + {lazy}], ebx
    jne slow
    mov [esp + {saved_eax}], eax
    mov [esp + {saved_esi}], esi
    mov [esp + {saved_edi}], edi
    mov [esp + {saved_ebp}], ebp
    mov ebx, ecx
    END_OF_SLICE 7f                                     // W6
    BEGIN_SLICE
    xor edi, edi
    mov [esp + {partner}], edi
    mov dword ptr [esp + {gate}], {gate_open}
    test dword ptr [esp + {saved_eax}], {notifications_only}
    jz 2f
    mov dword ptr [esp + {gate}], {gate_notified}
2:
    mov eax, ss:[{top}]
    mov ecx, ss:[ebx + {next}]
    mov edx, ss:[ebx + {prev}]
    mov ss:[ebx + {next}], edi
    mov ss:[ebx + {prev}], edi
    and dword ptr ss:[ebx + {thread_flags}], ~{brief}
    cmp ecx, ebx
    je 6f
    mov ss:[edx + {next}], ecx
    mov ss:[ecx + {prev}], edx
    mov ss:[{kernel} + {heads} + eax * 4], ecx
3:
    mov edx, ebx
    mov ecx, ss:[edx + {space}]
    mov eax, ss:[edx + {saved_eax}]
    mov ebx, ss:[edx + {saved_ebx}]
    mov esi, ss:[edx + {saved_esi}]
    mov edi, ss:[edx + {saved_edi}]
    mov ebp, ss:[edx + {saved_ebp}]
    jmp fast_switch
    // There are no bits.
5:
    mov eax, {delivery_would_block}
    xor esi, esi
    jmp 2f
    // The thread takes the bits.
4:
    mov esi, ecx
    xor ecx, [esp + {signals}]
    mov [esp + {signals}], ecx
    mov ss:[edx + {pending_bits}], ecx
    mov eax, {delivery_notification}
2:
    xor edi, edi
    xor ebp, ebp
    jmp to_self
    // It was the only one in its queue: the next one that is not empty has a lower priority.
6:
    mov ss:[{kernel} + {heads} + eax * 4], edi
    btr ss:[{kernel} + {occupied}], eax
    shr eax, 5
8:
    mov ecx, ss:[{kernel} + {occupied} + eax * 4]
    test ecx, ecx
    jnz 9f
    sub eax, 1
    jae 8b
    mov ss:[{top}], edi
    jmp 3b
9:
    bsr ecx, ecx
    shl eax, 5
    or eax, ecx
    mov ss:[{top}], eax
    jmp 3b
7:
    xor ebx, ebx
    mov eax, [esp + {saved_eax}]
    mov esi, [esp + {saved_esi}]
    mov edi, [esp + {saved_edi}]
    mov ebp, [esp + {saved_ebp}]
    jmp slow
.global notify_end
notify_end:
