// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of aliens: `int 0x80`, `sysenter` and page faults go to the handler that waits in
// `run`, and the next `run` resumes the alien.
//
// It does what `fault.rs` of the portable kernel would do (`raise`, `transfer_exception`, `run`). It
// changes nothing before its last test, and goes the ordinary way on any doubt.
//
// Every page fault is the handler's on this processor: the seam `fault_in` repairs none.
//
//  A | test at the event                                              | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | exactly its own state is loaded, none of it private, the FPU   | `lazy`
//    | closed, no step pending                                        |
//  2 | it has a handler                                               | `raise`
//  3 | which waits in `run` for this thread, an alien then, and may   | `enter`,
//    | be resumed fast                                                | `receives_from`
//  4 | and is at least as urgent as every ready thread                | `schedule`
//
//  R | test at `run`                                                  | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no flags, no words                                             | `check_tag`
//  2 | some thread's state is loaded, none of it private, the FPU     | `lazy`
//    | closed, no step pending                                        |
//  3 | it is an alien that waits, under this handle (which has its    | `waiting_caller`
//    | index), for this very thread; or see S                         |
//  4 | no notification waits                                          | `run`
//  5 | the alien is at least as urgent as every ready thread          | `schedule`
//  6 | FS and GS are the alien's still                                | `lazy`,
//    |                                                                | `handler_entered`
//  7 | the frame changes neither selectors nor FPU; DS and ES are     | `load_frame`
//    | loaded already, or flat                                        |
//  8 | who goes on by `sysexit` neither steps nor passes a            | `load_frame`
//    | breakpoint: that is for `iret`                                 |
//
//  S | test at `run` of another alien than the one that is loaded     | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | R3, for the other; and this thread is its handler              | `waiting_caller`, `run`
//  2 | R4, R5, R7, R8; DS and ES flat                                 |
//  3 | neither has more to load than FS, GS and TLS                   | `put_away`, `load`
//  4 | FS and GS are the first one's still, and the other's are the   | `handler_entered`,
//    | same                                                           | `checked_selectors`
//  5 | so are the TLS segment descriptors, but for the first, which   | `load_tls`
//    | may be another that is present                                 |
//
// The alien's FS, GS and TLS stay in the processor while its handler runs. The handler may see
// them. If it loads other selectors, R6 finds them.
//
// The frame is hostile: the handler writes it. Only registers and masked flags are taken from it.
// CS and SS are constants.

.section .text.fast, "ax", @progbits

// R2 to R6 for the thread in ESP and the handle in EBX: EDX becomes the alien, EAX its frame. To
// `other` with another handle than that of the alien whose state is loaded, and with a lost EAX to
// `refused`.
.macro MAY_RUN other, refused
    mov edx, ss:[{loaded}]                              // R2
    test edx, edx
    jz slow
    test dl, {loaded_flags}
    jnz slow
    cmp dword ptr ss:[edx + {gate}], {gate_alien}       // R3
    jne slow
    cmp ebx, ss:[edx + {handle}]
    jne \other
    cmp ss:[edx + {partner}], esp
    jne slow
    cmp dword ptr [esp + {signals}], 0                  // R4
    jne slow
    mov ecx, ss:[{top}]                                 // R5
    cmp ecx, ss:[edx + {priority}]
    ja slow
    mov eax, ss:[edx + {utcb}]
    mov ecx, gs                                         // R6
    shl ecx, 16
    .byte 0x66, 0x8c, 0xe1                              // mov cx, fs: the assembler would move 32 bits
    cmp ecx, ss:[eax + {f_fs_gs}]
    jne \refused
.endm

// An event of this vector, for which the processor pushed so many bytes: SS, ESP, EFLAGS, CS, EIP,
// and the error code of a page fault.
.macro EVENT vector, pushed
    .if {kdb}
    jmp 8f
    .endif
    .if \pushed == 24
    test byte ptr [esp + \pushed + {thread_flags}], {alien_flag}
    jz native_fault
    .endif
    push eax
    push ecx
    push edx
    lea edx, [esp + \pushed + 12]
    cmp edx, ss:[{loaded}]                              // A1
    jne 9f
    mov ecx, ss:[edx + {handler}]
    test cl, {call_right}                               // A2
    jz 9f
    and ecx, ~{rights}
    cmp dword ptr ss:[ecx + {gate}], {gate_run}         // A3
    jne 9f
    cmp ss:[ecx + {partner}], edx
    jne 9f
    mov eax, ss:[{top}]                                 // A4
    cmp eax, ss:[ecx + {priority}]
    ja 9f
    mov eax, ss:[edx + {utcb}]
    pop dword ptr ss:[eax + {f_edx}]
    pop dword ptr ss:[eax + {f_ecx}]
    pop dword ptr ss:[eax + {f_eax}]
    mov ss:[eax + {f_ebx}], ebx
    mov ss:[eax + {f_esi}], esi
    mov ss:[eax + {f_edi}], edi
    mov ss:[eax + {f_ebp}], ebp
    .if \pushed == 24
    pop ebp
    mov edi, cr2
    .else
    xor edi, edi
    xor ebp, ebp
    .endif
    pop dword ptr ss:[eax + {f_eip}]
    mov ebx, [esp + 4]
    mov ss:[eax + {f_eflags}], ebx
    mov ebx, [esp + 8]
    mov ss:[eax + {f_esp}], ebx
    mov ss:[eax + {f_ds_es}], ds
    mov ss:[eax + {f_ds_es} + 2], es
    mov ss:[eax + {f_fs_gs}], fs
    mov ss:[eax + {f_fs_gs} + 2], gs
    cmp dword ptr ss:[eax + {f_ds_es}], {flat}
    jne 7f
6:
    mov esi, \vector
    mov ss:[eax + {f_vector}], esi
    mov ss:[eax + {f_error}], ebp
    mov ss:[eax + {f_address}], edi
    mov dword ptr ss:[eax + {f_changed}], 0
    mov esp, edx
    .if \pushed == 20
// ESP is the alien, ECX its handler; ESI, EDI and EBP are the words of the message.
event:
    .endif
    mov eax, [esp + {handler} + 4]
    or eax, {delivery_alien}
    AWAIT_ANSWER ecx, {gate_alien}
    // As `fast_switch`, but the space is another, and DS and ES are flat already.
    SWITCH_TO ecx, edx
    mov edx, ss:[ecx + {saved_eip}]
    mov ecx, ss:[ecx + {saved_esp}]
    push 2
    popfd
    sti
    sysexit
7:
    LOAD_DATA {user_data}, esi
    jmp 6b
9:
    pop edx
    pop ecx
    pop eax
8:
    .if \pushed == 20
    push 0
    .endif
    push \vector
    jmp entered
.endm

.balign 32
.global alien_entry
alien_entry:
    EVENT {vector_alien_call}, 20

// A1 holds only for an entry from user mode: there the stack ends at the thread.
.balign 32
.global alien_fault
alien_fault:
    EVENT {vector_page_fault}, 24

