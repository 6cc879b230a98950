/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/linkage.h>
#include <linux/init.h>
#include <asm/page.h>
#include <asm/thread_info.h>
#include "../../../um/os-L4/abi.h"

/* From the root server: EBX is the UTCB's address, ESI that of the start block. */
	.section .init.text, "ax"
SYM_CODE_START(_start)
	xorl	%ebp, %ebp
	movl	$boot_stack + THREAD_SIZE, %esp
	movl	%ebx, l4_utcb
	/* Every notification bit is for a receive or run to take. */
	movl	$-1, L4_UTCB_ACCEPT(%ebx)
	addl	$L4_UTCB_PENDING, %ebx
	movl	%ebx, l4_arrived
	testb	$L4_FEATURE_SYSENTER, L4_KIP_ADDRESS + L4_KIP_FEATURES
	setnz	l4_by_sysenter
	movl	%esi, %eax
	call	os_l4_main
1:	jmp	1b
SYM_CODE_END(_start)

/* Aligned: current_thread_info() masks the stack pointer. */
	.section .data..init_irqstack, "aw"
	.balign	THREAD_SIZE
boot_stack:
	.skip	THREAD_SIZE

	.data
	.balign	4
	.globl	l4_utcb
l4_utcb:
	.long	0
/* Whether the microkernel is entered by sysenter. */
	.globl	l4_by_sysenter
l4_by_sysenter:
	.byte	0

	.section .note.GNU-stack, "", @progbits
