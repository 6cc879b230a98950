/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the vDSO's page has.  A system call is int 0x80: the microkernel has a fast path
 * for it, and sysenter, which loses ECX and EDX, would only cost more.  Who uses
 * sysenter by Linux's convention (ECX, EDX and EBP pushed, EBP the stack pointer) comes back
 * at the landing.
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

	/* A system call that starts again begins at the instruction before. */
	AT(L4_VDSO_LANDING - 2)
	int	$0x80
	popl	%ebp
	popl	%edx
	popl	%ecx
	ret

	/* Debuggers know these by their instructions. */
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