// An alien's `sysenter`: from `try_run`. ESP is the alien, or a thread with an alien's state loaded.
alien_sysenter:
    cmp esp, ss:[{loaded}]                              // A1
    jne map_run
    mov ecx, [esp + {handler}]
    test cl, {call_right}                               // A2
    jz slow
    and ecx, ~{rights}
    cmp dword ptr ss:[ecx + {gate}], {gate_run}         // A3
    jne slow
    cmp ss:[ecx + {partner}], esp
    jne slow
    mov edx, ss:[{top}]                                 // A4
    cmp edx, ss:[ecx + {priority}]
    ja slow
    mov edx, ss:[esp + {utcb}]
    mov ss:[edx + {f_eax}], eax
    mov ss:[edx + {f_ebx}], ebx
    mov ss:[edx + {f_esi}], esi
    mov ss:[edx + {f_edi}], edi
    mov ss:[edx + {f_ebp}], ebp
    mov eax, [esp + {saved_esp}]
    mov ss:[edx + {f_ecx}], eax
    mov ss:[edx + {f_esp}], eax
    mov eax, [esp + {saved_eip}]
    mov ss:[edx + {f_edx}], eax
    mov ss:[edx + {f_eip}], eax
    // The tests above changed the arithmetic flags: they are not the alien's any more.
    pushfd
    pop eax
    and eax, {control_flags}
    or eax, {fixed_flags}
    mov ss:[edx + {f_eflags}], eax
    mov ss:[edx + {f_ds_es}], ds
    mov ss:[edx + {f_ds_es} + 2], es
    mov ss:[edx + {f_fs_gs}], fs
    mov ss:[edx + {f_fs_gs} + 2], gs
    cmp dword ptr ss:[edx + {f_ds_es}], {flat}
    jne 7f
6:
    mov esi, {vector_sysenter}
    mov ss:[edx + {f_vector}], esi
    xor edi, edi
    xor ebp, ebp
    mov ss:[edx + {f_error}], edi
    mov ss:[edx + {f_address}], edi
    mov ss:[edx + {f_changed}], edi
    jmp event
7:
    LOAD_DATA {user_data}, esi
    jmp 6b

// From the thread in ESP to the alien in EDX, whose frame is at EAX.
.macro TO_ALIEN
    mov ecx, es                                         // R7
    shl ecx, 16
    .byte 0x66, 0x8c, 0xd9                              // mov cx, ds
    cmp ecx, ss:[eax + {f_ds_es}]
    jne 4f
3:
    mov [esp + {partner}], edx
    mov dword ptr [esp + {gate}], {gate_run}
    // No alien has the space of a thread that makes system calls.
    SWITCH_TO edx, esi
.endm

// Behind it: DS and ES, which are loaded for the alien if they are flat.
.macro FLAT_DATA
4:
    cmp dword ptr ss:[eax + {f_ds_es}], {flat}          // R7
    jne slow_run
    LOAD_DATA {user_data}, ecx
    jmp 3b
.endm

// `run`: from `sysenter_entry`. ESP is the thread, EAX and EBX are as the user had them.
.balign 32
.global try_run
try_run:
    cmp eax, {op_run}                                   // R1
    jne alien_sysenter
    MAY_RUN run_other, slow_run
// From here also behind `run_other`, and behind `map_run`, for which R7 and R8 hold already.
.global resume_alien
resume_alien:
    cmp dword ptr ss:[eax + {f_changed}], 0             // R7
    jne 5f
    TO_ALIEN
    mov esp, edx
    push {user_data}
    push dword ptr ss:[eax + {f_esp}]
    mov ecx, ss:[eax + {f_eflags}]
    and ecx, {user_flags}
    or ecx, {fixed_flags}
    push ecx
    push {user_code}
    push dword ptr ss:[eax + {f_eip}]
    mov ebx, ss:[eax + {f_ebx}]
    mov ecx, ss:[eax + {f_ecx}]
    mov edx, ss:[eax + {f_edx}]
    mov esi, ss:[eax + {f_esi}]
    mov edi, ss:[eax + {f_edi}]
    mov ebp, ss:[eax + {f_ebp}]
    mov eax, ss:[eax + {f_eax}]
    iretd
    FLAT_DATA
