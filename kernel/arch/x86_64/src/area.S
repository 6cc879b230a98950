// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The entry area's code (docs/entry-area.md): from an alien to its server and back without the kernel, and from either to the kernel.
//
// It runs at the area's address, at which it is not linked: it names its own places by constants only, and jumps to the kernel by labels of
// `kernel.ld`. Those jumps are direct: where an indirect one goes to, a processor may predict as a user has trained it to.
//
// At ring 0 it can write nothing that the server could not write itself, and goes only to ring 1 or 3. It makes no decision: `syscall` enters
// at `area_call` as long as the pair may cross, otherwise at `area_call_slow`; the kernel sets that in the processor (`crossing::may_cross`).
//
// The area's words, which the server can write, say which of the two runs, and where the server continues.
//
//  A | what is tested of an alien's system call                       | by
// ---|----------------------------------------------------------------|------------------------
//  1 | it is the alien's turn                                         | a word of the server's
//
//  R | what is tested of the server's                                 | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | it is `run`, without flags and words                           | `check_tag`
//  2 | of the alien that it resumed last                              | `waiting_caller`
//  3 | the server changed no state that is loaded rarely              | `resume_exception`
//  4 | the alien goes on at a user's address                          | `goes_nowhere`
//  5 | by `sysretq`                                                   | `leave_kernel`

.section .area, "ax", @progbits

// From the kernel: to the registers on the stack of entries, by the table in RDI. The area begins with it.
.balign 4096
.global area_text
area_text:
    mov cr3, rdi
    mov rsp, {area_stack} - {pushed}
    POP_ALL
    add rsp, 16
    iretq

.balign 64
.global area_call
area_call:
    cmp dword ptr [{area_runs}], {alien_runs}           // A1
    jne area_server_call
    mov [{area_scratch}], rsp
    mov rsp, [{area_registers}]
    push r11
    push rcx
    push qword ptr [{area_scratch}]
    .irp register, r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax
    push \register
    .endr
    add dword ptr [{area_handle}], {sequence}
    mov edi, [{area_handle}]
    mov eax, [{area_delivery}]
    mov esi, {vector_call}
    xor edx, edx
    xor r8d, r8d
    mov dword ptr [{area_runs}], {server_runs}
    mov rsp, {area_stack}
    push {server_data}
    push qword ptr [{area_rsp}]
    push {server_code}
    push qword ptr [{area_rip}]
    // Interrupts are enabled after the next instruction. The other flags are as `syscall` has left them.
    sti
    retfq

// The server's own system call. Its stack pointer is saved first.
.global area_server_call
area_server_call:
    mov [{area_rsp}], rsp
    cmp rax, {op_run}                                   // R1
    jne refuse_server
    mov ebx, [{area_handle}]                            // R2
    cmp rdi, rbx
    jne refuse_server
    mov rbp, [{area_frame}]
    cmp qword ptr [rbp + {f_changed}], 0                // R3
    jne refuse_server
    mov rbx, [rbp + {f_rip}]
    cmp rbx, [{area_users_end}]                         // R4
    jae refuse_server
    cmp rbx, [rbp + {f_rcx}]                            // R5
    jne refuse_server
    mov r15, [rbp + {f_rflags}]
    cmp r15, [rbp + {f_r11}]
    jne refuse_server
    xor r15, {fixed_flags}
    test r15, ~{sysret_flags}
    jnz refuse_server
    mov [{area_rip}], rcx
    mov dword ptr [{area_runs}], {alien_runs}
    mov rsp, rbp
    POP_ALL
    mov rsp, [rsp]
    sysretq

refuse_server:
    mov rsp, [{area_rsp}]
// Everything that the fast path does not handle. The processor pushed nothing.
.global area_call_slow
area_call_slow:
    mov [{area_scratch}], rsp
    mov rsp, {area_stack}
    push 0
    push qword ptr [{area_scratch}]
    push r11
    push 0
    push rcx
    push 0
    push {vector_call}
// To the kernel, with all registers on the stack of entries.
area_trap:
    PUSH_ALL
    mov rax, [{area_kernel}]
    mov cr3, rax
    jmp area_to_entered

// A debug exception, on a stack of its own. In the area it is a single step that takes effect at the first instruction after `syscall`:
// then the step is over. Otherwise it is like any other exception.
area_debug:
    cmp qword ptr [rsp + 16], {area}
    jb 1f
    cmp word ptr [rsp + 24], {kernel_code}
    jne 1f
    // In virtual 8086 mode this word may have any value.
    test dword ptr [rsp + 32], {vm_flag}
    jnz 1f
    and qword ptr [rsp + 32], ~{trap_flag}
    add rsp, 16
    iretq
1:
    mov [{area_scratch}], rax
    mov rax, rsp
    mov rsp, {area_stack}
    .irp offset, 48, 40, 32, 24, 16, 8, 0
    push qword ptr [rax + \offset]
    .endr
    mov rax, [{area_scratch}]
    jmp area_trap

// Exceptions that end the machine.
area_ends:
    PUSH_ALL
    mov rdi, rsp
    mov rax, [{area_kernel}]
    mov cr3, rax
    jmp area_to_ended

// A stub for each vector, as in `entry.S`: the one of vector N is 16 * N bytes after this.
.macro AREA_STUB vector
    .balign 16
    .if ((\vector == 8) || ((\vector >= 10) && (\vector <= 14)) || (\vector == 17) || (\vector == 21) || (\vector == 29) || (\vector == 30)) == 0
    push 0
    .endif
    push \vector
    .if (\vector == 2) || (\vector == 8) || (\vector == 18)
    jmp area_ends
    .elseif \vector == 1
    jmp area_debug
    .else
    jmp area_trap
    .endif
.endm
.balign 64
.global area_vectors
area_vectors:
.altmacro
.set i, 0
.rept {vectors}
    AREA_STUB %i
    .set i, i + 1
.endr
.noaltmacro
.global area_text_end
area_text_end:
// Its page has nothing else of the kernel.
.balign 4096

// In the kernel.
.section .text.entry, "ax", @progbits
.global area_entered
area_entered:
    mov rsp, offset {stack} + {stack_bytes}
    push 2
    popfq
    xor ebp, ebp
    call {enter_by_area}
    jmp entered_last
.global area_ended
area_ended:
    mov rsp, offset {panic_stack} + {panic_stack_bytes}
    push 2
    popfq
    xor ebp, ebp
    call {end_by_area}
.text
