// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of aliens: `syscall` and page faults go to the handler that waits in `run`, and the next `run` resumes the alien.
//
// It does what `fault.rs` of the portable kernel would do (`raise`, `transfer_exception`, `run`). It changes nothing before its last test
// but saved registers of the thread that runs, and goes the ordinary way on any doubt.
//
//  A | test at the event                                              | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | it is an alien with a handler, and its state may stay in the   | `lazy`, `raise`
//    | processor while that runs                                      |
//  2 | the handler waits in `run` for this thread, and may be resumed | `receives_from`
//    | fast                                                           |
//  3 | and is at least as urgent as every ready thread                | `schedule`
//
//  R | test at `run`                                                  | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no flags, no words                                             | `check_tag`
//  2 | the state of an alien is loaded whose handler this thread is   | `lazy`
//  3 | it waits, under this handle, for this very thread; or see S    | `waiting_caller`
//  4 | no notification waits                                          | `run`
//  5 | the alien is at least as urgent as every ready thread          | `schedule`
//  6 | the handler changed no state that is loaded rarely             | `resume_exception`
//  7 | the alien goes on at a user's address                          | `goes_nowhere`
//  8 | by `sysretq`, if rcx, r11 and the flags are what that makes of | `leave_kernel`
//    | them, else by `iretq`                                          |
//
//  S | test at `run` of another alien than the one that is loaded     | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | the handle's index, which is always one of the table           | `waiting_caller`
//  2 | R3 for the other; and this thread is its handler               | `waiting_caller`, `run`
//  3 | it has no state that is loaded rarely but a base of FS         | `lazy`
//  4 | R4 to R7; and no selectors are loaded, which the other would   | `clear_selectors`
//    | see                                                            |
//
// `Cpu::loaded` says A1 and R2: it is the alien, without `SLOW` (`lazy.rs`). The alien's base of FS and its selectors stay in the processor
// while its handler runs. With the flag `FPU`, so do its registers of the FPU, but the FPU is disabled.
//
// The handler gets the words of the message in registers; the others keep the alien's values, which the frame has, too.
//
// The frame is hostile: the handler writes it. Only registers and masked flags are taken from it.

// A2 and A3 for the alien in R11: RCX becomes its handler. Destroys RSP.
.macro HANDLER_WAITS refused
    movsxd rcx, dword ptr [r11 + {handler}]
    and rcx, ~{rights}
    cmp dword ptr [rcx + {gate}], {gate_run}            // A2
    jne \refused
    cmp [rcx + {partner}], r11d
    jne \refused
    mov esp, [{top}]                                    // A3
    cmp esp, [rcx + {priority}]
    ja \refused
.endm

// Pushes a frame: these words have the registers that no longer have the alien's values. The address of a fault is in the scratch word.
.macro PUSH_FRAME is_fault, rflags, rip, rsp, r11, rcx
    movsxd rsp, dword ptr [r11 + {utcb}]
    add rsp, {frame_bytes}
    push 0
    .if \is_fault
    push qword ptr [{scratch}]
    push qword ptr [r11 + {saved_error}]
    push {vector_page_fault}
    .else
    push 0
    push 0
    push {vector_call}
    .endif
    push qword ptr [r11 + {fs_base}]
    push qword ptr [\rflags]
    push qword ptr [\rip]
    push qword ptr [\rsp]
    .irp register, r15, r14, r13, r12
    push \register
    .endr
    push qword ptr [\r11]
    .irp register, r10, r9, r8, rbp, rdi, rsi, rdx
    push \register
    .endr
    push qword ptr [\rcx]
    push rbx
    push rax
.endm

// From the alien in R11 to its handler in RCX, with the vector in RSI, the address in RDX, and the error in R8. With `fpu` the FPU is
// enabled for the alien.
.macro TO_HANDLER fpu
    .if \fpu
    mov rax, cr0
    or rax, {task_switched}
    mov cr0, rax
    .endif
    add dword ptr [r11 + {handle}], {sequence}
    mov edi, [r11 + {handle}]
    mov [r11 + {partner}], ecx
    mov dword ptr [r11 + {gate}], {gate_alien}
    mov eax, [r11 + {handler} + 4]
    or eax, {delivery_alien}
    mov dword ptr [rcx + {gate}], {gate_ready}
    mov [{current}], ecx
    // No alien has the space of a thread that makes system calls.
    movsxd r11, dword ptr [rcx + {space}]
    mov r11, [r11 + {tables}]
    mov cr3, r11
    mov rsp, [rcx + {saved_rsp}]
    mov rcx, [rcx + {saved_rip}]
    mov r11d, {fixed_flags}
    sysretq
.endm

// The alien's `syscall`: R11 is the alien; the alien's R11 is in the scratch words.
.macro CALL fpu
    mov [{scratch}], rsp
    mov [{scratch} + 16], rcx
    HANDLER_WAITS refuse_call
    PUSH_FRAME 0, {scratch}+8, {scratch}+16, {scratch}, {scratch}+8, {scratch}+16
    mov esi, {vector_call}
    xor edx, edx
    xor r8d, r8d
    TO_HANDLER \fpu
.endm

// The alien's page fault: R11 is the alien; the alien's R11 and RCX are saved where the vector and r15 would be.
.macro FAULT fpu
    HANDLER_WAITS refuse_fault
    and qword ptr [r11 + {saved_rflags}], {user_flags}
    or qword ptr [r11 + {saved_rflags}], {fixed_flags}
    mov rsp, cr2
    mov [{scratch}], rsp
    PUSH_FRAME 1, r11+{saved_rflags}, r11+{saved_rip}, r11+{saved_rsp}, r11+{saved_r15}, r11+{saved_vector}
    mov esi, {vector_page_fault}
    mov rdx, [{scratch}]
    mov r8, [r11 + {saved_error}]
    TO_HANDLER \fpu
.endm

// R3 to R5 for the thread in R11 and the handle in RDI. Destroys RBP. To `other` with another handle.
.macro WAITS alien, low, other, refused
    cmp dword ptr [\alien + {gate}], {gate_alien}       // R3
    jne \refused
    mov ebp, [\alien + {handle}]
    cmp rbp, rdi
    jne \other
    cmp [\alien + {partner}], r11d
    jne \refused
    cmp dword ptr [r11 + {signals}], 0                  // R4
    jne \refused
    mov ebp, [{top}]                                    // R5
    cmp ebp, [\alien + {priority}]
    ja \refused
.endm

// The alien continues, and the thread in R11 waits for its next event. `how` says what else is loaded: 1 the FPU, 2 the base of FS. In the
// latter case the alien is in RBX. Afterwards all registers except `alien`, RSP and RBP are free.
.macro SWITCH_TO_ALIEN alien, low, how
    mov qword ptr [r11 + {saved_rflags}], {fixed_flags}
    mov [r11 + {partner}], \low
    mov dword ptr [r11 + {gate}], {gate_run}
    mov dword ptr [\alien + {gate}], {gate_ready}
    mov [{current}], \low
    .if \how == 1
    clts
    .elseif \how == 2
    mov [{loaded}], \low
    mov ecx, {msr_fs_base}
    mov eax, [\alien + {fs_base}]
    mov edx, [\alien + {fs_base} + 4]
    wrmsr
    .endif
    movsxd r11, dword ptr [\alien + {space}]
    mov r11, [r11 + {tables}]
    mov cr3, r11
.endm

// R6 to R8, and the way out, from the thread in R11.
.macro RESUME alien, low, free, how, name
    movsxd rsp, dword ptr [\alien + {utcb}]
    cmp qword ptr [rsp + {f_changed}], 0                // R6
    jne slow_run
    mov \free, [rsp + {f_rip}]
    cmp \free, [user_end]                               // R7
    jae slow_run
\name:
    cmp \free, [rsp + {f_rcx}]                          // R8
    jne \name\()_by_iret
    mov r15, [rsp + {f_rflags}]
    cmp r15, [rsp + {f_r11}]
    jne \name\()_by_iret
    xor r15, {fixed_flags}
    test r15, ~{sysret_flags}
    jnz \name\()_by_iret
    SWITCH_TO_ALIEN \alien, \low, \how
    POP_ALL
    mov rsp, [rsp]
    sysretq
