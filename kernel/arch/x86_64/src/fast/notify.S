// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of `notify` and `receive`. They do what `notify.rs`, `ipc.rs` and `sched.rs` of the portable kernel would do: they put
// threads into ready queues, take them from there, and begin time slices. In every other case they go to `slow`.
//
// T1 of `ipc.S` holds. RSP is the thread; rbp and r15 are zero, and they, rbx, rcx and r11 are the kernel's to use.
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
// A thread that is put into a queue here continues later as if its system call ended then: its context has the results, and it has the
// flag `BRIEF`.

// The time becomes RBP, and RAX when the slice of the thread in RBX would end. To `refused` unless B1. Destroys RCX and RDX. The clock is
// that of `abi::kip::scale`.
.macro END_OF_SLICE refused
    rdtsc
    shl rdx, 32
    or rax, rdx
    sub rax, [{kernel} + {clock_base}]
    mov ecx, [{kernel} + {clock_mult}]
    mul rcx
    mov ecx, [{kernel} + {clock_shift}]
    shrd rax, rdx, cl
    mov rbp, rax
    mov ecx, [rbx + {slice_left}]
    test ecx, ecx
    jnz 9f
    mov ecx, {slice}
9:
    add rax, rcx
    cmp rax, [{kernel} + {programmed}]                  // B1
    jb \refused
.endm

// The slice begins.
.macro BEGIN_SLICE
    mov [{kernel} + {slice_end}], rax
    mov dword ptr [rbx + {slice_left}], 0
    mov [{kernel} + {slice_owner}], ebx
.endm

// Puts a thread into the ready queue of the priority in R11: at its end, or its `front`. Destroys RCX and RBP.
.macro ENQUEUE thread, low, front
    movsxd rcx, dword ptr [r11 * 4 + {kernel} + {heads}]
    test ecx, ecx
    jz 8f
    movsxd rbp, dword ptr [rcx + {prev}]
    mov [\thread + {next}], ecx
    mov [\thread + {prev}], ebp
    mov [rbp + {next}], \low
    mov [rcx + {prev}], \low
    .if \front
    mov [r11 * 4 + {kernel} + {heads}], \low
    .endif
    jmp 9f
8:
    mov [\thread + {next}], \low
    mov [\thread + {prev}], \low
    mov [r11 * 4 + {kernel} + {heads}], \low
    bts dword ptr [{kernel} + {occupied}], r11d
    cmp r11d, [{top}]
    jbe 9f
    mov [{top}], r11d
9:
    or dword ptr [\thread + {thread_flags}], {brief}
.endm

// The words of a message after the first one are zero.
.macro NO_FURTHER_WORDS
    .irp register, edx, r8d, r9d, r10d, r12d, r13d, r14d
    xor \register, \register
    .endr
.endm

.section .text.fast, "ax", @progbits

.balign 32
try_notify:
    xor rax, {op_reply_wait}
    cmp rax, {op_notify}                                // N1
    jne try_receive
    mov ebx, [rsp + {cap_limit}]                        // N2
    cmp rdi, rbx
    jae slow
    movsxd rcx, dword ptr [rsp + {space}]
    mov r11d, edi
    shl r11d, {slot_shift}
    movsxd rbx, dword ptr [rcx + r11 + {slots}]
    mov r15d, [rcx + r11 + {slots} + 4]
    test bl, {notify_right}                             // N3
    jz slow
    and rbx, ~{rights}
    shr r15d, {badge_shift}
    or r15d, [rbx + {signals}]
    movsxd rbp, dword ptr [rbx + {utcb}]
    cmp dword ptr [rbx + {gate}], {gate_open}           // N4
    je 2f
    cmp dword ptr [rbx + {gate}], {gate_notified}
    je 2f
    test dword ptr [rbx + {thread_flags}], {alien_flag}
    jnz slow
    cmp dword ptr [rbx + {gate}], {gate_ready}
    je 1f
    cmp dword ptr [rbx + {gate}], {gate_reply}
    jne slow
    // The thread learns of the bits later.
1:
    mov [rbx + {signals}], r15d
    mov [rbp + {pending_bits}], r15d
notified:
    xor eax, eax
    xor edi, edi
    xor esi, esi
    xor edx, edx
to_self:
    mov rcx, [rsp + {saved_rip}]
    mov rsp, [rsp + {saved_rsp}]
    xor ebx, ebx
    xor ebp, ebp
    xor r15d, r15d
    mov r11d, {fixed_flags}
    sysretq
2:
    mov ecx, [rbp + {accept}]
    and ecx, r15d
    jz 1b
    mov r11d, [rbx + {priority}]
    cmp r11d, [rsp + {priority}]                        // N5
    ja 3f
    // The thread continues when its turn comes.
    xor r15d, ecx
    mov [rbx + {signals}], r15d
    mov [rbp + {pending_bits}], r15d
    mov dword ptr [rbx + {gate}], {gate_ready}
    mov [rbx + {saved_rsi}], rcx
    xor ecx, ecx
    mov qword ptr [rbx + {saved_rax}], {delivery_notification}
    .irp word, {saved_rdi}, {saved_rdx}, {saved_r8}, {saved_r9}, {saved_r10}, {saved_r12}, {saved_r13}, {saved_r14}
    mov [rbx + \word], rcx
    .endr
    ENQUEUE rbx, ebx, 0
    jmp notified
    // The thread continues now, and this one when it is the most urgent again: with its own words, which `notify` does not change.
3:
    mov [rsp + {saved_rdx}], rdx
    mov [rsp + {saved_r8}], r8
    mov [rsp + {saved_r9}], r9
    mov [rsp + {saved_r10}], r10
    mov [rsp + {saved_r12}], r12
    mov [rsp + {saved_r13}], r13
    mov [rsp + {saved_r14}], r14
    mov r12d, ecx
    mov r13, rbp
    END_OF_SLICE 7f
    mov rcx, [{kernel} + {slice_end}]                   // B2
    sub rcx, rbp
    mov rdx, rcx
    shr rdx, 32
    jnz 7f
    BEGIN_SLICE
    mov [rsp + {slice_left}], ecx
    mov r11d, [rsp + {priority}]
    ENQUEUE rsp, esp, 1
    xor r15d, r12d
    mov [rbx + {signals}], r15d
    mov [r13 + {pending_bits}], r15d
    xor edi, edi
    mov [rsp + {saved_rax}], rdi
    mov [rsp + {saved_rdi}], rdi
    mov [rsp + {saved_rsi}], rdi
    mov [rsp + {saved_rdx}], rdi
    mov esi, r12d
    NO_FURTHER_WORDS
    xor ebp, ebp
    xor r15d, r15d
    mov eax, {delivery_notification}
    SWITCH
7:
    mov rdx, [rsp + {saved_rdx}]
    mov r12, [rsp + {saved_r12}]
    mov r13, [rsp + {saved_r13}]
    mov eax, {op_notify}
    jmp slow

// `receive`, in the same way.
.balign 32
try_receive:
    mov rcx, rax                                        // W1
    and rcx, ~({poll} | {notifications_only})
    cmp rcx, {op_receive}
    jne slow
    test rdi, rdi                                       // W2
    jnz slow
    movsxd rbp, dword ptr [rsp + {utcb}]
    mov ecx, [rbp + {accept}]
    and ecx, [rsp + {signals}]                          // W3
    jnz 4f
    test eax, {notifications_only}
    jnz 1f
    cmp [rsp + {senders}], edi
    jne slow
1:
    test eax, {poll}
    jnz 5f
    // The thread waits.
    mov r11d, [{top}]
    movsxd rbx, dword ptr [r11 * 4 + {kernel} + {heads}]
    test ebx, ebx                                       // W4
    jz slow
    test dword ptr [rbx + {thread_flags}], {brief}      // W5
    jz slow
    cmp [rbx + {lazy}], edi
    jne slow
    mov [rsp + {saved_rax}], rax
    mov [rsp + {saved_rdx}], rdx
    END_OF_SLICE 7f                                     // W6
    BEGIN_SLICE
    mov [rsp + {partner}], edi
    mov dword ptr [rsp + {gate}], {gate_open}
    test dword ptr [rsp + {saved_rax}], {notifications_only}
    jz 2f
    mov dword ptr [rsp + {gate}], {gate_notified}
2:
    movsxd rcx, dword ptr [rbx + {next}]
    movsxd rdx, dword ptr [rbx + {prev}]
    mov [rbx + {next}], edi
    mov [rbx + {prev}], edi
    and dword ptr [rbx + {thread_flags}], ~{brief}
    cmp ecx, ebx
    je 6f
    mov [rdx + {next}], ecx
    mov [rcx + {prev}], edx
    mov [r11 * 4 + {kernel} + {heads}], ecx
3:
    mov rax, [rbx + {saved_rax}]
    mov rdi, [rbx + {saved_rdi}]
    mov rsi, [rbx + {saved_rsi}]
    mov rdx, [rbx + {saved_rdx}]
    mov r8, [rbx + {saved_r8}]
    mov r9, [rbx + {saved_r9}]
    mov r10, [rbx + {saved_r10}]
    mov r12, [rbx + {saved_r12}]
    mov r13, [rbx + {saved_r13}]
    mov r14, [rbx + {saved_r14}]
    xor ebp, ebp
    SWITCH
    // There are no bits.
5:
    mov eax, {delivery_would_block}
    jmp 2f
    // The thread takes the bits.
4:
    mov r11d, ecx
    xor r11d, [rsp + {signals}]
    mov [rsp + {signals}], r11d
    mov [rbp + {pending_bits}], r11d
    mov eax, {delivery_notification}
2:
    mov esi, ecx
    xor edi, edi
    NO_FURTHER_WORDS
    jmp to_self
    // Its queue had no other: the next one that is not empty has a lower priority.
6:
    mov [r11 * 4 + {kernel} + {heads}], edi
    btr dword ptr [{kernel} + {occupied}], r11d
    mov eax, r11d
    shr eax, 5
8:
    mov ecx, [rax * 4 + {kernel} + {occupied}]
    test ecx, ecx
    jnz 9f
    sub eax, 1
    jae 8b
    mov [{top}], edi
    jmp 3b
9:
    bsr ecx, ecx
    shl eax, 5
    or eax, ecx
    mov [{top}], eax
    jmp 3b
7:
    mov rax, [rsp + {saved_rax}]
    mov rdx, [rsp + {saved_rdx}]
    jmp slow
.global notify_end
notify_end:
.text
