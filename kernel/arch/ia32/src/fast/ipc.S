// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Kernel entry by `sysenter`, and the fast path of IPC: `call` and `reply_wait`.
//
// The fast path does what `ipc.rs` of the portable kernel would do in the common case, and nothing else. It changes no
// word before its last test. In every other case it goes to `slow` with all registers as the user had them. Interrupts
// are disabled from the entry to user mode.
//
// The tests, in the order in which they are made. Comments in the code have the same numbers.
//
//  T | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | FS and GS null, nothing lazily loaded, no step pending         | `lazy`, `Cpu::loaded`
//  2 | operation, 0 to 3 words, no capabilities, no flags             | `check_tag`
//  3 | selector below the table's size (0 for an alien)               | `slot`
//  4 | a Thread capability with the right to call                     | `slot_of`
//  5 | receiver waits openly and may be resumed fast                  | `receives_from`
//  6 | receiver at least as urgent as every ready thread              | `schedule`
//  7 | the handle's index, which is always one of the table           | `waiting_caller`
//  8 | that thread waits for a reply, or for the end of its           | `waiting_caller`
//    | exception, and may be resumed fast                             |
//  9 | under this handle, from this very thread                       | `waiting_caller`
// 10 | this thread has no sender and no notification waiting          | `receive`
//
// If T1 fails, it may be `run` while an alien's state is loaded: `alien.S` handles that. If T2 fails, it may be
// `map_reply_wait` (`map.S`), `notify` or `receive` (`notify.S`).
//
// T3 need not look for selector 0: slot 0 of a table is always empty, so it has no right to call.
// Receiver and sender cannot be one thread: the sender runs, so its gate is not `OPEN`.
//
// Data is addressed through SS, which `sysenter` makes flat. DS and ES are the user's. They are
// made flat for the receiver, if they are not.

.section .text.fast, "ax", @progbits

// The thread in EDX, which waited without any flag in its gate, continues: ECX becomes its space.
.macro GOES_ON
    mov byte ptr ss:[edx + {gate}], {gate_ready}
    mov ecx, ss:[edx + {space}]
.endm

// The thread in EDX waits under the handle in EBX for the one in ESP, which may wait then.
.macro MAY_REPLY
    cmp ebx, ss:[edx + {handle}]                        // T9
    jne slow_reply
    cmp ss:[edx + {partner}], esp
    jne slow_reply
    mov ecx, [esp + {senders}]                          // T10
    or ecx, [esp + {signals}]
    jnz slow_reply
    mov ecx, ss:[{top}]                                 // T6
    cmp ecx, ss:[edx + {priority}]
    ja slow_reply
.endm

// Not for the fast path: registers get back the user's values. The code is here so that jumps to it are short.
.global ipc_start
ipc_start:
slow_slot:
    shr ebx, 4
.global slow_call
slow_call:
    xor eax, {op_call}
    jmp slow

.balign 32
.global sysenter_entry
sysenter_entry:
    mov esp, ss:[{current}]
    mov [esp + {saved_esp}], ecx
    mov [esp + {saved_eip}], edx
    mov dword ptr [esp + {saved_eflags}], {fixed_flags}
    .if {kdb}
    jmp slow
    .endif
    mov ecx, fs                                         // T1
    mov edx, gs
    or ecx, edx
    or ecx, ss:[{loaded}]
    jnz try_run
    xor eax, {op_call}                                  // T2
    test eax, ~3
    jnz 3f
    // call
    cmp ebx, [esp + {cap_limit}]                        // T3
    jae slow_call
    mov ecx, [esp + {space}]
    shl ebx, 4
    mov edx, ss:[ecx + ebx + {slots}]
    // Not `test dl`: the three additional bytes let `fast_switch` start a cache line. So do long jumps to `slow_call`,
    // and a test of all of EAX above.
    test edx, {call_right}                              // T4
    jz slow_slot
    and edx, ~{rights}
    cmp dword ptr ss:[edx + {gate}], {gate_open}        // T5
    jne slow_slot
    mov ecx, ss:[{top}]                                 // T6
    cmp ecx, ss:[edx + {priority}]
    ja slow_slot
    // Nothing can fail any more. The badge word of a Thread capability has zeros below the badge.
    mov ecx, [esp + {space}]
    or eax, ss:[ecx + ebx + {slots} + 4]
    AWAIT_ANSWER edx, {gate_reply}
    GOES_ON

// From the thread in ESP to the one in EDX, after GOES_ON.
.global fast_switch
fast_switch:
    mov ss:[{current}], edx
    jmp ss:[ecx + {enter_space}]
.global enter_large
enter_large:
    ENTER_LARGE

.balign 32
3: // reply_wait
    xor eax, {op_call} ^ {op_reply_wait}                // T2
    cmp eax, 3
    ja 8f
    THREAD_OF_HANDLE edx                                // T7
    cmp dword ptr ss:[edx + {gate}], {gate_reply}       // T8
    jne 7f
    MAY_REPLY
    or eax, {delivery_reply}
    xor ebx, ebx
    mov dword ptr [esp + {gate}], {gate_open}
    GOES_ON
    jmp fast_switch
7: // in reach of a short jump
    jmp reply_to_exception
8:
    jmp map_reply

// Two names: jumps in this file are short, those to a `.global` label are long.
.global slow_map_reply
slow_map_reply:
slow_reply:
    xor eax, {op_reply_wait}
// Pushes what an interrupt from user mode and its stub would have pushed. ESP and EIP are there already.
.global slow
slow:
    mov ecx, [esp + {space}]
    mov edx, ss:[ecx + {segments}]
    shr edx, 16
    mov [esp - 4], edx
    lea esp, [esp - 8]
    pushfd
    or dword ptr [esp], {interrupt_flag}
    push dword ptr ss:[ecx + {segments}]
    lea esp, [esp - 4]
    push 0                                              // no error code
    push {vector_sysenter}
    mov edx, [esp + 8]
    mov ecx, [esp + 20]
    jmp save_registers

// `reply_wait` to a thread that waits for the end of its exception: all registers are its own, so it continues by
// `iret`.
reply_to_exception:
    cmp dword ptr ss:[edx + {gate}], {gate_exception}   // T8
    jne slow_reply
    MAY_REPLY
.global resume_exception
resume_exception:
    mov dword ptr [esp + {gate}], {gate_open}
    mov dword ptr ss:[edx + {sending}], {kind_call}
    RUN edx
    mov ecx, ss:[edx + {space}]
    mov eax, [esp + {space}]
    // With care if one of the spaces is small, or was when the thread stopped: then DS or ES is still a small space's.
    mov ebx, ss:[eax + {region_low}]
    or ebx, ss:[ecx + {region_low}]
    jnz leave_kernel_with_care
    mov ebx, ss:[edx + {saved_ds}]
    or ebx, ss:[edx + {saved_es}]
    test bl, {small_bit}
    jnz leave_kernel_with_care
    cmp ecx, eax
    je leave_kernel
    cmp ecx, ss:[ecx + {server}]
    je 1f
    LOAD_TABLES ecx
    jmp leave_kernel
1: // a server
    cmp ecx, ss:[eax + {server}]
    je 2f
    mov eax, ecx
    LOAD_TABLES ecx
2:
    mov ss:[{directory_of}], eax
    jmp leave_kernel
.global ipc_end
ipc_end:
