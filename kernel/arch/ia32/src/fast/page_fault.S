// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of a native thread's page fault, to the pager that waits openly. It does what
// `fault.rs` of the portable kernel would do (`raise`, `transfer_exception`). The pager's reply comes
// by `ipc.S` or `map.S`.
//
//  F | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | from user mode: the stack ends at the thread                   | `enter`
//  2 | FS and GS null, nothing lazily loaded, no step pending         | `lazy`, `Cpu::loaded`
//  3 | DS and ES are flat                                             | `frame`
//  4 | the thread has a handler                                       | `raise`
//  5 | which waits openly and may be resumed fast                     | `receives_from`
//  6 | and is at least as urgent as every ready thread                | `schedule`
//
// All registers are saved in the thread's context before the tests. The portable code needs them
// there, and so does the reply.

.section .text.fast, "ax", @progbits

// The processor pushed SS, ESP, EFLAGS, CS, EIP and the error code.
.balign 32
.global native_fault
native_fault:
    push {vector_page_fault}
    pushad
    lea eax, [esp + {pushed}]                           // F1
    cmp eax, ss:[{current}]
    jne entered_saved
    mov ecx, fs                                         // F2
    mov edx, gs
    or ecx, edx
    or ecx, ss:[{loaded}]
    jnz entered_saved
    mov ecx, ds                                         // F3
    mov edx, es
    shl ecx, 16
    or ecx, edx
    cmp ecx, {flat}
    jne entered_saved
    mov edx, ss:[eax + {handler}]                       // F4
    test dl, {call_right}
    jz entered_saved
    and edx, ~{rights}
    cmp dword ptr ss:[edx + {gate}], {gate_open}        // F5
    jne entered_saved
    mov ecx, ss:[{top}]                                 // F6
    cmp ecx, ss:[edx + {priority}]
    ja entered_saved
    push {user_data}
    push {user_data}
    push 0
    push 0
    mov esp, eax
    // A write by itself brings no line into a Pentium's cache: so the three lines of the frame are
    // read first.
    mov ecx, ss:[edx + {utcb}]
    mov eax, ss:[ecx + {message} + {f_eax}]
    mov eax, ss:[ecx + {message} + {f_eax} + 32]
    mov eax, ss:[ecx + {message} + {f_changed}]
    mov ss:[ecx + {message} + {f_ebx}], ebx
    mov ss:[ecx + {message} + {f_esi}], esi
    mov ss:[ecx + {message} + {f_edi}], edi
    mov ss:[ecx + {message} + {f_ebp}], ebp
    mov eax, [esp + {saved_eax}]
    mov ss:[ecx + {message} + {f_eax}], eax
    mov eax, [esp + {saved_ecx}]
    mov ss:[ecx + {message} + {f_ecx}], eax
    mov eax, [esp + {saved_edx}]
    mov ss:[ecx + {message} + {f_edx}], eax
    mov eax, [esp + {saved_esp}]
    mov ss:[ecx + {message} + {f_esp}], eax
    mov eax, [esp + {saved_eip}]
    mov ss:[ecx + {message} + {f_eip}], eax
    mov eax, [esp + {saved_eflags}]
    mov ss:[ecx + {message} + {f_eflags}], eax
    mov dword ptr ss:[ecx + {message} + {f_ds_es}], {flat}
    mov eax, [esp + {fs_gs}]
    mov ss:[ecx + {message} + {f_fs_gs}], eax
    mov esi, {vector_page_fault}
    mov edi, cr2
    mov ebp, [esp + {saved_error}]
    mov ss:[ecx + {message} + {f_vector}], esi
    mov ss:[ecx + {message} + {f_address}], edi
    mov ss:[ecx + {message} + {f_error}], ebp
    mov dword ptr ss:[ecx + {message} + {f_changed}], 0
    mov [esp + {fault_address}], edi
    mov dword ptr [esp + {sending}], {kind_exception}
    mov eax, [esp + {handler} + 4]
    or eax, {delivery_exception}
    AWAIT_ANSWER edx, {gate_exception}
    GOES_ON
    jmp fast_switch
.global native_fault_end
native_fault_end:
