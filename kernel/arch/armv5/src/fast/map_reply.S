// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of a pager's answer to a page fault: `map_reply_wait` of one page of RAM, to a thread that waits for the end of its
// exception; and `map_run` of one such page, for an alien.
//
// They do what `map.rs` of the portable kernel does when nothing has to be made or flushed for the page. Then they do what `ipc.S` does
// for a reply, or `alien.S` for `run`. On any doubt they go to `slow`.
//
// T6 to T10 are those of `ipc.S`, R2 to R5 those of `alien.S`.
//
//  M | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words, capabilities or flags; one record, of one page       | `map_reply_wait`,
//    |                                                                | `map_run`
//  2 | the memory's selector is below the table's size                | `record_memory`
//  3 | to map, with rights, all of which the capability has, cached   | `request`
//  4 | RAM that does not die, and the page lies in it                 | `request`
//  5 | the space's selector names a Space or a Segment with the right | `request`, `spread`
//    | to control it, which does not die, nor changes in its copies   |
//  6 | the address is below the UTCBs, and it has a table of its own  | `request`, `own_table`
//    | there                                                          |
//  7 | and has mapped this Memory before: so it is one                | `note_use`
//  8 | and nothing is mapped there                                    | `write_leaves`
//  9 | no coarse table has a copy                                     | `shadow.rs`
//
// M8 has the consequence that neither cache nor TLB has anything of the page by that address. The entry is written back, as the
// processor reads it from memory.

.section .text.fast, "ax", %progbits

// From T2 of `reply_wait`.
map_reply:
    teq r0, #{op_map_reply_wait}                        // M1
    bne map_run
    MAY_REPLY {gate_exception}
    add r10, sp, #{r0}
    stmia r10, {{r0-r9}}

// Carries out the record of one page, whose words are in r2, r3 and r4; then the thread in r12 goes on, as the tag in r0 says. All
// registers of the user are saved, and LR is `Cpu`.
map_page:
    ldr r5, [sp, #{space}]
    ldr r6, [sp, #{cap_limit}]
    mov r7, r2, lsr #16
    cmp r7, r6                                          // M2
    bhs saved
    add r7, r5, r7, lsl #{slot_shift}
    ldr r7, [r7, #{slots}]
    mov r9, r3, lsl #20
    movs r9, r9, lsr #20                                // M3
    beq saved
    and r8, r7, #{rwx}
    bics r8, r9, r8                                     // M3
    bne saved
    bic r7, r7, #{rights}
    ldr r8, [r7, #{memory_class}]
    ldr r9, [r7, #{memory_dying}]
    ldr r10, [r7, #{memory_bytes}]
    orrs r8, r8, r9                                     // M4
    bne saved
    cmp r4, r10                                         // M4
    bhs saved
    ldr r8, [r7, #{memory_base}]
    mov r2, r2, lsl #16
    add r4, r4, r8
    movs r8, r4, lsl #20                                // M4
    bne saved
    mov r2, r2, lsr #16
    cmp r2, r6                                          // M5
    bhs saved
    add r2, r5, r2, lsl #{slot_shift}
    add r2, r2, #{slots}
    ldmia r2, {{r2, r8}}
    // The word of kind and badge: neither has a badge.
    cmp r8, #{space_kind}                               // M5
    cmpne r8, #{segment_kind}
    bne saved
    tst r2, #{control}                                  // M5
    beq saved
    bic r2, r2, #{rights}
    ldr r8, [r2, #{region_dying}]
    ldr r9, [r2, #{changing}]
    orrs r8, r8, r9                                     // M5
    bne saved
    cmp r3, #{utcbs}                                    // M6
    bhs saved
    ldr r9, [r2, #{region_top}]
    mov r8, r3, lsr #22
    ldr r8, [r9, r8, lsl #2]
    ldr r9, [r2, #{attached}]
    and r10, r8, #{table_kind}
    cmp r10, #{table}                                   // M6
    bne saved
1:
    teq r9, #0                                          // M7
    beq saved
    ldr r10, [r9, #{source}]
    teq r10, r7                                         // M7
    bne 2f
    // The index of the entry in a table of 1,024.
    mov r10, r3, lsl #10
    mov r8, r8, lsr #12
    ldr r11, ={pool_offset}
    mov r10, r10, lsr #22
    ldr r11, [r11]
    orr r8, r10, r8, lsl #10
    rsb r8, r11, r8, lsl #2
    ldr r10, [r8]
    ldr r11, ={copies}
    ldr r11, [r11]
    orrs r10, r10, r11                                  // M8, M9
    bne saved
    // Nothing can fail any more.
    str r10, [r9, #{cursor}]
    ldr r11, ={leaf}
    tst r3, #{write}
    orrne r11, r11, #{leaf_write_low}
    orrne r11, r11, #{leaf_write_high}
    orr r4, r4, r11
    str r4, [r8]
    mcr p15, 0, r8, c7, c10, 1
    mcr p15, 0, r8, c7, c10, 4
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

// The record is in the UTCB. It is read with all domains open, as the answer to any alien is.
map_run:
    teq r0, #{op_map_run}                               // M1
    bne slow
    teq r2, #1                                          // M1
    bne slow
    MAY_RUN
    add r10, sp, #{r0}
    stmia r10, {{r0-r9}}
    ldr r10, ={all_domains}
    ldr r5, [sp, #{utcb}]
    mcr p15, 0, r10, c3, c0, 0
    ldmia r5, {{r2-r5}}
    teq r5, #{page}                                     // M1
    bne saved
    b map_page
    .ltorg
