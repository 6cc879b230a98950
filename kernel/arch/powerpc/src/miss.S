// SPDX-License-Identifier: MIT OR Apache-2.0
// The 603's TLB misses: software walks the tables of the space that runs, whose directory is in SPRG0. r0 to r3 are not the program's,
// and the upper bits of SRR1 have CR0 (*PowerPC 603e User's Manual*, section 5.5.2).

.macro MISS address, load, fail
    mfspr 3, \address
    mfspr 1, 272
    rlwimi 1, 3, 12, 20, 29
    lwz 1, 0(1)
    andi. 2, 1, {present} | {server} | {large} | {read_only}
    cmpwi 2, {present} | {read_write}
    bne- \fail\()_rare
\fail\()_goes_on:
    rlwimi 1, 3, 22, 20, 29
    lwz 1, -{read_write}(1)
\fail\()_found:
    andi. 2, 1, {present}
    beq- \fail\()_nothing
    mtspr 982, 1
    \load 3
    mfspr 2, 27
    mtcrf 0x80, 2
    .ifc \fail, store_missed
    // QEMU takes the bit that means "store" for the one that reverses the order of bytes.
    rlwinm 2, 2, 0, 16, 31
    mtspr 27, 2
    .endif
    rfi
.endm

// The TLB cannot be filled: reports that as a processor that searches a hashed table would, with the registers that `hash.S` uses.
.macro LEAVE_MISS name
    .ifc \name, load_missed
    lis 1, 0x4000
    mtspr 18, 1
    mtspr 19, 3
    .endif
    .ifc \name, store_missed
    lis 1, 0x4200
    mtspr 18, 1
    mtspr 19, 3
    .endif
    mfspr 2, 27
    mtcrf 0x80, 2
    rlwinm 2, 2, 0, 16, 31
    mtspr 27, 2
    // r0 to r3 are the program's again.
    mfmsr 1
    xoris 1, 1, {shadow}
    mtmsr 1
    isync
    stmw 25, {reload}@l(0)
    mfcr 25
    .ifc \name, fetch_missed
    mfspr 27, 26
    .else
    mfspr 27, 19
    .endif
.endm

// Unusual cases: an entry of a server's window, which is valid while the window is open; a table whose pages can only be read, whatever
// their entries say; a large page, of which the TLB gets the 4 KiB at the address; or no usable entry, which becomes a page fault as on
// the processors that search a hashed table. The directory's entry is in r1.
.macro MISSED name, load, fail
\name\()_rare:
    andi. 2, 1, {server}
    beq+ \name\()_any
    // The tables are searched by address, whatever the segment register has.
    mfsrin 2, 3
    andis. 2, 2, {shut}
    bne- \name
\name\()_any:
    andi. 2, 1, {present} | {large} | {read_only}
    cmpwi 2, {present} | {read_write}
    beq+ \name\()_goes_on
    cmpwi 2, {present} | {read_only}
    bne- \name\()_large
    // If the key already forbids this space to write, spaces that may write share the same entry.
    rlwimi 1, 3, 22, 20, 29
    lwz 1, -{read_only}(1)
    mfsrin 2, 3
    andis. 2, 2, {key}
    bne- \name\()_found
    ori 1, 1, {no_write}
    b \name\()_found
\name\()_large:
    andi. 2, 1, {present} | {large}
    cmpwi 2, {present} | {large}
    bne- \name
    rlwimi 1, 3, 0, 10, 19
    rlwinm 1, 1, 0, {below_server}, {above_server}
    mtspr 982, 1
    \load 3
    mfspr 2, 27
    mtcrf 0x80, 2
    rlwinm 2, 2, 0, 16, 31
    mtspr 27, 2
    rfi
\name:
    LEAVE_MISS \name
    b \fail\()_failed
\name\()_nothing:
    LEAVE_MISS \name
    b \fail\()_absent
.endm
