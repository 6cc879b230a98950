// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast paths of mapping: of `map`; and of answers to a page fault, `map_reply_wait`, to a thread that waits for the end of its
// exception, and `map_run`, to an alien; each with one record that maps RAM where nothing is.
//
// They do what `map.rs` of the portable kernel does where no table has to be made and nothing is lost. Then they do what `ipc.S` does for
// a reply, or `alien.S` for `run`. In every other case they go to `slow`.
//
// T6 to T11 are those of `ipc.S`, R2 to R7 those of `alien.S`.
//
//  M | test                                                           | portable form
// ---|----------------------------------------------------------------|------------------------
//  1 | no words, capabilities or flags; one record, of whole pages    | `map_reply_wait`,
//    |                                                                | `map_run`, `map_batch`
//  2 | the memory's selector is below the table's size                | `record_memory`
//  3 | to map, with rights, all of which the capability has, cached   | `request`
//  4 | RAM that does not die, and the pages lie in it                 | `request`
//  5 | the space's selector names a Space with the right to control   | `request`, `spread`
//    | it, which does not die, nor changes in its copies              |
//  6 | the addresses are not in the kernel's part of the space, which | `request`, `own_table`
//    | has a table of its own there, the same, that is no server's    |
//  7 | which has mapped this Memory before: so it is one              | `note_use`
//  8 | nothing is mapped there                                        | `write_leaves`
//
// Where nothing is mapped neither the TLB nor the hashed table has anything. They get the entry by the next miss.
//
// r12 is the size of the table of capabilities, the record is in r27 to r29 and r16. CR2 says whether it is no answer to a native, CR3
// then whether it is `map`, CR4 whether it is one page; CR5 whether the processor has the tables of the thread that continues; if it has
// not, CR7 says for `map_run` whether both spaces show the same server.

.section .text.fast, "ax"

// From R1 of `run`: the thread is in r11, its space in r18, the mask of handles in r17.
map_run:
    cmplwi 2, 3, {op_map_run}                           // M1
    cmplwi 5, 1                                         // M1
    bne- 2, map_reply
    bne- slow
    MAY_RUN
    lwz 30, {utcb}(11)
    lwz 22, {shown}@l + {shown_tables}(0)
    lwz 16, 3 * 4(30)
    cmplw 5, 22, 19                                     // R7
    cmplwi 3, 3, 0
    cmplwi 4, 16, {page}
    beq 5, run_by_window
    lwz 22, {cpu}@l + {port}(0)
    lwz 23, {simple}(19)
    lwz 24, {shown}@l + {shown_token}(0)
    cmplw 1, 22, 23                                     // R7
    cmplw 7, 24, 23
    bne- 1, map_run_by_another_window
run_by_window:
    lwz 27, 0(30)
    lwz 28, 4(30)
    lwz 29, 2 * 4(30)
    b map_page

map_run_by_another_window:
    lwz 22, {shown}@l + {shown_server}(0)
    lwz 23, {server_shown}(19)
    bne- 7, slow                                        // R7
    cmplw 1, 22, 23                                     // R7
    bne- 1, slow
    b run_by_window

map_reply:
    cmplwi 3, {op_map_reply_wait}                       // M1
    bne- map
    MAY_REPLY {gate_exception}
    MAY_SWITCH
    li 16, {page}
    mr 27, 5
    mr 28, 6
    mr 29, 7

map_page:
    srwi 22, 27, 16
    rlwinm. 24, 28, 0, 20, 31                           // M3
    cmplw 1, 22, 12                                     // M2
    slwi 22, 22, {slot_shift}
    beq- slow
    add 22, 22, 18
    bge- 1, slow
    lwz 22, {slots}(22)
    rlwinm 27, 27, 0, 16, 31
    andi. 25, 22, {rwx}
    andc. 25, 24, 25                                    // M3
    cmplw 1, 27, 12                                     // M5
    rlwinm 22, 22, 0, 0, 31 - {rights_bits}
    bne- slow
    bge- 1, slow
    lwz 23, {memory_class}(22)
    lwz 25, {memory_dying}(22)
    lwz 26, {memory_bytes}(22)
    lwz 30, {memory_base}(22)
    slwi 27, 27, {slot_shift}
    or. 23, 23, 25                                      // M4
    cmplw 1, 29, 26                                     // M4
    add 29, 29, 30
    add 27, 27, 18
    bne- slow
    bge- 1, slow
    or 30, 29, 16
    rlwinm. 30, 30, 0, 20, 31                           // M1, M4
    lwz 30, {slots}(27)
    lwz 31, {slots} + 4(27)
    bne- slow
    // Neither kind has a badge.
    cmpwi 1, 31, {space_kind}                           // M5
    andi. 31, 30, {control}                             // M5
    rlwinm 30, 30, 0, 0, 31 - {rights_bits}
    bne- 1, slow
    beq- slow
    lwz 31, {region_dying}(30)
    lwz 23, {changing}(30)
    lwz 25, {area_start}(30)
    lwz 26, {area_end}(30)
    or. 31, 31, 23                                      // M5
    rlwinm 23, 28, 0, 0, 19
    subf 23, 25, 23
    subf 26, 25, 26
    bne- slow
    cmplw 23, 26                                        // M6
    lwz 23, {region_top}(30)
    rlwimi 23, 28, 12, 20, 29
    blt- slow
    lwz 23, 0(23)
    lwz 31, {attached}(30)
    andi. 25, 23, {present} | {large} | {server} | {shared} | {read_only}
    cmpwi 25, {present} | {read_write}                  // M6
    rlwimi 23, 28, 22, 20, 29
    bne- slow
    beq 2, how_many
