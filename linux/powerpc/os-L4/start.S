/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/linkage.h>
#include <linux/init.h>
#include <asm/page.h>
#include <asm/thread_info.h>
#include "../../../um/os-L4/abi.h"

/* The words of the information page that Linux reads are copied. */
#define KIP_WORDS	8
	.if	L4_KIP_FEATURES >= 4 * KIP_WORDS || L4_KIP_CLOCK_SHIFT >= 4 * KIP_WORDS
	.error	"the information page has other offsets"
	.endif

/*
 * From the root server: r3 is the UTCB's address, r4 that of the start block, r1 the end of a stack, of which
 * only the word that counts messages is used.
 */
	.section .init.text, "ax"
SYM_CODE_START(_start)
	addi	r5, r1, -L4_MESSAGES
	lis	r6, l4_messages@ha
	stw	r5, l4_messages@l(r6)
	lis	r1, (boot_stack + THREAD_SIZE - 16)@ha
	addi	r1, r1, (boot_stack + THREAD_SIZE - 16)@l
	li	r0, 0
	stw	r0, 0(r1)
	lis	r6, l4_utcb@ha
	stw	r3, l4_utcb@l(r6)
	/* The information page is next to the UTCBs. */
	lis	r7, L4_TABLE_SPAN - 1@h
	ori	r7, r7, L4_TABLE_SPAN - 1@l
	andc	r7, r3, r7
	addi	r7, r7, L4_KIP_OFFSET - 4
	lis	r8, (l4_kip - 4)@ha
	addi	r8, r8, (l4_kip - 4)@l
	li	r0, KIP_WORDS
	mtctr	r0
1:	lwzu	r0, 4(r7)
	stwu	r0, 4(r8)
	bdnz	1b
	/* A receive or run takes any notification bit. */
	li	r0, -1
	stw	r0, L4_UTCB_ACCEPT(r3)
	addi	r5, r3, L4_UTCB_PENDING
	lis	r6, l4_arrived@ha
	stw	r5, l4_arrived@l(r6)
	mr	r3, r4
	bl	os_l4_main
2:	b	2b
SYM_CODE_END(_start)

/* Aligned, because call traces find the end of a stack by its alignment. */
	.section .data..init_irqstack, "aw"
	.balign	THREAD_SIZE
boot_stack:
	.skip	THREAD_SIZE

/* The words that each system call reads share lines of the data cache. */
	.data
	.balign	32
	.globl	l4_kip
l4_kip:
	.skip	4 * KIP_WORDS
	.globl	signals_enabled
signals_enabled:
	.long	0
	.globl	l4_mappings_dirty
l4_mappings_dirty:
	.long	0
	.globl	l4_utcb
l4_utcb:
	.long	0

	.section .note.GNU-stack, "", %progbits
