// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps that several fast paths make.

// The thread that the handle in EBX names: its index is one of the table, whatever a user made of it.
.macro THREAD_OF_HANDLE to
    mov \to, ss:[{pool} + {index_mask}]
    and \to, ebx
    shl \to, {thread_shift}
    add \to, {threads}
.endm

// The thread in ESP waits for an answer of `partner`, under a new handle, which goes to EBX.
.macro AWAIT_ANSWER partner, gate
    add dword ptr [esp + {handle}], {sequence}
    mov ebx, [esp + {handle}]
    mov [esp + {partner}], \partner
    mov dword ptr [esp + {gate}], \gate
.endm

// The base of a small space in its home: `base` has the space, and gets its base.
.macro BASE_OF_REGION base
    mov \base, ss:[\base + {region_high}]
    and \base, 0xff0000ff
    rol \base, 8
    bswap \base
.endm

// Loads FS, GS and the first TLS segment descriptor of the alien in EDX, which were removed: base and limit are still in the GDT.
// If a test fails afterwards, they may stay: the way to a server removes them again. Destroys ECX.
.macro FETCH
    mov ss:[{loaded}], edx
    mov cl, ss:[edx + {tls} + {access}]
    mov ss:[{gdt} + {tls_offset} + {access}], cl
    mov ecx, ss:[edx + {fs_gs}]
    test cx, cx
    jz 1f
    mov fs, ecx
1:
    shr ecx, 16
    mov gs, ecx
.endm

// Pushes the words for `iret`, from the frame at EAX. Destroys ECX. CS and SS are constants, and flags are masked: the handler
// writes the frame.
.macro PUSH_IRET_FRAME code, data
    push \data
    push dword ptr ss:[eax + {f_esp}]
    mov ecx, ss:[eax + {f_eflags}]
    and ecx, {user_flags}
    or ecx, {fixed_flags}
    push ecx
    push \code
    push dword ptr ss:[eax + {f_eip}]
.endm

// The general registers of the frame at EAX but ESP, ECX and EDX, which are first given. EAX is the last.
.macro LOAD_REGISTERS ecx, edx
    mov ecx, ss:[eax + \ecx]
    mov edx, ss:[eax + \edx]
    mov ebx, ss:[eax + {f_ebx}]
    mov esi, ss:[eax + {f_esi}]
    mov edi, ss:[eax + {f_edi}]
    mov ebp, ss:[eax + {f_ebp}]
    mov eax, ss:[eax + {f_eax}]
.endm
