/* SPDX-License-Identifier: GPL-2.0 */
/* The part of arch/arm's header of this name that arch/arm/lib uses.  That header is for privileged code. */
#ifndef __UM_ARM_ASSEMBLER_H
#define __UM_ARM_ASSEMBLER_H

#include <asm/unified.h>

#define UNWIND(code...)

/* The first of two words is shifted by `pull`, the next by `push`; bytes by their places in a word. */
#define lspull		lsr
#define lspush		lsl
#define get_byte_0	lsl #0
#define get_byte_1	lsr #8
#define get_byte_2	lsr #16
#define get_byte_3	lsr #24
#define put_byte_0	lsl #0
#define put_byte_1	lsl #8
#define put_byte_2	lsl #16
#define put_byte_3	lsl #24

#define PLD(code...)	code
#define CALGN(code...)

	.irp	c, , eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le, hs, lo
	.macro	ret\c, reg
	.ifeqs	"\reg", "lr"
	bx\c	\reg
	.else
	mov\c	pc, \reg
	.endif
	.endm
	.endr

#endif
