// SPDX-License-Identifier: MIT OR Apache-2.0
// What the compiler calls to fill and copy memory, by words, and by lines where it clears. Clearing a page is most of what a new translation
// table costs. All that the kernel clears can be cached, or `dcbz` would be an exception.
//
// void *memset(void *to, int byte, size_t count)
// void *memcpy(void *to, const void *from, size_t count)

.section .text.mem, "ax"
.balign 32
.global memset
memset:
    mr 6, 3
    cmplwi 5, 2 * {line}
    rlwinm 4, 4, 0, 24, 31
    rlwimi 4, 4, 8, 16, 23
    rlwimi 4, 4, 16, 0, 15
    blt fill_bytes
fill_to_word:
    andi. 0, 6, 3
    beq fill_to_line
    stb 4, 0(6)
    addi 6, 6, 1
    subi 5, 5, 1
    b fill_to_word
fill_to_line:
    andi. 0, 6, {line} - 1
    beq fill_lines
    stw 4, 0(6)
    addi 6, 6, 4
    subi 5, 5, 4
    b fill_to_line
fill_lines:
    srwi. 0, 5, {line_shift}
    beq fill_words
    mtctr 0
    cmpwi 4, 0
    rlwinm 5, 5, 0, 32 - {line_shift}, 31
    bne fill_line
clear_line:
    dcbz 0, 6
    addi 6, 6, {line}
    bdnz clear_line
    b fill_words
fill_line:
    stw 4, 0(6)
    stw 4, 4(6)
    stw 4, 8(6)
    stw 4, 12(6)
    stw 4, 16(6)
    stw 4, 20(6)
    stw 4, 24(6)
    stw 4, 28(6)
    addi 6, 6, {line}
    bdnz fill_line
fill_words:
    srwi. 0, 5, 2
    beq fill_bytes
    mtctr 0
    rlwinm 5, 5, 0, 30, 31
fill_word:
    stw 4, 0(6)
    addi 6, 6, 4
    bdnz fill_word
fill_bytes:
    cmpwi 5, 0
    beqlr
    mtctr 5
fill_byte:
    stb 4, 0(6)
    addi 6, 6, 1
    bdnz fill_byte
    blr

.balign 32
.global memcpy
memcpy:
    mr 6, 3
    // What is never aligned together goes byte by byte.
    xor 0, 3, 4
    andi. 0, 0, 3
    bne copy_bytes
    cmplwi 5, {line}
    blt copy_bytes
copy_to_word:
    andi. 0, 6, 3
    beq copy_lines
    lbz 0, 0(4)
    addi 4, 4, 1
    stb 0, 0(6)
    addi 6, 6, 1
    subi 5, 5, 1
    b copy_to_word
copy_lines:
    srwi. 0, 5, 4
    beq copy_words
    mtctr 0
    rlwinm 5, 5, 0, 28, 31
copy_line:
    lwz 7, 0(4)
    lwz 8, 4(4)
    lwz 9, 8(4)
    lwz 10, 12(4)
    addi 4, 4, 16
    stw 7, 0(6)
    stw 8, 4(6)
    stw 9, 8(6)
    stw 10, 12(6)
    addi 6, 6, 16
    bdnz copy_line
copy_words:
    srwi. 0, 5, 2
    beq copy_bytes
    mtctr 0
    rlwinm 5, 5, 0, 30, 31
copy_word:
    lwz 0, 0(4)
    addi 4, 4, 4
    stw 0, 0(6)
    addi 6, 6, 4
    bdnz copy_word
copy_bytes:
    cmpwi 5, 0
    beqlr
    mtctr 5
copy_byte:
    lbz 0, 0(4)
    addi 4, 4, 1
    stb 0, 0(6)
    addi 6, 6, 1
    bdnz copy_byte
    blr
.text
