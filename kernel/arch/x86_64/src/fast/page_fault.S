// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of a native thread's page fault, to the pager that waits openly. It does what `fault.rs` of the portable kernel would do
// (`raise`, `transfer_exception`). The pager's reply comes by `map.S`.
//
//  F | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | from user mode: the stack ends at the thread                   | `enter`
//  2 | nothing loaded rarely, no FPU, no step; no selectors           | `lazy`, `Cpu::loaded`
//  3 | the thread has a handler                                       | `raise`
//  4 | which waits openly and may be resumed fast                     | `receives_from`
//  5 | and is at least as urgent as every ready thread                | `schedule`
//
// All registers are saved in the thread's context before the tests. The portable code needs them there, and so does the reply.

.section .text.fast, "ax", @progbits

// From `page_fault`. The processor pushed SS, RSP, RFLAGS, CS, RIP and the error code.
.balign 32
native_fault:
    push {vector_page_fault}
    PUSH_ALL
    lea rax, [rsp + {pushed}]                           // F1
    cmp eax, [{current}]
    jne entered_saved
    mov ecx, ds                                         // F2
    mov edx, es
    or ecx, edx
    mov edx, fs
    or ecx, edx
    mov edx, gs
    or ecx, edx
    jnz entered_saved
    movsxd rbx, dword ptr [rax + {handler}]             // F3
    and rbx, ~{rights}
    jz entered_saved
    cmp dword ptr [rbx + {gate}], {gate_open}           // F4
    jne entered_saved
    mov ecx, [{top}]                                    // F5
    cmp ecx, [rbx + {priority}]
    ja entered_saved
    and qword ptr [rax + {saved_rflags}], {user_flags}
    or qword ptr [rax + {saved_rflags}], {fixed_flags}
    mov rsp, rax
    movsxd rcx, dword ptr [rbx + {utcb}]
    mov [rcx + {message} + {f_rsi}], rsi
    mov [rcx + {message} + {f_rdi}], rdi
    mov [rcx + {message} + {f_rbp}], rbp
    mov [rcx + {message} + {f_r8}], r8
    mov [rcx + {message} + {f_r9}], r9
    mov [rcx + {message} + {f_r10}], r10
    mov [rcx + {message} + {f_r11}], r11
    mov [rcx + {message} + {f_r12}], r12
    mov [rcx + {message} + {f_r13}], r13
    mov [rcx + {message} + {f_r14}], r14
    mov [rcx + {message} + {f_r15}], r15
    mov rax, [rsp + {saved_rax}]
    mov rdx, [rsp + {saved_rbx}]
    mov r9, [rsp + {saved_rcx}]
    mov r10, [rsp + {saved_rdx}]
    mov [rcx + {message} + {f_rax}], rax
    mov [rcx + {message} + {f_rbx}], rdx
    mov [rcx + {message} + {f_rcx}], r9
    mov [rcx + {message} + {f_rdx}], r10
    mov rax, [rsp + {saved_rsp}]
    mov rdx, [rsp + {saved_rip}]
    mov r9, [rsp + {saved_rflags}]
    mov [rcx + {message} + {f_rsp}], rax
    mov [rcx + {message} + {f_rip}], rdx
    mov [rcx + {message} + {f_rflags}], r9
    mov esi, {vector_page_fault}
    mov rdx, cr2
    mov r8, [rsp + {saved_error}]
    xor r9d, r9d
    mov [rcx + {message} + {f_fs_base}], r9
    mov [rcx + {message} + {f_vector}], rsi
    mov [rcx + {message} + {f_error}], r8
    mov [rcx + {message} + {f_address}], rdx
    mov [rcx + {message} + {f_changed}], r9
    mov [rsp + {fault_address}], rdx
    mov dword ptr [rsp + {sending}], {kind_exception}
    mov eax, [rsp + {handler} + 4]
    or eax, {delivery_exception}
    add dword ptr [rsp + {handle}], {sequence}
    mov edi, [rsp + {handle}]
    mov [rsp + {partner}], ebx
    mov dword ptr [rsp + {gate}], {gate_exception}
    .irp register, r10d, r12d, r13d, r14d, r15d, ebp
    xor \register, \register
    .endr
    SWITCH
.global native_fault_end
native_fault_end:
.text
