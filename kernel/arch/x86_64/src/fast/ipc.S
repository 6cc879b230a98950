// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The entry by `syscall`, and the fast path of IPC: `call` and `reply_wait`, with up to eight words.
//
// The fast path does what `ipc.rs` of the portable kernel would do in the common case, and nothing else. Before its last test it changes no
// word except the thread's saved registers. In every other case it goes to `slow`. The message stays where it is, in rsi, rdx, r8 to r10
// and r12 to r14. Of the other registers a system call of a native thread keeps rsp only, so the kernel may use all others; in these the
// receiver gets zeros.
//
// The tests, in the order in which they are made. Comments in the code have the same numbers, as on the other processors.
//
//  T | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no alien, nothing loaded rarely, no FPU, no step; no selectors | `trap::enter`, `lazy`
//  2 | operation, 0 to 8 words, no capabilities, no flags             | `check_tag`
//  3 | selector below the table's size                                | `slot`
//  4 | a Thread capability with the right to call                     | `slot_of`
//  5 | receiver waits openly and may be resumed fast                  | `receives_from`
//  6 | receiver at least as urgent as every ready thread              | `schedule`
//  7 | the handle's index, which is always one of the table           | `waiting_caller`
//  8 | that thread waits for a reply, and may be resumed fast         | `waiting_caller`
//  9 | under this handle, from this very thread                       | `waiting_caller`
// 10 | this thread has no sender and no notification waiting          | `receive`
//
// If T2 fails, it may be `map_reply_wait` (`map.S`), `notify` or `receive` (`notify.S`). If the first part of T1 fails, it may be an alien,
// or its handler (`alien.S`).
//
// T3 need not look for selector 0: slot 0 of a table is always empty, so it has no right to call. Receiver and sender cannot be one thread:
// the sender runs, so its gate is not `OPEN`. The receiver's program counter needs no test: the last 512 GiB below the non-canonical
// addresses are not the users' (`USER_END`), so the instruction after a `syscall` has a canonical address.

.section .text.fast, "ax", @progbits

// From the thread in RSP to the one in RBX.
.macro SWITCH
    mov dword ptr [rbx + {gate}], {gate_ready}
    movsxd rcx, dword ptr [rbx + {space}]
    mov [{current}], ebx
    cmp ecx, [rsp + {space}]
    je 9f
    mov rcx, [rcx + {tables}]
    mov cr3, rcx
9:
    mov rcx, [rbx + {saved_rip}]
    mov rsp, [rbx + {saved_rsp}]
    xor ebx, ebx
    mov r11d, {fixed_flags}
    sysretq
.endm

// T6, for the thread in RBX.
.macro AT_LEAST_AS_URGENT else
    mov r11d, [{top}]                                   // T6
    cmp r11d, [rbx + {priority}]
    ja \else
.endm

.balign 64
.global syscall_entry
syscall_entry:
    cmp dword ptr [{loaded}], 0                         // T1
    jne loaded_call
    mov r11, rsp
    mov rsp, [{stack_of_ring_0}]
    mov [rsp + {saved_rip}], rcx
    mov [rsp + {saved_rsp}], r11
    mov qword ptr [rsp + {saved_rflags}], {fixed_flags}
    // Both are zero after the test.
    mov ebp, ds                                         // T1
    mov r15d, es
    or ebp, r15d
    mov r15d, fs
    or ebp, r15d
    mov r15d, gs
    or ebp, r15d
    jnz slow
    xor rax, {op_call}                                  // T2
    cmp rax, {words}
    ja 3f
    // call
    mov ebx, [rsp + {cap_limit}]                        // T3
    cmp rdi, rbx
    jae slow_call
    movsxd rcx, dword ptr [rsp + {space}]
    shl edi, {slot_shift}
    movsxd rbx, dword ptr [rcx + rdi + {slots}]
    test bl, {call_right}                               // T4
    jz slow_slot
    and rbx, ~{rights}
    cmp dword ptr [rbx + {gate}], {gate_open}           // T5
    jne slow_slot
    AT_LEAST_AS_URGENT slow_slot                        // T6
    // Nothing can fail any more. The badge word of a Thread capability has zeros below the badge.
    or eax, [rcx + rdi + {slots} + 4]
    add dword ptr [rsp + {handle}], {sequence}
    mov edi, [rsp + {handle}]
    mov [rsp + {partner}], ebx
    mov dword ptr [rsp + {gate}], {gate_reply}
    SWITCH

.balign 16
3: // reply_wait
    xor rax, {op_call} ^ {op_reply_wait}                // T2
    cmp rax, {words}
    ja map_reply
    mov ebx, [{pool} + {index_mask}]                    // T7
    and ebx, edi
    shl ebx, {thread_shift}
    add rbx, {threads}
    cmp dword ptr [rbx + {gate}], {gate_reply}          // T8
    jne slow_reply
    mov ecx, [rbx + {handle}]                           // T9
    cmp rcx, rdi
    jne slow_reply
    cmp [rbx + {partner}], esp
    jne slow_reply
    cmp qword ptr [rsp + {signals}], 0                  // T10
    jne slow_reply
    AT_LEAST_AS_URGENT slow_reply                       // T6
    or eax, {delivery_reply}
    xor edi, edi
    mov dword ptr [rsp + {gate}], {gate_open}
    SWITCH

// Not for the fast path: registers that a system call keeps, and its arguments, get back the user's values.
slow_slot:
    shr edi, {slot_shift}
slow_call:
    xor rax, {op_call}
    jmp slow
slow_reply:
    xor rax, {op_reply_wait}
// Enters like `save_call`; RIP, RSP and RFLAGS are saved already.
slow:
    xor ebx, ebx
    xor ebp, ebp
    xor r15d, r15d
    mov rcx, [rsp + {saved_rip}]
    mov r11d, {fixed_flags}
    lea rsp, [rsp + {saved_rip}]
    push 0
    push {vector_call}
    jmp entered
.global ipc_end
ipc_end:
.text
