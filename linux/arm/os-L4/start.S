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
 * From the root server: r0 is the UTCB's address, r1 that of the start block, sp the end of a stack, of which
 * only the word that counts messages is used.
 */
	.section .init.text, "ax"
	.arm
ENTRY(_start)
	sub	r2, sp, #L4_MESSAGES
	ldr	r3, =l4_messages
	str	r2, [r3]
	ldr	sp, =boot_stack + THREAD_SIZE
	ldr	r3, =l4_utcb
	str	r0, [r3]
	ldr	r2, =L4_KIP_ADDRESS
	ldr	r3, =l4_kip
	ldmia	r2, {r4-r11}
	stmia	r3, {r4-r11}
	/* A receive or run takes any notification bit. */
	mvn	r2, #0
	str	r2, [r0, #L4_UTCB_ACCEPT]
	add	r2, r0, #L4_UTCB_PENDING
	ldr	r3, =l4_arrived
	str	r2, [r3]
	mov	r0, r1
	bl	os_l4_main
1:	b	1b
	.ltorg
ENDPROC(_start)

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
