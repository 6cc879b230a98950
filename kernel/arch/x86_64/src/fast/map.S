// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of a pager's answer to a page fault: `map_reply_wait` of one page of RAM, to a thread that waits for the end of its
// exception; and `map_run` of one such page, for an alien.
//
// They do what `map.rs` of the portable kernel does when nothing has to be made for the page. Then they do what `ipc.S` does for a reply,
// or `alien.S` for `run`. In every other case they go to `slow`.
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
//  7 | the address is a user's and after the UTCBs, and the space has | `request`, `own_table`
//    | a table of its own there, which is not for a server's pages    |
//  8 | in which nothing is mapped there; or it is not this thread's   | `write_leaves`,
//    | space, so it is not entered: it drops what the TLB has of it   | `invalidate`
//    | when it is entered next, or of the page now if that is the     |
//    | alien's (`map_run`)                                            |
//  9 | `map_reply_wait`: the thread goes on at a user's address, and  | `leave`
//    | not step by step                                               |

// The next table on the way to the page in RBP: R15 is a table and becomes it. The bits from `shift` on are its index. Destroys RSI.
.macro DESCEND shift
    mov rsi, rbp
    shr rsi, \shift
    and esi, {table_entries} - 1
    mov r15, [r15 + rsi * 8]
    xor r15, {table}                                    // M7
    test r15d, {table_kind}
    jnz 9f
    and r15, ~{low}
    sub r15d, [{pool} + {pool_offset}]
    movsxd r15, r15d
.endm

// Carries out the record of one page, whose words are in RSI, RDX and R8, of the thread in RSP. Keeps RAX, RBX and RDI, and R9 on. With
// `replaces` a mapping may exist there, and RBX is an alien that continues then. If it goes to 9 it has changed only registers.
.macro MAP_PAGE replaces
    movsxd rbp, dword ptr [rsp + {space}]               // M2
    mov r11d, [rsp + {cap_limit}]
    mov rcx, rsi
    shr rcx, 16
    cmp rcx, r11
    jae 9f
    shl ecx, {slot_shift}
    cmp dword ptr [rbp + rcx + {slots} + 4], {memory}
    jne 9f
    movsxd r15, dword ptr [rbp + rcx + {slots}]
    mov ecx, r15d                                       // M3
    and ecx, {rwx}
    xor ecx, {low}
    test ecx, edx
    jnz 9f
    test edx, {rwx}
    jz 9f
    and r15, ~{rights}
    mov ecx, [r15 + {memory_class}]                     // M4
    or ecx, [r15 + {memory_dying}]
    jnz 9f
    cmp r8, [r15 + {memory_bytes}]
    jae 9f
    test r8d, {low}
    jnz 9f
    add r8, [r15 + {memory_base}]
    movzx ecx, si                                       // M5
    cmp ecx, r11d
    jae 9f
    shl ecx, {slot_shift}
    cmp dword ptr [rbp + rcx + {slots} + 4], {space_kind}
    jne 9f
    movsxd rcx, dword ptr [rbp + rcx + {slots}]
    xor rcx, {control}
    test cl, {rights}
    jnz 9f
    cmp dword ptr [rcx + {space_dying}], 0
    jne 9f
    .if \replaces
    cmp ecx, ebp                                        // M8
    je 9f
    .endif
    movsxd r11, dword ptr [rcx + {attached}]            // M6
2:
    test r11d, r11d
    jz 9f
    cmp [r11 + {source}], r15d
    jne 8f
    mov rbp, rdx                                        // M7
    and rbp, ~{low}
    cmp rbp, [rcx + {region_end}]
    jae 9f
    cmp rbp, [rcx + {area_end}]
    jb 9f
    movsxd r15, dword ptr [rcx + {space_top}]
    DESCEND {top_shift}
    DESCEND {upper_shift}
    DESCEND {directory_shift}
    shr rbp, {leaf_shift}
    and ebp, {table_entries} - 1
    lea r15, [r15 + rbp * 8]
    .if \replaces == 0
    cmp qword ptr [r15], 0                              // M8
    jne 9f
    .endif
    // Nothing can fail any more. The right to write is the bit that allows it.
    mov dword ptr [r11 + {cursor}], 0
    .if \replaces
    mov r11, rdx
    .endif
    mov rsi, {no_execute}
    mov rbp, {most_execute}
    test edx, {execute}
    cmovnz rsi, rbp
    or r8, rsi
    and edx, {write}
    lea r8, [r8 + rdx + {leaf}]
    shl edx, {most_shift}
    or r8, rdx
    .if \replaces
    mov rsi, [r15]
    mov [r15], r8
    test rsi, rsi
    jz 3f
    cmp rsi, r8
    je 3f
    cmp ecx, [rbx + {space}]
    jne 4f
    // The alien's own, which it enters now.
    mov rsi, [rcx + {tables}]
    mov cr3, rsi
    invlpg [r11]
    jmp 3f
