/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/linkage.h>
#include "../../../um/os-L4/abi.h"

/* void l4_syscall(struct l4_regs *regs): five registers in and out.  By sysenter, or by int without it. */
	.text
SYM_FUNC_START(l4_syscall)
	pushl	%ebx
	pushl	%esi
	pushl	%edi
	pushl	%ebp
	pushl	%eax
	movl	4(%eax), %ebx
	movl	8(%eax), %esi
	movl	12(%eax), %edi
	movl	16(%eax), %ebp
	movl	(%eax), %eax
	.globl	l4_syscall_again
l4_syscall_again:
	testb	$L4_FEATURE_SYSENTER, l4_kip + L4_KIP_FEATURES
	jz	1f
	movl	%esp, %ecx
	movl	$l4_syscall_done, %edx
	sysenter
1:	int	$L4_INT_VECTOR
	.globl	l4_syscall_done
l4_syscall_done:
	popl	%ecx
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
SYM_FUNC_END(l4_syscall)

/* An injected interrupt begins here.  arch_l4_inject_interrupt() has pushed EIP and EFLAGS. */
SYM_FUNC_START(l4_interrupt_entry)
	pushal
	cld
	call	l4_injected_interrupt
	popal
	popfl
	ret
SYM_FUNC_END(l4_interrupt_entry)

	.section .note.GNU-stack, "", @progbits
