// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The 604's misses: its TLB and the hashed table have no entry of a page. If the tables of the space that runs have the page, it gets an
// entry here, with translation off, as `mmu::hash::insert` would insert it. Unusual cases go to the portable kernel, which has the same
// function: a large page, a table of a Segment that is attached read-only, an entry of a server that the space shows. If the page is
// missing or has no rights, `fast/page_fault.S` sends the fault to the thread's handler, as for a page that a 603's tables do not have.
//
// No register is free: r25 to r31 are saved at an address that needs no register. CR is in r25. The table has no entry of the page, because
// the processor would have found it; so no entry has to be changed.
//
// r27: the address; r28: the second word; r30: the first word; r31: the group.

// Writes the entry, and continues where it was missed.
.macro PUT place
    stw 28, \place * 8 + 4(31)
    // The processor is the only one, so it finds both words or none.
    stw 30, \place * 8(31)
    mtcr 25
    lmw 25, {reload}@l(0)
    rfi
.endm

// Into the first of these places that is free.
.macro PLACES group, places:vararg
    .irp n, \places
    lwz 26, \n * 8(31)
    cmpwi 26, 0
    blt- \group\()_\n
    PUT \n
\group\()_\n:
    .endr
.endm

// The vector of data.
.macro DATA_MISSED
    .org 0x300
.global data_missed
data_missed:
    stmw 25, {reload}@l(0)
    mfcr 25
    mfspr 26, 18
    mfspr 27, 19
    andis. 26, 26, {not_found}
    beq- data_failed
insert:
    mfspr 28, 272
    rlwimi 28, 27, 12, 20, 29
    lwz 28, 0(28)
    andi. 29, 28, {present} | {large} | {server} | {read_only}
    cmpwi 29, {present} | {read_write}
    bne- insert_failed
    rlwimi 28, 27, 22, 20, 29
    lwz 28, -{read_write}(28)
insert_found:
    andi. 29, 28, {present}
    beq- page_absent
    mfsrin 29, 27
    rlwinm 30, 27, 10, 26, 31
    rlwinm 31, 27, 20, 16, 31
    rlwimi 30, 29, 7, 1, 24
    xor 31, 31, 29
    oris 30, 30, {valid} >> 16
    // Boot writes the table's address and size into the next two.
.global hash_groups
hash_groups:
    rlwinm 31, 31, 6, 0, 25
    oris 31, 31, 0
    PLACES first, 0
    b other_places
.endm

// The vector of fetches.
.macro FETCH_MISSED
    .org 0x400
.global fetch_missed_here
fetch_missed_here:
    stmw 25, {reload}@l(0)
    mfcr 25
    mfspr 26, 27
    mfspr 27, 26
    andis. 26, 26, {not_found}
    bne+ insert
    b fetch_failed
.endm

// The code that is not at a vector.
.macro REST_OF_MISSES
other_places:
    PLACES first, 1,2,3,4,5,6,7
    lwz 26, {reload}@l + {mask}(0)
    xor 31, 31, 26
    ori 30, 30, {second}
    PLACES second, 0,1,2,3,4,5,6,7
    // The next entry in turn of the first group is replaced.
    lwz 26, {reload}@l + {mask}(0)
    xor 31, 31, 26
    lwz 29, {reload}@l + {evicts}(0)
    lwz 26, {reload}@l + {hand}(0)
    addi 29, 29, 1
    stw 29, {reload}@l + {evicts}(0)
    addi 26, 26, 1
    rlwinm 26, 26, 0, 29, 31
    stw 26, {reload}@l + {hand}(0)
    slwi 26, 26, 3
    add 31, 31, 26
    // The processor never sees one entry's first word with another one's second.
    li 26, 0
    stw 26, 0(31)
    rlwinm 30, 30, 0, 26, 24
    sync
    PUT 0

// Not found, but nothing can be inserted; or another failure. The address is in r27.
insert_failed:
    // Only for a fetch this has the reason.
    mfspr 26, 27
    andis. 26, 26, {not_found}
    beq- data_failed
.global fetch_failed
fetch_failed:
    li 28, {fetch_error}
    b failed
.global data_failed
data_failed:
    mfspr 28, 18
    rlwinm 28, 28, {store_error}, 30, 30
// The error is in r28.
failed:
    mfspr 26, 27
    andi. 26, 26, {user}
    beq- page_slow
    b page_failed

// The space that runs has a table there, but no page.
page_absent:
    mfspr 26, 27
    andis. 26, 26, {not_found}
    beq+ data_absent
.global fetch_absent
fetch_absent:
    li 28, {fetch_error}
    b absent
.global data_absent
data_absent:
    mfspr 28, 18
    rlwinm 28, 28, {store_error}, 30, 30
absent:
    mfspr 29, 27
    mfspr 26, 273
    andi. 29, 29, {user}
    bne+ page_missing
// The portable kernel handles it.
page_slow:
    andi. 28, 28, {fetch_error}
    bne- fetch_goes_on
    mtcr 25
    lmw 25, {reload}@l(0)
.global data_slow
data_slow:
    SAVE_ALL {data}
fetch_goes_on:
    mtcr 25
    lmw 25, {reload}@l(0)
.global fetch_slow
fetch_slow:
    SAVE_ALL {fetch}
.endm
