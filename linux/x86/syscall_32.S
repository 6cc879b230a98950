/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/linkage.h>
#include "../../../um/os-L4/abi.h"

	.macro SAVE
	pushl	%ebx
	pushl	%esi
	pushl	%edi
	pushl	%ebp
	.endm

	/* By sysenter, or by int without it; goes on at the label. */
	.macro ENTER done
	testb	$L4_FEATURE_SYSENTER, l4_kip + L4_KIP_FEATURES
	jz	1f
	movl	%esp, %ecx
	movl	$\done, %edx
	sysenter
1:	int	$L4_INT_VECTOR
	.endm

	/* Stores five results where the argument at this offset points, and returns. */
	.macro RETURN offset
	movl	\offset(%esp), %ecx
	movl	%eax, (%ecx)
	movl	%ebx, 4(%ecx)
	movl	%esi, 8(%ecx)
	movl	%edi, 12(%ecx)
	movl	%ebp, 16(%ecx)
	popl	%ebp
	popl	%edi
	popl	%esi
	popl	%ebx
	ret
	.endm

/* void l4_syscall(struct l4_regs *regs) */
	.text
SYM_FUNC_START(l4_syscall)
	SAVE
	movl	20(%esp), %ecx
	movl	(%ecx), %eax
	movl	4(%ecx), %ebx
	movl	8(%ecx), %esi
	movl	12(%ecx), %edi
	movl	16(%ecx), %ebp
	.globl	l4_syscall_again
l4_syscall_again:
	ENTER	l4_syscall_done
	.globl	l4_syscall_done
l4_syscall_done:
	RETURN	20
SYM_FUNC_END(l4_syscall)

/* void l4_run(u32 handle, struct l4_event *event) */
SYM_FUNC_START(l4_run)
	SAVE
	movl	$(L4_OP_RUN << L4_TAG_OP_SHIFT), %eax
	movl	20(%esp), %ebx
	ENTER	l4_run_done
l4_run_done:
	RETURN	24
SYM_FUNC_END(l4_run)

/* Entered as an interrupt is: EIP and EFLAGS of what it interrupted are on the stack. */
SYM_FUNC_START(l4_interrupt_entry)
	pushal
	cld
	call	l4_forced_interrupt
	popal
	popfl
	ret
SYM_FUNC_END(l4_interrupt_entry)

	.section .note.GNU-stack, "", @progbits