one_page:
    lwz 25, -{read_write}(23)
    cmpwi 25, 0                                         // M8
    bne- slow
// The way down the tree of Memories that the space has mapped, by the bits of addresses.
search:
    cmpwi 31, 0                                         // M7
    beq- slow
    lwz 25, {source}(31)
    lwz 26, {bit}(31)
    cmplw 25, 22                                        // M7
    beq found
    and. 26, 26, 22
    beq below
    lwz 31, {upper}(31)
    b search
below:
    lwz 31, {lower}(31)
    b search

// Nothing can fail any more.
found:
    li 25, 0
    stw 25, {cursor}(31)
    rlwinm 26, 24, {write_to_no_write}, {no_write_bit}, {no_write_bit}
    rlwimi 26, 24, {write_to_most}, {most_bit}, {most_bit}
    ori 29, 29, {leaf}
    xor 29, 29, 26
    stw 29, -{read_write}(23)
    beq 2, ran
    li 26, {gate_open}
    li 25, {kind_call}
    stw 26, {gate}(11)
    stw 25, {sending}(20)
    SAVE_CALLER
    RUN 20, 26
    mr 31, 20
    beq+ 5, leave_to
    LOAD_SPACE 19, 16, 17, 22
    b leave_to

ran:
    bne- 4, fill
mapped:
    beq 3, map_ends
    beq+ 5, resume_by_window
    beq 7, resume_by_another_window
    b resume_elsewhere

// For `map` the record is in the UTCB, too.
map:
    xoris 22, 3, {op_map_high}
    cmplwi 3, 22, {op_map_low}                          // M1
    cmplwi 1, 4, 1                                      // M1
    bne- 3, try_notify
    bne- 1, slow
    cmplw 2, 4, 4
    lwz 30, {utcb}(11)
    lwz 16, 3 * 4(30)
    lwz 27, 0(30)
    cmplwi 4, 16, {page}
    lwz 28, 4(30)
    lwz 29, 2 * 4(30)
    b map_page

// One record was carried out.
map_ends:
    li 3, 0
    li 4, 1
    li 5, 0
    li 6, 0
    b to_self

how_many:
    beq 4, one_page
    // r16 becomes the bytes of the entries.
    lwz 25, {memory_base}(22)
    lwz 26, {memory_bytes}(22)
    subf 25, 25, 29
    subf 26, 25, 26
    cmplw 16, 26                                        // M4
    lwz 25, {area_start}(30)
    rlwinm 26, 28, 0, 0, 19
    subf 25, 26, 25
    cmplw 1, 25, 16                                     // M6
    bgt- slow
    blt- 1, slow
    srwi 16, 16, 10
    cmplwi 16, {most_pages} * 4
    rlwinm 25, 28, 22, 20, 29
    bgt- slow
    add 25, 25, 16
    cmpwi 16, 0                                         // M1
    cmplwi 1, 25, {entries} * 4                         // M6
    beq- slow
    bgt- 1, slow
    addi 27, 23, -{read_write}
    add 26, 27, 16
is_empty:
    lwz 25, 0(27)
    addi 27, 27, 4
    cmpwi 25, 0                                         // M8
    cmplw 1, 27, 26
    bne- slow
    bne 1, is_empty
    b search

// The other pages.
fill:
    addi 23, 23, -{read_write}
    add 16, 16, 23
fill_next:
    addi 23, 23, 4
    addi 29, 29, {page}
    stw 29, 0(23)
    addi 26, 23, 4
    cmplw 1, 26, 16
    bne 1, fill_next
    b mapped
.text
