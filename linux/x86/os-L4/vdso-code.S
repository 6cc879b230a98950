/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code of the vDSO, but for its clocks.  The auxiliary vector names the entry: by sysenter, or by int 0x80 where
 * the processor has none.  Linux's convention for sysenter: ECX, EDX and EBP are pushed, EBP is the stack
 * pointer, and the program goes on at the landing pad.
 */
#include <linux/linkage.h>
#include <asm/unistd_32.h>
#include "vdso.h"

#define AT(entry)	.org entry - L4_VDSO_TEXT, 0x90

	.text
	.globl	__kernel_vsyscall
	.type	__kernel_vsyscall, @function
__kernel_vsyscall:
	.cfi_startproc
	int	$0x80
	ret
	.cfi_endproc
	.size	__kernel_vsyscall, . - __kernel_vsyscall

	AT(L4_VDSO_SYSENTER)
	.type	by_sysenter, @function
by_sysenter:
	.cfi_startproc
	pushl	%ecx
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset ecx, 0
	pushl	%edx
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset edx, 0
	pushl	%ebp
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset ebp, 0
	movl	%esp, %ebp
	sysenter
	/* A restarted system call executes the instruction before the landing pad. */
	AT(L4_VDSO_LANDING - 2)
	int	$0x80
	popl	%ebp
	.cfi_adjust_cfa_offset -4
	.cfi_restore ebp
	popl	%edx
	.cfi_adjust_cfa_offset -4
	.cfi_restore edx
	popl	%ecx
	.cfi_adjust_cfa_offset -4
	.cfi_restore ecx
	ret
	.cfi_endproc
	.size	by_sysenter, . - by_sysenter

	/* Debuggers recognise these by their instructions. */
	AT(L4_VDSO_SIGRETURN)
	.globl	__kernel_sigreturn
	.type	__kernel_sigreturn, @function
__kernel_sigreturn:
	popl	%eax
	movl	$__NR_sigreturn, %eax
	int	$0x80
	.size	__kernel_sigreturn, . - __kernel_sigreturn

	AT(L4_VDSO_RT_SIGRETURN)
	.globl	__kernel_rt_sigreturn
	.type	__kernel_rt_sigreturn, @function
__kernel_rt_sigreturn:
	movl	$__NR_rt_sigreturn, %eax
	int	$0x80
	.size	__kernel_rt_sigreturn, . - __kernel_rt_sigreturn

	.section .note.GNU-stack, "", @progbits
