// SPDX-License-Identifier: MIT OR Apache-2.0
// What the compiler calls to fill and copy memory, by lines, double words and bytes. Clearing a page is most of what a new
// translation table costs.
//
// void *memset(void *to, int byte, size_t count)
// void *memcpy(void *to, const void *from, size_t count)

.section .text.mem, "ax"
.set push
.set noreorder
.set noat
.balign 32
.global memset
memset:
    // $2 and $4: to; $5: the byte, eight times; $6: how many.
    move $2, $4
    andi $5, $5, 0xff
    dsll $7, $5, 8
    or $5, $5, $7
    dsll $7, $5, 16
    or $5, $5, $7
    dsll32 $7, $5, 0
    or $5, $5, $7
fill_to_double:
    andi $7, $4, 7
    beqz $7, fill_lines
    nop
    beqz $6, filled
    daddiu $6, $6, -1
    sb $5, 0($4)
    b fill_to_double
    daddiu $4, $4, 1
fill_lines:
    sltiu $7, $6, 128
    bnez $7, fill_doubles
    daddiu $6, $6, -128
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    sd $5, 8 * \n($4)
    .endr
    b fill_lines
    daddiu $4, $4, 128
fill_doubles:
    // $6 is less by 128 than what is left.
    daddiu $6, $6, 128
fill_double:
    sltiu $7, $6, 8
    bnez $7, fill_byte
    nop
    daddiu $6, $6, -8
    sd $5, 0($4)
    b fill_double
    daddiu $4, $4, 8
fill_byte:
    beqz $6, filled
    daddiu $6, $6, -1
    sb $5, 0($4)
    b fill_byte
    daddiu $4, $4, 1
filled:
    jr $31
    nop

.balign 32
.global memcpy
memcpy:
    // $2 and $4: to; $5: from; $6: how many.
    move $2, $4
    or $7, $4, $5
    andi $7, $7, 7
    bnez $7, copy_byte
    nop
copy_lines:
    sltiu $7, $6, 32
    bnez $7, copy_double
    nop
    ld $8, 0($5)
    ld $9, 8($5)
    ld $10, 16($5)
    ld $11, 24($5)
    sd $8, 0($4)
    sd $9, 8($4)
    sd $10, 16($4)
    sd $11, 24($4)
    daddiu $6, $6, -32
    daddiu $5, $5, 32
    b copy_lines
    daddiu $4, $4, 32
copy_double:
    sltiu $7, $6, 8
    bnez $7, copy_byte
    nop
    ld $8, 0($5)
    daddiu $6, $6, -8
    daddiu $5, $5, 8
    sd $8, 0($4)
    b copy_double
    daddiu $4, $4, 8
copy_byte:
    beqz $6, copied
    daddiu $6, $6, -1
    lbu $8, 0($5)
    daddiu $5, $5, 1
    sb $8, 0($4)
    b copy_byte
    daddiu $4, $4, 1
copied:
    jr $31
    nop
.set pop
.text