\name\()_by_iret:
    mov rbp, rsp
    SWITCH_TO_ALIEN \alien, \low, \how
    mov rsp, \alien
    push {user_data}
    push qword ptr [rbp + {f_rsp}]
    mov ecx, [rbp + {f_rflags}]
    and ecx, {user_flags}
    or ecx, {fixed_flags}
    push rcx
    push {user_code}
    push qword ptr [rbp + {f_rip}]
    mov [{scratch}], rsp
    mov rsp, rbp
    POP_ALL
    mov rsp, [{scratch}]
    iretq
.endm

.section .text.fast, "ax", @progbits

// From `syscall_entry`, with all registers as the user had them: something is loaded.
.balign 32
loaded_call:
    mov [{scratch} + 8], r11
    mov r11, [{stack_of_ring_0}]
    cmp r11d, [{loaded}]                                // A1
    jne handler_call
    CALL 0

// A thread that `Cpu::loaded` does not name, or names with a flag.
.balign 32
handler_call:
    mov [r11 + {saved_rip}], rcx
    mov [r11 + {saved_rsp}], rsp
    movsxd rcx, dword ptr [{loaded}]                    // R2
    test cl, {loaded_flags}
    jnz flagged
    cmp rax, {op_run}                                   // R1
    jne map_run
    WAITS rcx, ecx, run_other, slow_run
    RESUME rcx, ecx, rbx, 0, resume

// The same with the FPU.
flagged:
    test cl, {loaded_slow}                              // A1, R2
    jnz refuse_loaded
    xor rcx, {loaded_fpu}
    cmp ecx, r11d                                       // A1
    je call_with_fpu
    cmp rax, {op_run}                                   // R1
    jne map_run
    // The registers of the FPU are not for another alien.
    WAITS rcx, ecx, slow_run, slow_run
    RESUME rcx, ecx, rbx, 1, resume_with_fpu
call_with_fpu:
    mov rcx, [r11 + {saved_rip}]
    CALL 1

// `run` of another alien.
.balign 32
run_other:
    mov ebx, [{pool} + {index_mask}]                    // S1
    and ebx, edi
    shl ebx, {thread_shift}
    add rbx, {threads}
    mov ebp, [rbx + {handler}]                          // S2
    and ebp, ~{rights}
    cmp ebp, r11d
    jne slow_run
    test dword ptr [rbx + {lazy}], ~{lazy_fs}           // S3
    jnz slow_run
    mov ecx, ds                                         // S4
    mov r15d, es
    or ecx, r15d
    mov r15d, fs
    or ecx, r15d
    mov r15d, gs
    or ecx, r15d
    jnz slow_run
    WAITS rbx, ebx, slow_run, slow_run
    RESUME rbx, ebx, rcx, 2, resume_other

// From vector 14. The processor pushed SS, RSP, RFLAGS, CS, RIP and the error code; from kernel mode not at a thread.
.balign 32
page_fault:
    cmp dword ptr [{loaded}], 0                         // F2
    je native_fault
    push rcx
    push r11
    lea r11, [rsp + {above_r15}]
    cmp r11d, [{loaded}]                                // A1
    jne 1f
    FAULT 0
1:
    mov ecx, [{loaded}]
    xor ecx, {loaded_fpu}
    cmp ecx, r11d                                       // A1
    jne refuse_fault
    FAULT 1

// Not for the fast path: all registers are as the user had them.
refuse_fault:
    lea rsp, [r11 + {saved_r15}]
    pop r11
    pop rcx
    push {vector_page_fault}
    jmp entered
refuse_call:
    mov rcx, [{scratch} + 16]
    mov rsp, [{scratch}]
    mov r11, [{scratch} + 8]
    jmp save_call
refuse_loaded:
    mov rcx, [r11 + {saved_rip}]
    mov r11, [{scratch} + 8]
    jmp save_call
// The same, except registers that a system call of a native thread loses.
slow_run:
    mov qword ptr [r11 + {saved_rflags}], {fixed_flags}
    mov rsp, r11
    jmp slow
.global alien_end
alien_end:

// The end of addresses at which users continue.
.section .rodata
.balign 8
user_end:
    .quad {users_end}
.text
