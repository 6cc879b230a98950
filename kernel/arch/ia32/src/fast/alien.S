// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast path of aliens: `int 0x80`, `sysenter` and page faults go to the handler that waits in
// `run`, and the next `run` resumes the alien.
//
// It does what `fault.rs` of the portable kernel would do (`raise`, `transfer_exception`, `run`). It changes nothing before its
// last test, and leaves every other case to the portable kernel.
//
// On this processor the handler gets every page fault: `fault_in` of the port repairs none.
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
//  3 | neither has more to load than FS, GS and the first TLS segment | `put_away`, `load`
//    | descriptor, and neither is in a small space (but see `small.S`)|
//  4 | FS and GS are the first one's still, and the other's are the   | `handler_entered`,
//    | same                                                           | `checked_selectors`
//  5 | the TLS segment descriptor is the same, or another that is     | `load_tls`
//    | present                                                        |
//
//  P | test at `run` by a server, of an alien whose state was removed | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | FS and GS null; some alien's state was removed, none of it     | `lazy`
//    | private, the FPU closed, no step pending                       |
//  2 | R1, R3 to R5; or S1, S3, R4 and R5                             |
//  3 | of the other, FS and GS are null; or the first TLS segment     | `load_tls`,
//    | descriptor is present, and they are as the one's that was      | `checked_selectors`
//    | removed, or FS is null and GS names that segment               |
//  4 | R7, R8                                                         |
//
// The alien's FS, GS and TLS stay in the processor while its handler runs. The handler may see them. If it loads other selectors,
// R6 finds them. But a server could access the kernel by them: so they are removed while it runs. If it loads other selectors, P1
// finds them.
//
// The frame is hostile: the handler writes it. Only registers and masked flags are taken from it.
// CS and SS are constants: aliens run at ring 3.

.section .text.fast, "ax", @progbits

// R3 to R5 for the thread in ESP, the handle in EBX and the alien in EDX: EAX becomes its frame. To
// `other` with another handle than the alien's.
.macro WAITS other
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
.endm

// R2 to R6 for the thread in ESP and the handle in EBX: EDX becomes the alien, EAX its frame. To
// `other` with another handle than that of the alien whose state is loaded, and with a lost EAX to
// `refused`.
.macro MAY_RUN other, refused
    mov edx, ss:[{loaded}]                              // R2
    test edx, edx
    jz slow
    test dl, {loaded_flags}
    jnz slow
    WAITS \other
    mov ecx, gs                                         // R6
    shl ecx, 16
    .byte 0x66, 0x8c, 0xe1                              // mov cx, fs: the assembler would move 32 bits
    cmp ecx, ss:[eax + {f_fs_gs}]
    jne \refused
.endm

// An event of this vector, for which the processor pushed this many bytes: SS, ESP, EFLAGS, CS, EIP, and the error code of a page
// fault.
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
// ESP is the alien, ECX its handler; ESI, EDI and EBP are the words of the message. DS and ES are flat.
event:
    mov eax, [esp + {handler} + 4]
    or eax, {delivery_alien}
    AWAIT_ANSWER ecx, {gate_alien}
    RUN ecx
    mov edx, ss:[ecx + {space}]
    jmp ss:[edx + {event_way}]
// The way of an event into the space of a large handler, which is in EDX: like `enter_large`, but the space is always another
// one, and DS and ES are already flat. The pushes destroy a saved selector of the alien, which needs none.
.global event_large
event_large:
    LOAD_TABLES edx
    mov edx, ss:[ecx + {saved_eip}]
    mov ecx, ss:[ecx + {saved_esp}]
    push 2
    popfd
    sti
    sysexit
    .else
    jmp event
    .endif
    FLATTEN edx, eax, \pushed, 5f
5:
    push dword ptr ss:[eax + {f_eip}]
    .if \pushed == 24
    push ebp
    .else
    push 0
    .endif
    push \vector
    LOAD_REGISTERS {f_ecx}, {f_edx}
    jmp entered
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

// The same into a server. The alien's state is removed; the server runs with the alien's tables if it is shown there.
.balign 32
.global event_server
event_server:
    PUT_AWAY
    mov esp, [esp + {space}]
    mov esp, ss:[esp + {home}]
    mov edx, ss:[ecx + {space}]
    cmp edx, ss:[esp + {server}]
    jne 3f
    mov ss:[{directory_of}], esp
2:
    lea esp, [ecx - 20]
    xor ecx, ecx
    xor edx, edx
event_iret:
    iretd
3:
    mov ss:[{directory_of}], edx
    LOAD_TABLES edx
    jmp 2b

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
    // The tests above changed the arithmetic flags: they are no longer the alien's.
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
    FLATTEN esp, edx, 0, 5f
5:
    mov eax, ss:[edx + {f_eax}]
    mov ebx, ss:[edx + {f_ebx}]
    mov esi, ss:[edx + {f_esi}]
    jmp slow

// From the thread in ESP to the alien in EDX, whose frame is at EAX. A `server` may have run with the alien's tables.
.macro TO_ALIEN server
    mov ecx, es                                         // R7
    shl ecx, 16
    .byte 0x66, 0x8c, 0xd9                              // mov cx, ds
    cmp ecx, ss:[eax + {f_ds_es}]
    jne 4f
3:
    // No alien has the space of a thread that makes system calls.
    mov ecx, ss:[edx + {space}]
    .if \server
    cmp ecx, ss:[{directory_of}]
    jne 7f
    .else
    LOAD_TABLES ecx
    .endif
2:
    mov [esp + {partner}], edx
    mov dword ptr [esp + {gate}], {gate_run}
    RUN edx
.endm

// After it: DS and ES, which are loaded for the alien if they are flat; and other tables than those that a server ran by.
.macro OTHER_DATA server
4:
    cmp dword ptr ss:[eax + {f_ds_es}], {flat}          // R7
    jne slow_run
    LOAD_DATA {user_data}, ecx
    jmp 3b
    .if \server
7:
    cmp dword ptr ss:[ecx + {region_low}], 0
    jne resume_small
    LOAD_TABLES ecx
    jmp 2b
    .endif
.endm

// From the thread in ESP to the alien in EDX, whose frame is at EAX. The label is that of `iret`.
.macro RESUME server, iret
    cmp dword ptr ss:[eax + {f_changed}], 0             // R7
    jne 5f
    TO_ALIEN \server
    mov esp, edx
    PUSH_IRET_FRAME {user_code}, {user_data}
    LOAD_REGISTERS {f_ecx}, {f_edx}
\iret:
    iretd
    OTHER_DATA \server
5:
    cmp dword ptr ss:[eax + {f_changed}], {by_sysexit}  // R7
    jne slow_run
    test dword ptr ss:[eax + {f_eflags}], {iret_flags}  // R8
    jnz slow_run
    TO_ALIEN \server
    mov ecx, ss:[eax + {f_eflags}]
    and ecx, {user_flags}
    or ecx, {fixed_flags} ^ {interrupt_flag}
    .if \server
    // The pushes destroy a saved selector, which the alien no longer needs, but a server's thread does.
    mov esp, edx
    .endif
    push ecx
    popfd
    LOAD_REGISTERS {f_esp}, {f_eip}
    sti
    sysexit
    OTHER_DATA \server
.endm

// `run`: from `sysenter_entry`. ESP is the thread, EAX and EBX are as the user had them. ECX is FS, GS and `Cpu::loaded`, in one.
.balign 32
.global try_run
try_run:
    // FS and GS add nothing to this low byte of `Cpu::loaded` if they are null, and a bit if not.
    cmp cl, {away_alone}                                // P1
    je run_away
    cmp eax, {op_run}                                   // R1
    jne alien_sysenter
    MAY_RUN run_other, slow_run
// From here also after `run_other`, and after `map_run`, for which R7 and R8 hold already.
.global resume_alien
resume_alien:
    RESUME 0, alien_iret
slow_run:
    mov eax, {op_run}
    jmp slow

// By a server: the state that the alien has to load was removed.
.balign 32
run_away:
    cmp eax, {op_run}                                   // R1
    jne map_run_away
    mov edx, ss:[{loaded}]
    xor edx, {away}
    WAITS run_other_away
    FETCH
.global resume_away
resume_away:
    RESUME 1, away_iret

// S1, S3 and of S2 R4 and R5, for the thread in ESP and the handle in EBX: ECX becomes the other alien. With a lost EAX to
// `refused`.
.macro OTHER_WAITS refused, small
    THREAD_OF_HANDLE ecx                                // S1
    cmp dword ptr ss:[ecx + {gate}], {gate_alien}
    jne \refused
    cmp ebx, ss:[ecx + {handle}]
    jne \refused
    cmp ss:[ecx + {partner}], esp
    jne \refused
    mov eax, ss:[ecx + {handler}]
    and eax, ~{rights}
    cmp eax, esp
    jne \refused
    cmp dword ptr [esp + {signals}], 0                  // S2
    jne \refused
    mov eax, ss:[{top}]
    cmp eax, ss:[ecx + {priority}]
    ja \refused
    // S3. A private state of the loaded one would be a flag in EDX: so it has none.
    test dword ptr ss:[ecx + {lazy}], {more_lazy}
    jnz \refused
    mov eax, ss:[ecx + {space}]
    cmp dword ptr ss:[eax + {region_low}], 0
    jne \small
.endm

// `run` of another alien than the one in EDX, whose state is loaded and which waits for a reply.
.balign 32
run_other:
    mov [esp + {scratch_1}], esi
    mov [esp + {scratch_2}], edi
    OTHER_WAITS 9f, 9f
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
    mov edi, ss:[ecx + {tls} + 4]                       // S5
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

// The same by a server, for which the state of the one in EDX was removed.
.balign 32
run_other_away:
    OTHER_WAITS slow_run, run_other_small
    mov eax, ss:[edx + {fs_gs}]                         // P3
    cmp eax, ss:[ecx + {fs_gs}]
    mov eax, ss:[ecx + {tls} + 4]
    jne 8f
    test eax, {present}
    jz 9f
7:
    mov ss:[{gdt} + {tls_offset} + 4], eax
    mov eax, ss:[ecx + {tls}]
    mov ss:[{gdt} + {tls_offset}], eax
    mov edx, ecx
    mov eax, ss:[edx + {utcb}]
    FETCH
    jmp resume_away
8:
    cmp dword ptr ss:[ecx + {fs_gs}], {tls_selector} << 16
    jne 9f
    test eax, {present}
    jnz 7b
    jmp slow_run
9:
    cmp dword ptr ss:[ecx + {fs_gs}], 0
    je 7b
    jmp slow_run
.global alien_end
alien_end:
