/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/linkage.h>
#include <linux/init.h>
#include <asm/page.h>
#include <asm/thread_info.h>
#include "../../../um/os-L4/abi.h"
#include "layout.h"

/* The words of the information page that Linux reads are copied. */
#define KIP_WORDS	8
	.if	L4_KIP_FEATURES >= 4 * KIP_WORDS || L4_KIP_CLOCK_SHIFT >= 4 * KIP_WORDS
	.error	"the information page has other offsets"
	.endif

/*
 * From the root server: RDI is the UTCB's address, RSI that of the start block, RSP the end of a stack, of which
 * only the word that counts messages is used.
 */
	.section .init.text, "ax"
SYM_CODE_START(_start)
	xorl	%ebp, %ebp
	leaq	-L4_MESSAGES(%rsp), %rax
	movq	%rax, l4_messages(%rip)
	leaq	boot_stack + THREAD_SIZE(%rip), %rsp
	movq	%rdi, l4_utcb(%rip)
	/* A receive or run takes any notification bit. */
	movl	$-1, L4_UTCB_ACCEPT(%rdi)
	addq	$L4_UTCB_PENDING, %rdi
	movq	%rdi, l4_arrived(%rip)
	movq	%rsi, %rdx
	movabsq	$L4_USER_END + L4_KIP_OFFSET, %rsi
	leaq	l4_kip(%rip), %rdi
	movl	$KIP_WORDS, %ecx
	rep movsl
	movq	%rdx, %rdi
	call	os_l4_main
1:	jmp	1b
SYM_CODE_END(_start)

/* Aligned, because call traces find the end of a stack by its alignment. */
	.section .data..init_irqstack, "aw"
	.balign	THREAD_SIZE
boot_stack:
	.skip	THREAD_SIZE

/* The words that each system call reads share a line of the data cache. */
	.data
	.balign	64
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
	.quad	0

	.section .note.GNU-stack, "", @progbits
