// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of a pager's answer to a page fault: `map_reply_wait` of one page of RAM, to a thread
// that waits for the end of its exception; and `map_run` of one such page, for an alien.
//
// They do what `map.rs` of the portable kernel does when nothing has to be made or flushed for the page. Then they do what
// `ipc.S` does for a reply, or `alien.S` for `run`. In every other case they go to `slow`.
//
// T1 and T6 to T10 are those of `ipc.S`, R2 to R8 those of `alien.S`.
//
//  M | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words, capabilities or flags; one record, of one page       | `map_reply_wait`,
//    |                                                                | `map_run`
//  2 | the memory's selector names a Memory                           | `record_memory`
//  3 | to map, with rights, all of which the capability has, cached   | `request`
//  4 | RAM that does not die, and the page lies in it                 | `request`
//  5 | the space's selector names a Space with the right to control   | `request`
//    | it, which does not die                                         |
//  6 | that has mapped this Memory before                             | `note_use`
//  7 | the address is not among the UTCBs, and the space has a table  | `request`, `own_table`
//    | of its own there, which is not for a server's pages            |
//  8 | in which nothing is mapped there; or it is not this thread's   | `write_leaves`,
//    | space, so the TLB has its translations only if the thread is a | `invalidate`
//    | server that it shows, or its home does: they are dropped       |
//    | (`map_run`); of a small space, if it is the alien's            |
//
// M7 refuses the kernel's part of a space, too: no user may use an upper-level entry there.

.section .text.fast, "ax", @progbits

// Carries out the record of one page, whose words are in ESI, EDI and EBP. Keeps EBX and EDX. With
// `replaces` a mapping may stand there; with `away` the space may be the small one of the alien in EDX. Where it goes to 9 it
// has changed nothing but registers.
.macro MAP_PAGE replaces, away
    // M2. The second word of a slot is its kind and a badge, which no Memory and no Space has.
    mov ecx, esi
    shr ecx, 16
    cmp ecx, [esp + {cap_limit}]
    jae 9f
    shl ecx, 4
    add ecx, [esp + {space}]
    cmp dword ptr ss:[ecx + {slots} + 4], {memory}
    jne 9f
    mov eax, ss:[ecx + {slots}]
    mov ecx, eax                                        // M3
    and ecx, {rwx}
    xor ecx, {low}
    test ecx, edi
    jnz 9f
    test edi, {rwx}
    jz 9f
    and eax, ~{rights}
    mov ecx, ss:[eax + {memory_class}]                  // M4
    or ecx, ss:[eax + {memory_dying}]
    jnz 9f
    cmp ebp, ss:[eax + {memory_bytes}]
    jae 9f
    add ebp, ss:[eax + {memory_base}]
    test ebp, {low}
    jnz 9f
    movzx esi, si                                       // M5
    cmp esi, [esp + {cap_limit}]
    jae 9f
    shl esi, 4
    add esi, [esp + {space}]
    cmp dword ptr ss:[esi + {slots} + 4], {space_kind}
    jne 9f
    mov esi, ss:[esi + {slots}]
    xor esi, {control}
    test esi, {rights}
    jnz 9f
    cmp dword ptr ss:[esi + {space_dying}], 0
    jne 9f
    .if \replaces
    cmp esi, [esp + {space}]                            // M8
    je 9f
    cmp dword ptr ss:[esi + {region_low}], 0
    .if \away
    jne 6f
10:
    .else
    jne 9f
    .endif
    .endif
    mov ecx, ss:[esi + {attached}]                      // M6
2:
    test ecx, ecx
    jz 9f
    cmp ss:[ecx + {source}], eax
    jne 8f
    mov eax, edi                                        // M7
    shr eax, 22
    cmp eax, ss:[esi + {area}]
    je 9f
    mov esi, ss:[esi + {space_top}]
    mov esi, ss:[esi + eax*4]
    xor esi, {table}
    test esi, {table_kind}
    jnz 9f
    mov eax, edi                                        // M8
    shr eax, 10
    and eax, {low} & ~3
    and esi, ~{low}
    add esi, eax
    sub esi, ss:[{pool} + {pool_offset}]
    .if \replaces == 0
    cmp dword ptr ss:[esi], 0
    jne 9f
    .endif
    // Nothing can fail any more. The right to write is the bit that allows it.
    mov dword ptr ss:[ecx + {cursor}], 0
    .if \replaces
    mov eax, edi
    .endif
    and edi, {write}
    lea ebp, [ebp + edi + {leaf}]
    shl edi, {most_shift}
    or ebp, edi
    .if \replaces
    cmp dword ptr ss:[esi], 0
    mov ss:[esi], ebp
    je 3f
    invlpg ss:[eax]
    .if \away
    mov ecx, ss:[edx + {space}]
    cmp dword ptr ss:[ecx + {region_low}], 0
    je 3f
    BASE_OF_REGION ecx
    add eax, ecx
    invlpg ss:[eax]
    .endif
3:
    .else
    mov ss:[esi], ebp
    .endif
.endm

// After MAP_PAGE: the way down the tree of Memories that the space has mapped, by the bits of addresses.
.macro SEARCH
8:
    test eax, ss:[ecx + {bit}]
    jnz 7f
    mov ecx, ss:[ecx + {lower}]
    jmp 2b
7:
    mov ecx, ss:[ecx + {upper}]
    jmp 2b
.endm

// From T2 of `reply_wait`. ESP is the thread, EAX the tag, XOR that of `reply_wait`.
.balign 32
.global map_reply
map_reply:
    cmp eax, {op_reply_wait} ^ {op_map_reply_wait}      // M1
    jne no_map_reply
    THREAD_OF_HANDLE edx                                // T7
    cmp dword ptr ss:[edx + {gate}], {gate_exception}   // T8
    jne slow_map_reply
    cmp ebx, ss:[edx + {handle}]                        // T9
    jne slow_map_reply
    cmp ss:[edx + {partner}], esp
    jne slow_map_reply
    mov ecx, [esp + {senders}]                          // T10
    or ecx, [esp + {signals}]
    jnz slow_map_reply
    mov ecx, ss:[{top}]                                 // T6
    cmp ecx, ss:[edx + {priority}]
    ja slow_map_reply
    mov [esp + {scratch_1}], esi
    mov [esp + {scratch_2}], ebp
    MAP_PAGE 0, 0
    jmp resume_exception
    SEARCH
9:
    mov esi, [esp + {scratch_1}]
    mov ebp, [esp + {scratch_2}]
    mov eax, {op_map_reply_wait}
    jmp slow
no_map_reply:
    xor eax, {op_reply_wait}
    jmp try_notify

// The page of an answer to the alien in EDX, whose frame is at EAX; then to `resume`. With `away` the alien's state was removed.
// To 5 with a lost EAX.
.macro ANSWER away, resume
    cmp dword ptr ss:[eax + {f_ds_es}], {flat}          // R7
    jne 5f
    cmp dword ptr ss:[eax + {f_changed}], 0
    je 4f
    cmp dword ptr ss:[eax + {f_changed}], {by_sysexit}
    jne 5f
    test dword ptr ss:[eax + {f_eflags}], {iret_flags}  // R8
    jnz 5f
4:
    mov [esp + {scratch_1}], edi
    mov [esp + {scratch_2}], ebp
    mov ecx, [esp + {utcb}]
    mov esi, ss:[ecx]
    mov edi, ss:[ecx + 4]
    mov ebp, ss:[ecx + 8]
    cmp dword ptr ss:[ecx + 12], {page}                 // M1
    jne 9f
    MAP_PAGE 1, \away
    mov eax, ss:[edx + {utcb}]
    .if \away
    FETCH
    .endif
    jmp \resume
    SEARCH
    .if \away
6:
    cmp esi, ss:[edx + {space}]                         // M8
    je 10b
    .endif
9:
    mov esi, 1
    mov edi, [esp + {scratch_1}]
    mov ebp, [esp + {scratch_2}]
5:
    mov eax, {op_map_run}
    jmp slow
.endm

// `map_run`: from `alien_sysenter`. ESP is the thread, EAX and EBX are as the user had them.
.balign 32
.global map_run
map_run:
    cmp eax, {op_map_run}                               // M1
    jne slow
    cmp esi, 1
    jne slow
    MAY_RUN slow, 5f
    ANSWER 0, resume_alien

// The same by a server: P1 holds.
.balign 32
.global map_run_away
map_run_away:
    cmp eax, {op_map_run}                               // M1
    jne slow
    cmp esi, 1
    jne slow
    mov edx, ss:[{loaded}]
    xor edx, {away}
    WAITS slow
    ANSWER 1, resume_away
.global map_reply_end
map_reply_end:
