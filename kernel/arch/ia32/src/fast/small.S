// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The additional work of the fast path of aliens (`alien.S`) for aliens in small spaces, whose handler is the server that their
// home shows. On the way to the server, ring 3 gets the segments of large spaces, which the server uses, too. On the way to the
// alien, ring 3 gets those of the alien's space. The tables are always the home's.
//
//  H | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | at an event: DS and ES are the small space's data, FS and GS   | `translated`
//    | are not                                                        |
//  2 | the handler's space is the server that the home shows          | `leave_to`
//  3 | at `run`: DS and ES of the frame are flat                      | `load_frame`
//  4 | at `run` of another: FS is null, GS is the first TLS segment,  | `load`
//    | whose descriptor is known for the place where the space is; or |
//    | both are null, and there is no such descriptor                 |
//
// The alien's frame has flat segments: so the handler does not learn from it where the space is.

// After the saving of DS and ES, in an event of an alien, if they are not flat. With the words of its message in ESI, EDI
// and EBP. To `refused` with ESI and EBX lost.
.macro FLATTEN thread, frame, pushed, refused
7:
    mov esi, ss:[\thread + {space}]
    cmp dword ptr ss:[esi + {region_low}], 0
    je 4f
    cmp dword ptr ss:[\frame + {f_ds_es}], {small_flat}  // H1
    jne \refused
    test dword ptr ss:[\frame + {f_fs_gs}], {small_bits}
    jnz \refused
    mov ebx, ss:[esi + {home}]                          // H2
    mov ebx, ss:[ebx + {server}]
    cmp ebx, ss:[ecx + {space}]
    jne \refused
    mov dword ptr ss:[\frame + {f_ds_es}], {flat}
    .if \pushed == 24
    BASE_OF_REGION esi
    sub edi, esi
    .endif
    LARGE_SEGMENTS esi
    jmp 6b
4:
    // A selector that the thread kept since its space was small.
    test dword ptr ss:[\frame + {f_ds_es}], {small_bits}
    jnz \refused
    LOAD_DATA {user_data}, esi
    jmp 6b
.endm

.section .text.fast, "ax", @progbits

// From the server's thread in ESP to the alien in EDX, whose frame is at EAX and whose small space is in ECX: from `alien.S`.
// FS, GS and TLS are the alien's again.
.balign 32
.global resume_small
resume_small:
    cmp dword ptr ss:[eax + {f_ds_es}], {flat}          // H3
    jne slow_run
    mov [esp + {partner}], edx
    mov dword ptr [esp + {gate}], {gate_run}
    RUN edx
    mov edi, ss:[ecx + {directory}]
    mov esi, ss:[ecx + {home}]
    cmp esi, ss:[{directory_of}]
    je 1f
    mov cr3, edi
1:
    USER_SEGMENTS 0, 0, edi
    SMALL_SEGMENTS ecx
    LOAD_DATA {small_data}, ecx
    mov esp, edx
    PUSH_IRET_FRAME {small_code}, {small_data}
    cmp dword ptr ss:[eax + {f_changed}], 0
    jne 2f
    LOAD_REGISTERS {f_ecx}, {f_edx}
small_alien_iret:
    iretd
    // As if by `sysexit`.
2:
    LOAD_REGISTERS {f_esp}, {f_eip}
    jmp small_alien_iret

// `run` of the other alien in ECX, whose small space is in EAX, by a server: from `run_other_away`.
.balign 32
run_other_small:
    cmp dword ptr ss:[ecx + {fs_gs}], {tls_selector} << 16 // H4
    jne 1f
    mov edx, ss:[eax + {region_low}]
    cmp edx, ss:[ecx + {shown_in}]
    jne slow_run
    mov edx, ss:[eax + {region_high}]
    cmp edx, ss:[ecx + {shown_in} + 4]
    jne slow_run
    mov eax, ss:[ecx + {shown} + 4]
    test eax, {present}
    jz slow_run
    mov ss:[{gdt} + {tls_offset} + 4], eax
    mov eax, ss:[ecx + {shown}]
    mov ss:[{gdt} + {tls_offset}], eax
    mov ss:[{loaded}], ecx
    mov edx, ecx
    mov eax, ss:[edx + {utcb}]
    mov ecx, {tls_selector}
    mov gs, ecx
    jmp resume_away
1:
    cmp dword ptr ss:[ecx + {fs_gs}], 0
    jne slow_run
    test dword ptr ss:[ecx + {tls} + 4], {present}
    jnz slow_run
    xor eax, eax
    mov ss:[{gdt} + {tls_offset}], eax
    mov ss:[{gdt} + {tls_offset} + 4], eax
    mov ss:[{loaded}], ecx
    mov edx, ecx
    mov eax, ss:[edx + {utcb}]
    jmp resume_away
.global small_end
small_end:
