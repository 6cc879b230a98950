/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls of the microkernel, which keeps only the stack pointer: the registers that a function has to keep are
 * saved on the stack, and so is the address of the register block.
 */
#include <linux/linkage.h>

	.macro	save
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rdi
	.endm

/* Five registers from what RBX points to. */
	.macro	load
	movq	(%rbx), %rax
	movq	8(%rbx), %rdi
	movq	16(%rbx), %rsi
	movq	24(%rbx), %rdx
	movq	32(%rbx), %r8
	.endm

/* To what the word on the stack points to. */
	.macro	store
	popq	%rcx
	movq	%rax, (%rcx)
	movq	%rdi, 8(%rcx)
	movq	%rsi, 16(%rcx)
	movq	%rdx, 24(%rcx)
	movq	%r8, 32(%rcx)
	.endm

	.macro	restore
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	.endm

	.text
/* void l4_syscall(struct l4_regs *regs): five registers in and out. */
SYM_FUNC_START(l4_syscall)
	save
	movq	%rdi, %rbx
	load
	.globl	l4_syscall_again
l4_syscall_again:
	syscall
	.globl	l4_syscall_done
l4_syscall_done:
	store
	restore
	RET
SYM_FUNC_END(l4_syscall)

/* void arch_l4_message(struct l4_regs *regs, unsigned long utcb): the same, and words 3 to 7 of a message. */
SYM_FUNC_START(arch_l4_message)
	save
	pushq	%rsi
	movq	%rdi, %rbx
	movq	24(%rsi), %r9
	movq	32(%rsi), %r10
	movq	40(%rsi), %r12
	movq	48(%rsi), %r13
	movq	56(%rsi), %r14
	load
	syscall
	popq	%rcx
	movq	%r9, 24(%rcx)
	movq	%r10, 32(%rcx)
	movq	%r12, 40(%rcx)
	movq	%r13, 48(%rcx)
	movq	%r14, 56(%rcx)
	store
	restore
	RET
SYM_FUNC_END(arch_l4_message)

/* A thread of the server begins here: RSI is the argument of the function on its stack. */
SYM_CODE_START(l4_thread_entry)
	popq	%rax
	movq	%rsi, %rdi
	jmp	*%rax
SYM_CODE_END(l4_thread_entry)

/*
 * An injected interrupt begins here, between any two instructions.  arch_l4_inject_interrupt() has pushed RIP and the flags;
 * the stack may have any alignment.
 */
SYM_CODE_START(l4_interrupt_entry)
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbp
	movq	%rsp, %rbp
	andq	$-16, %rsp
	cld
	call	l4_injected_interrupt
	movq	%rbp, %rsp
	popq	%rbp
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	popfq
	RET
SYM_CODE_END(l4_interrupt_entry)

/*
 * For a variable of the only processor, at RSI.  All processors of the microkernel have this instruction; upstream's
 * function disables interrupts instead.
 */
SYM_FUNC_START(this_cpu_cmpxchg16b_emu)
	cmpxchg16b (%rsi)
	RET
SYM_FUNC_END(this_cpu_cmpxchg16b_emu)

	.section .note.GNU-stack, "", @progbits
