// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Alternatives that boot words select (docs/powerpc.md, *Boot words*). Nothing here is executed unless boot replaces an instruction by a
// jump to it: without these words the kernel executes no additional instruction. The tables at the end list the places.

// `hash=search`: a 603 that misses searches the hashed table, as the processors do that have hardware for it (*PowerPC 603e User's Manual*,
// section 5.5.2): of both groups one place after the other. It has the groups and the first word of the entry in registers. If the table
// does not have the entry, `hash.S` inserts it, and the access misses once more.
.macro SEARCH name, address, compare, load
\name\()_searched:
    mfspr 2, 978
    mfspr 3, \compare
    subi 2, 2, 8
    .rept 8
    lwzu 1, 8(2)
    cmpw 1, 3
    beq- \name\()_hit
    .endr
    mfspr 2, 979
    ori 3, 3, {second}
    subi 2, 2, 8
    .rept 8
    lwzu 1, 8(2)
    cmpw 1, 3
    beq- \name\()_hit
    .endr
    mfspr 3, \address
    LEAVE_MISS \name
    .ifc \name, fetch_missed
    // By this `insert` tells a fetch.
    mfspr 26, 27
    oris 26, 26, {not_found}
    mtspr 27, 26
    .endif
    b insert
\name\()_hit:
    lwz 1, 4(2)
    mfspr 3, \address
    mtspr 982, 1
    \load 3
    mfspr 2, 27
    mtcrf 0x80, 2
    rlwinm 2, 2, 0, 16, 31
    mtspr 27, 2
    rfi
.endm

// `tables=uncached`: the same as a 603's miss, but the tables are read without the cache: through a BAT that maps all RAM like that, with
// translation of data enabled meanwhile.
.macro MISS_UNCACHED name, address
\name\()_uncached:
    mfmsr 1
    ori 1, 1, {data_translated}
    mtmsr 1
    isync
    mfspr 3, \address
    mfspr 1, 272
    rlwimi 1, 3, 12, 20, 29
    oris 1, 1, {uncached}
    lwz 1, 0(1)
    andi. 2, 1, {present} | {server} | {large} | {read_only}
    cmpwi 2, {present} | {read_write}
    bne- \name\()_translated
    rlwimi 1, 3, 22, 20, 29
    oris 1, 1, {uncached}
    lwz 1, -{read_write}(1)
    mfmsr 2
    xori 2, 2, {data_translated}
    mtmsr 2
    isync
    b \name\()_found
\name\()_translated:
    mfmsr 2
    xori 2, 2, {data_translated}
    mtmsr 2
    isync
    b \name\()_rare
.endm

// The machine model recognises handlers of misses by their addresses (`model/core/src/powerpc/counter.rs`).
.section .vectors, "ax"
    .org {handlers}
    SEARCH fetch_missed, 980, 981, tlbli
    SEARCH load_missed, 976, 977, tlbld
    SEARCH store_missed, 976, 977, tlbld
    MISS_UNCACHED fetch_missed, 980
    MISS_UNCACHED load_missed, 976
    MISS_UNCACHED store_missed, 976
    .org {handlers_end}

.section .text.words, "ax"

// The same where an entry is inserted into the hashed table. The table itself stays cached: the processor searches it through its cache.
insert_uncached:
    mfmsr 26
    ori 26, 26, {data_translated}
    mtmsr 26
    isync
    mfspr 28, 272
    rlwimi 28, 27, 12, 20, 29
    oris 28, 28, {uncached}
    lwz 28, 0(28)
    andi. 29, 28, {present} | {large} | {server} | {read_only}
    cmpwi 29, {present} | {read_write}
    bne- insert_translated
    rlwimi 28, 27, 22, 20, 29
    oris 28, 28, {uncached}
    lwz 28, -{read_write}(28)
    xori 26, 26, {data_translated}
    mtmsr 26
    isync
    b insert_found
insert_translated:
    xori 26, 26, {data_translated}
    mtmsr 26
    isync
    b insert_failed

// `preload=on`: lines are prefetched. On the way out: those of the registers of the thread that runs next.
leave_preloading:
    lis 3, {cpu}@ha
    addi 3, 3, {cpu}@l
    lwz 31, {current}(3)
    addi 4, 31, {context}
    .rept 6
    dcbt 0, 4
    addi 4, 4, {line}
    .endr
    b leave_kernel + 12

// At the entry: those of the Thread, while its registers are saved, and of the hot words.
enter_preloading:
    lis 29, {cpu}@ha
    addi 29, 29, {cpu}@l
    dcbt 0, 31
    dcbt 0, 29
    addi 29, 31, {line}
    dcbt 0, 29
    mfspr 0, 274
    b enter + 4

// `server-bat`: when a fast path opens a server's window, a BAT of code and one of data also map a block of its memory; when it closes the
// window, they map nothing. The way to user mode orders accesses.
.macro OPEN_BLOCK name
\name\()_shows:
    lwz 5, {block}@l(0)
    mtspr 534, 5
    mtspr 542, 5
    lwz 5, {shown}@l + {shown_vsids}(0)
    b \name\()_opens + 4
.endm
    OPEN_BLOCK alien_called
    OPEN_BLOCK alien_failed
resume_hiding:
    li 16, 0
    mtspr 534, 16
    mtspr 542, 16
    lis 16, {shut}
    b resume_by_window + 4

// For each word, the instructions that it replaces, and the targets of the jumps.
.section .rodata.words, "a"
.balign 4
.global search_jumps
search_jumps:
    .long 0x1000, fetch_missed_searched, 0x1100, load_missed_searched, 0x1200, store_missed_searched, 0
.global uncached_jumps
uncached_jumps:
    .long 0x1000, fetch_missed_uncached, 0x1100, load_missed_uncached, 0x1200, store_missed_uncached, 0
// The fast path that maps a page writes the page's entry through the cache.
.global uncached_insert_jumps
uncached_insert_jumps:
    .long insert, insert_uncached, map_page, slow, 0
.global preload_jumps
preload_jumps:
    .long leave_kernel, leave_preloading, enter, enter_preloading, 0
.global block_jumps
block_jumps:
    .long alien_called_opens, alien_called_shows, alien_failed_opens, alien_failed_shows, resume_by_window, resume_hiding, 0
.global slow_jumps
slow_jumps:
    .long data_missed, data_slow, fetch_missed_here, fetch_slow, 0
.text