5:
    cmp dword ptr ss:[eax + {f_changed}], {by_sysexit}  // R7
    jne slow_run
    test dword ptr ss:[eax + {f_eflags}], {iret_flags}  // R8
    jnz slow_run
    TO_ALIEN
    mov ecx, ss:[eax + {f_eflags}]
    and ecx, {user_flags}
    or ecx, {fixed_flags} ^ {interrupt_flag}
    push ecx
    popfd
    mov ebx, ss:[eax + {f_ebx}]
    mov esi, ss:[eax + {f_esi}]
    mov edi, ss:[eax + {f_edi}]
    mov ebp, ss:[eax + {f_ebp}]
    mov edx, ss:[eax + {f_eip}]
    mov ecx, ss:[eax + {f_esp}]
    mov eax, ss:[eax + {f_eax}]
    sti
    sysexit
    FLAT_DATA
slow_run:
    mov eax, {op_run}
    jmp slow

// `run` of another alien than the one in EDX, whose state is loaded and which waits for a reply.
.balign 32
run_other:
    mov [esp + {scratch_1}], esi
    mov [esp + {scratch_2}], edi
    THREAD_OF_HANDLE ecx                                // S1
    cmp dword ptr ss:[ecx + {gate}], {gate_alien}
    jne 9f
    cmp ebx, ss:[ecx + {handle}]
    jne 9f
    cmp ss:[ecx + {partner}], esp
    jne 9f
    mov eax, ss:[ecx + {handler}]
    and eax, ~{rights}
    cmp eax, esp
    jne 9f
    cmp dword ptr [esp + {signals}], 0                  // S2
    jne 9f
    mov eax, ss:[{top}]
    cmp eax, ss:[ecx + {priority}]
    ja 9f
    // S3. What of the loaded one is private is a flag in EDX.
    test dword ptr ss:[ecx + {lazy}], {more_lazy}
    jnz 9f
    mov eax, ss:[edx + {utcb}]                          // S4
    mov esi, gs
    shl esi, 16
    .byte 0x66, 0x8c, 0xe6                              // mov si, fs
    cmp esi, ss:[eax + {f_fs_gs}]
    jne 9f
    cmp esi, ss:[ecx + {fs_gs}]
    jne 9f
    mov eax, ss:[ecx + {utcb}]                          // S2
    cmp dword ptr ss:[eax + {f_ds_es}], {flat}
    jne 9f
    cmp dword ptr ss:[eax + {f_changed}], 0
    je 6f
    cmp dword ptr ss:[eax + {f_changed}], {by_sysexit}
    jne 9f
    test dword ptr ss:[eax + {f_eflags}], {iret_flags}
    jnz 9f
6:
    mov edi, ss:[edx + {tls} + 8]                       // S5
    cmp edi, ss:[ecx + {tls} + 8]
    jne 9f
    mov edi, ss:[edx + {tls} + 12]
    cmp edi, ss:[ecx + {tls} + 12]
    jne 9f
    mov edi, ss:[edx + {tls} + 16]
    cmp edi, ss:[ecx + {tls} + 16]
    jne 9f
    mov edi, ss:[edx + {tls} + 20]
    cmp edi, ss:[ecx + {tls} + 20]
    jne 9f
    mov edi, ss:[ecx + {tls} + 4]
    cmp edi, ss:[edx + {tls} + 4]
    jne 8f
    mov edi, ss:[ecx + {tls}]
    cmp edi, ss:[edx + {tls}]
    jne 8f
7:
    mov ss:[edx + {fs_gs}], esi
    mov ss:[{loaded}], ecx
    mov edx, ecx
    jmp resume_alien
8:
    mov edi, ss:[ecx + {tls} + 4]
    test edi, {present}
    jz 9f
    mov ss:[{gdt} + {tls_offset} + 4], edi
    mov edi, ss:[ecx + {tls}]
    mov ss:[{gdt} + {tls_offset}], edi
    mov edi, esi
    mov fs, edi
    shr edi, 16
    mov gs, edi
    jmp 7b
9:
    mov esi, [esp + {scratch_1}]
    mov edi, [esp + {scratch_2}]
    jmp slow_run
.global alien_end
alien_end:
