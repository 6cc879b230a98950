// SPDX-License-Identifier: MIT OR Apache-2.0
// Switching to a thread: the only assembly that makes another thread the running one, and loads its space. `space.rs` does the same in
// Rust. A new way into a space has to be added there and here, and nowhere else.
//
// The thread that goes is in ESP. Data is addressed through SS, as DS and ES may still be a user's.

// Makes a thread the running one.
.macro RUN thread
    mov dword ptr ss:[\thread + {gate}], {gate_ready}
    mov ss:[{current}], \thread
.endm

// Loads the tables of `space`. They are those of the running thread's space, unless that is a server: only then it is recorded whose they
// are.
.macro LOAD_TABLES space
    mov \space, ss:[\space + {directory}]
    mov cr3, \space
.endm

// Loads DS and ES. Loading a selector reads its segment descriptor: that takes a cache line, and is
// slow on every processor. A fast path looks first whether they are loaded already.
.macro LOAD_DATA selector, scratch
    mov \scratch, \selector
    mov ds, \scratch
    mov es, \scratch
.endm

// Makes the segments of large spaces unusable for ring 3, because in a home they would reach all of it: the home's directory is in ESP.
// Or, with 0 in a register, makes them usable again: `LARGE_SEGMENTS`.
.macro USER_SEGMENTS code, data, home
    mov byte ptr ss:[{gdt} + {user_code_offset} + {access}], \code
    mov byte ptr ss:[{gdt} + {user_data_offset} + {access}], \data
    mov ss:[{small_home}], \home
.endm

// Gives ring 3 the segments of a small space. Destroys ESP.
.macro SMALL_SEGMENTS space
    // The data descriptor is above the code descriptor.
    mov esp, offset {gdt} + {small_data_offset} + 8
    push dword ptr ss:[\space + {region_high}]
    push dword ptr ss:[\space + {region_low}]
    push dword ptr ss:[\space + {region_high}]
    xor byte ptr [esp + 1], {code_bit} >> 8
    push dword ptr ss:[\space + {region_low}]
.endm

// The segments of large spaces, also under the selectors of small ones, which a thread may have kept.
.macro LARGE_SEGMENTS scratch
    xor \scratch, \scratch
    USER_SEGMENTS {code_access}, {data_access}, \scratch
    mov dword ptr ss:[{gdt} + {small_data_offset} - 8], {user_low}
    mov dword ptr ss:[{gdt} + {small_data_offset} - 4], {user_code_high}
    mov dword ptr ss:[{gdt} + {small_data_offset}], {user_low}
    mov dword ptr ss:[{gdt} + {small_data_offset} + 4], {user_data_high}
    LOAD_DATA {user_data}, \scratch
.endm

// Makes FS, GS and the first TLS segment descriptor of the alien in ESP, which are loaded, unusable for a server. FS and GS are saved in
// the alien. Destroys EDX.
.macro PUT_AWAY
    mov edx, gs
    shl edx, 16
    .byte 0x66, 0x8c, 0xe2                              // mov dx, fs: the assembler would move 32 bits
    mov [esp + {fs_gs}], edx
    // A load is slow, also that of null, which FS mostly has.
    test dx, dx
    mov edx, 0
    jz 9f
    mov fs, edx
9:
    mov gs, edx
    mov byte ptr ss:[{gdt} + {tls_offset} + {access}], dl
    or byte ptr ss:[{loaded}], {away}
.endm

.section .text.fast, "ax", @progbits

// Ways into a space, for a thread that entered by `sysenter` and continues (`Space::hw`). The thread is in EDX, its space in ECX, the
// thread that stops in ESP. EAX, EBX, ESI, EDI and EBP are results.
//
// To ring 3, by `sysexit`. If both have one space, its tables are loaded. A thread of a small space has neither DS nor ES flat.
.macro ENTER_LARGE
    cmp ecx, [esp + {space}]
    je 4f
    LOAD_TABLES ecx
4:
    // The low byte distinguishes all selectors.
    mov ecx, ds
    cmp cl, {user_data}
    jne 6f
    mov ecx, es
    cmp cl, {user_data}
    jne 6f
5:
    // What is pushed now may destroy a saved selector of the thread that continues: it needs none.
    mov esp, edx
    mov ecx, [esp + {saved_esp}]
    mov edx, [esp + {saved_eip}]
    push 2
    popfd
    sti
    sysexit
6:
    LARGE_SEGMENTS ecx
    jmp 5b
.endm

// To a server, by `iret` from the words in its context. No thread's rarely loaded state is in the processor: the way of an event removes
// an alien's.
.balign 32
.global enter_server
enter_server:
    mov esp, [esp + {space}]
    cmp esp, ecx
    je 1f
    mov esp, [esp + {home}]
    cmp ecx, [esp + {server}]
    jne 7f
    mov ss:[{directory_of}], esp
1:
    mov ecx, ds
    cmp cl, {user_data}
    jne 8f
    mov ecx, es
    cmp cl, {user_data}
    jne 8f
2:
    lea esp, [edx - 20]
    xor edx, edx
.global server_iret
server_iret:
    iretd
7:
    mov ss:[{directory_of}], ecx
    LOAD_TABLES ecx
    jmp 1b
8:
    LARGE_SEGMENTS ecx
    jmp 2b
.global enter_server_end
enter_server_end:

// To a small space, by `iret`. If a space of the same home runs, only the segments of ring 3 have to be changed: a test whether that is
// the same space would cost the others a cache line. If a space has become small, its waiting threads have the selectors of a large one
// in their context: one byte distinguishes all selectors.
.balign 32
.global enter_small
enter_small:
    mov esp, ss:[ecx + {directory}]
    cmp esp, ss:[{small_home}]
    jne 3f
1:
    SMALL_SEGMENTS ecx
    LOAD_DATA {small_data}, ecx
    mov ss:[edx - 4], ecx
    mov byte ptr ss:[edx - 16], {small_code}
    lea esp, [edx - 20]
    xor edx, edx
.global small_iret
small_iret:
    iretd
3:
    USER_SEGMENTS 0, 0, esp
    mov cr3, esp
    jmp 1b

// The way of an event into the space of a small handler: the alien's state must not be in the processor while that runs. The
// results go to the handler's context.
.global event_small
event_small:
    mov ss:[ecx + {saved_eax}], eax
    mov ss:[ecx + {saved_ebx}], ebx
    mov ss:[ecx + {saved_esi}], esi
    mov ss:[ecx + {saved_edi}], edi
    mov ss:[ecx + {saved_ebp}], ebp
    mov dword ptr ss:[ecx + {saved_ds}], {user_data}
    mov dword ptr ss:[ecx + {saved_es}], {user_data}
    mov eax, [esp + {space}]
    jmp leave_kernel_with_care
.global event_small_end
event_small_end:
