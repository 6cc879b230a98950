// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of mapping: `map`, `map_run`, and a pager's answer to a page fault, `map_reply_wait`, to a thread that waits for the end
// of its exception; each with one record that maps RAM.
//
// They do what `map.rs` of the portable kernel does where no table has to be made. Then they do what `ipc.S` does for a reply, or
// `alien.S` for `run`. In every other case they go to `slow`.
//
// T6 to T10 are those of `ipc.S`, R2 to R5 those of `alien.S`.
//
//  M | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words, capabilities or flags; one record, of whole pages    | `map_reply_wait`,
//    |                                                                | `map_run`, `map_batch`
//  2 | the memory's selector is below the table's size                | `record_memory`
//  3 | to map, with rights, all of which the capability has           | `request`
//  4 | RAM that does not die, and the pages lie in it                 | `request`
//  5 | the space's selector names a Space or a Segment with the right | `request`, `spread`
//    | to control it, which does not die, nor changes in its copies   |
//  6 | the addresses are below the UTCBs, and have a table of their   | `request`, `own_table`
//    | own, the same                                                  |
//  7 | which has mapped this Memory before: so it is one              | `note_use`
//  8 | no coarse table has a copy                                     | `shadow.rs`
//  9 | nothing is mapped there; or it is one page, which is at one    | `write_leaves`
//    | address of the caches in all spaces that have it               |
//
// Where nothing is mapped, neither cache nor TLB has anything for the address. If a page replaces another one, the old lines are dropped
// before, and the old translation after. If the same page gets other rights, dirty lines are written back if it can no longer be written.
// Table entries are written back, because the processor reads them from memory.

.section .text.fast, "ax", %progbits

// From T2 of `reply_wait`.
map_reply:
    teq r0, #{op_map_reply_wait}                        // M1
    bne map_run
    MAY_REPLY {gate_exception}
    add r10, sp, #{r0}
    stmia r10, {{r0-r9}}
    mov r5, #{page}

// Carries out the record whose words are in r2 to r5; then the thread in r12 continues, by the tag in r0, or for `map` the same thread.
// All registers of the user are saved.
map_pages:
    ldr r10, [sp, #{space}]
    ldr r6, [sp, #{cap_limit}]
    mov r7, r2, lsr #16
    cmp r7, r6                                          // M2
    bhs saved
    add r7, r10, r7, lsl #{slot_shift}
    ldr r7, [r7, #{slots}]
    mov r9, r3, lsl #20
    movs r9, r9, lsr #20                                // M3
    beq saved
    and r8, r7, #{rwx}
    bics r8, r9, r8                                     // M3
    bne uncached_page
14:
    bic r7, r7, #{rights}
    ldr r8, [r7, #{memory_class}]
    ldr r9, [r7, #{memory_dying}]
    ldr r11, [r7, #{memory_bytes}]
    orrs r8, r8, r9                                     // M4
    bne saved
    ldr r8, [r7, #{memory_base}]
    subs r11, r11, r4                                   // M4
    blo saved
    cmp r5, r11                                         // M4
    bhi saved
    add r4, r4, r8
    orr r8, r4, r5
    movs r8, r8, lsl #20                                // M1, M4
    bne saved
    mov r2, r2, lsl #16
    mov r2, r2, lsr #16
    cmp r2, r6                                          // M5
    bhs saved
    add r2, r10, r2, lsl #{slot_shift}
    add r2, r2, #{slots}
    ldmia r2, {{r2, r8}}
    // The word of kind and badge: neither capability has a badge.
    cmp r8, #{space_kind}                               // M5
    cmpne r8, #{segment_kind}
    bne saved
    tst r2, #{control}                                  // M5
    beq saved
    bic r2, r2, #{rights}
    ldr r10, [r2, #{region_dying}]
    ldr r9, [r2, #{changing}]
    orrs r10, r10, r9                                   // M5
    bne saved
    cmp r3, #{utcbs}                                    // M6
    bhs saved
    ldr r9, [r2, #{region_top}]
    mov r6, r3, lsr #22
    ldr r6, [r9, r6, lsl #2]
    ldr r9, [r2, #{attached}]
    and r10, r6, #{table_kind}
    cmp r10, #{table}                                   // M6
    bne saved
1:
    teq r9, #0                                          // M7
    beq saved
    ldr r10, [r9, #{source}]
    teq r10, r7                                         // M7
    bne 2f
    ldr r10, ={copies}
    ldr r10, [r10]
    teq r10, #0                                         // M8
    bne saved
    LEAF_ENTRY r6, r3, r10, r11
    ldr r11, ={leaf}
    tst r3, #{write}
    orrne r11, r11, #{leaf_write_low}
    orrne r11, r11, #{leaf_write_high}
    tst r3, #{uncached}
    bicne r11, r11, #{cached} | {buffered}
    orr r4, r4, r11
    // From now on r6 is the entry's address, r4 its new value.
    teq r5, #{page}
    bne several
    ldr r10, [r6]
    teq r10, #0                                         // M9
    bne replace
    str r10, [r9, #{cursor}]
    str r4, [r6]
    mcr p15, 0, r6, c7, c10, 1
mapped:
    mcr p15, 0, r6, c7, c10, 4
carried_out:
    teq r0, #{op_map}
    beq 3f
    ldr lr, ={cpu}
    teq r0, #{op_map_run}
    beq resume_alien
    mov r10, #{gate_open}
    mov r11, #{kind_call}
    str r10, [sp, #{gate}]
    str r11, [r12, #{sending}]
    add r10, r12, #{r0}
    ldmia r10, {{r0-r9}}
    b goes_on_by_cpu

// The way down the tree of Memories that the space has mapped, by the bits of addresses.
2:
    ldr r10, [r9, #{bit}]
    tst r7, r10
    ldreq r9, [r9, #{lower}]
    ldrne r9, [r9, #{upper}]
    b 1b

// `map` carried out one record, which is its result.
3:
    add r10, sp, #{r0}
    ldmia r10, {{r0-r9}}
    mov r0, #0
    mov r2, #0
    mov r3, #0
    ldr r10, [sp, #{space}]
    b goes_back

// The capability has all rights if only the flag is left, which is no right.
uncached_page:
    teq r8, #{uncached}                                 // M3
    bne saved
    teq r9, #{uncached}                                 // M3
    beq saved
    b 14b

several:
    movs r5, r5, lsr #12                                // M1
    beq saved
    cmp r5, #{most_pages}
    bhi saved
    add r7, r10, r5
    cmp r7, #{entries}                                  // M6
    bhi saved
    mov r7, r6
    mov r8, r5
4:
    ldr r10, [r7]
    add r7, r7, #4
    teq r10, #0                                         // M9
    bne saved
    subs r8, r8, #1
    bne 4b
    str r10, [r9, #{cursor}]
    bic r7, r6, #{line} - 1
5:
    str r4, [r6]
    add r4, r4, #{page}
    add r6, r6, #4
    subs r5, r5, #1
    bne 5b
6:
    mcr p15, 0, r7, c7, c10, 1
    add r7, r7, #{line}
    cmp r7, r6
    blo 6b
    b mapped

// The page is where the old entry in r10 has one: r3 becomes its address by which caches and TLB know it.
replace:
    mov r3, r3, lsr #12
    mov r3, r3, lsl #12
    cmp r8, #{segment_kind}
    bne 8f
    // A Segment: all spaces that have it attached have the page at one such address.
    ldr r7, [r2, #{uses}]
    teq r7, #0                                          // M9
    beq saved
    mov r5, #0
7:
    ldr r8, [r7, #{place}]
    ldr r2, [r7, #{attached_to}]
    ldr r7, [r7, #{source_next}]
    add r8, r3, r8, lsl #22
    RELOCATE r8, r2, r11
    teq r5, #0
    moveq r5, r8
    teq r5, r8                                          // M9
    bne saved
    teq r7, #0
    bne 7b
    mov r3, r8
    b 9f
8:
    RELOCATE r3, r2, r11
9:
    mov r11, #0
    str r11, [r9, #{cursor}]
    eors r11, r10, r4
    beq carried_out
    bic r11, r11, #{access}
    bics r11, r11, #{buffered}
    add r5, r3, #{page}
    bne 10f
    // The same page. If it could be written, there may be dirty lines; nothing else matters.
    tst r4, #{access_write}
    bne 12f
11:
    mcr p15, 0, r3, c7, c10, 1
    add r3, r3, #{line}
    teq r3, r5
    bne 11b
    b 12f
10:
    mcr p15, 0, r3, c7, c10, 1
    mcr p15, 0, r3, c7, c6, 1
    mcr p15, 0, r3, c7, c5, 1
    add r3, r3, #{line}
    teq r3, r5
    bne 10b
    mcr p15, 0, r3, c7, c5, 6
12:
    // Before the entry changes, all dirty lines are in memory.
    mcr p15, 0, r3, c7, c10, 4
    sub r5, r5, #{page}
    str r4, [r6]
    mcr p15, 0, r6, c7, c10, 1
    mcr p15, 0, r6, c7, c10, 4
    mcr p15, 0, r5, c8, c6, 1
    mcr p15, 0, r5, c8, c5, 1
    b carried_out

// The record is in the UTCB. It is read with all domains open, as the answer to any alien is.
map_run:
    teq r0, #{op_map_run}                               // M1
    bne map
    teq r2, #1                                          // M1
    bne slow
    MAY_RUN
    b 13f
map:
    teq r0, #{op_map}                                   // M1
    bne cache
    teq r1, #1                                          // M1
    bne slow
13:
    add r10, sp, #{r0}
    stmia r10, {{r0-r9}}
    ldr r10, ={all_domains}
    ldr r5, [sp, #{utcb}]
    mcr p15, 0, r10, c3, c0, 0
    ldmia r5, {{r2-r5}}
    b map_pages
    .ltorg