4:
    and dword ptr [rcx + {tables} + 4], ~({keep})
3:
    .else
    mov [r15], r8
    .endif
.endm

// After MAP_PAGE: the way down the tree of Memories that the space has mapped, by the bits of addresses.
.macro SEARCH
8:
    test r15d, [r11 + {bit}]
    jnz 7f
    movsxd r11, dword ptr [r11 + {lower}]
    jmp 2b
7:
    movsxd r11, dword ptr [r11 + {upper}]
    jmp 2b
.endm

.section .text.fast, "ax", @progbits

// From T2 of `reply_wait`. RSP is the thread, RAX the tag, XOR that of `reply_wait`.
.balign 32
map_reply:
    cmp rax, {op_reply_wait} ^ {op_map_reply_wait}      // M1
    jne try_notify
    mov ebx, [{pool} + {index_mask}]                    // T7
    and ebx, edi
    shl ebx, {thread_shift}
    add rbx, {threads}
    cmp dword ptr [rbx + {gate}], {gate_exception}      // T8
    jne slow_map_reply
    mov ecx, [rbx + {handle}]                           // T9
    cmp rcx, rdi
    jne slow_map_reply
    cmp [rbx + {partner}], esp
    jne slow_map_reply
    cmp qword ptr [rsp + {signals}], 0                  // T10
    jne slow_map_reply
    AT_LEAST_AS_URGENT slow_map_reply                   // T6
    mov rcx, [rbx + {saved_rip}]                        // M9
    cmp rcx, [user_end]
    jae slow_map_reply
    test dword ptr [rbx + {saved_rflags}], {trap_flag}
    jnz slow_map_reply
    mov [rsp + {saved_rsi}], rsi
    mov [rsp + {saved_rdx}], rdx
    mov [rsp + {saved_r8}], r8
    MAP_PAGE 0
    mov dword ptr [rsp + {gate}], {gate_open}
    mov dword ptr [rbx + {sending}], {kind_call}
    mov dword ptr [rbx + {gate}], {gate_ready}
    mov [{current}], ebx
    movsxd rcx, dword ptr [rbx + {space}]
    cmp ecx, [rsp + {space}]
    je leave_kernel
    mov rcx, [rcx + {tables}]
    mov cr3, rcx
    jmp leave_kernel
    SEARCH
9:
    mov rsi, [rsp + {saved_rsi}]
    mov rdx, [rsp + {saved_rdx}]
    mov r8, [rsp + {saved_r8}]
slow_map_reply:
    xor rax, {op_reply_wait}
    jmp slow

// `map_run`: from `handler_call`. R11 is the thread, RCX the alien whose state is loaded.
.balign 32
map_run:
    cmp rax, {op_map_run}                               // M1
    jne slow_run
    cmp rsi, 1
    jne slow_run
    WAITS rcx, ecx, slow_run, slow_run
    movsxd rbp, dword ptr [rcx + {utcb}]
    cmp qword ptr [rbp + {f_changed}], 0                // R6
    jne slow_run
    mov rbx, [rbp + {f_rip}]
    cmp rbx, [user_end]                               // R7
    jae slow_run
    mov rbx, rcx
    mov rsp, r11
    mov [rsp + {saved_rdx}], rdx
    mov [rsp + {saved_r8}], r8
    movsxd rcx, dword ptr [rsp + {utcb}]
    mov rsi, [rcx]
    mov rdx, [rcx + 8]
    mov r8, [rcx + 16]
    cmp qword ptr [rcx + 24], {page}                    // M1
    jne 9f
    MAP_PAGE 1
    mov r11, rsp
    mov rcx, rbx
    movsxd rsp, dword ptr [rcx + {utcb}]
    mov rbx, [rsp + {f_rip}]
    test byte ptr [{loaded}], {loaded_fpu}
    jnz resume_with_fpu
    jmp resume
    SEARCH
9:
    mov esi, 1
    mov rdx, [rsp + {saved_rdx}]
    mov r8, [rsp + {saved_r8}]
    mov r11, rsp
    jmp slow_run
.global map_end
map_end:
.text
