/* SPDX-License-Identifier: GPL-2.0 */
/* Runs an attack of server_attacks.c, and comes back from whatever it left of registers and stack. */
#include <linux/linkage.h>
#include "selectors.h"

/* Members of struct attempt. */
#define EAX	0
#define EBX	4
#define ECX	8
#define EDX	12
#define ESI	16
#define EDI	20
#define EBP	24
#define ESP	28

/* void l4_attempt_run(struct attempt *attempt, const void *code): all registers in and out. */
	.text
SYM_FUNC_START(l4_attempt_run)
	pushl	%ebx
	pushl	%esi
	pushl	%edi
	pushl	%ebp
	pushfl
	movl	%eax, attempt
	movl	%edx, entry
	movl	%esp, stack
	movl	%ss, %ecx
	movl	%ecx, stack_segment
	movl	EBX(%eax), %ebx
	movl	ECX(%eax), %ecx
	movl	EDX(%eax), %edx
	movl	ESI(%eax), %esi
	movl	EDI(%eax), %edi
	movl	EBP(%eax), %ebp
	/* 0: the stack that there is. */
	cmpl	$0, ESP(%eax)
	jz	1f
	movl	ESP(%eax), %esp
1:	movl	EAX(%eax), %eax
	jmp	*entry
SYM_FUNC_END(l4_attempt_run)

/* An attack ends here, or the thread that handles its exception makes it go on here.  No segment register can be relied on. */
	.globl	l4_attempt_end
l4_attempt_end:
	movl	%eax, %esp
	movl	$L4_USER_DS, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%esp, result
	movl	stack_segment, %eax
	movl	%eax, %ss
	movl	stack, %esp
	popfl
	movl	attempt, %eax
	movl	%ebx, EBX(%eax)
	movl	%ecx, ECX(%eax)
	movl	%edx, EDX(%eax)
	movl	%esi, ESI(%eax)
	movl	%edi, EDI(%eax)
	movl	%ebp, EBP(%eax)
	movl	result, %ecx
	movl	%ecx, EAX(%eax)
	xorl	%ecx, %ecx
	movl	%ecx, %fs
	movl	%ecx, %gs
	popl	%ebp
	popl	%edi
	popl	%esi
	popl	%ebx
	ret

	.bss
	.balign	4
attempt:
	.skip	4
entry:
	.skip	4
stack:
	.skip	4
stack_segment:
	.skip	4
result:
	.skip	4

	.section .note.GNU-stack, "", @progbits
