/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/linkage.h>

	.text
	.arm
/* void l4_syscall(struct l4_regs *regs): five registers in and out. */
ENTRY(l4_syscall)
	push	{r4-r10, lr}
	mov	r10, r0
	ldmia	r10, {r0-r4}
	.globl	l4_syscall_again
l4_syscall_again:
	swi	0
	.globl	l4_syscall_done
l4_syscall_done:
	stmia	r10, {r0-r4}
	pop	{r4-r10, pc}
ENDPROC(l4_syscall)

/* void arch_l4_message(struct l4_regs *regs, unsigned long utcb): the same, and words 3 to 7 of a message. */
ENTRY(arch_l4_message)
	push	{r4-r11, lr}
	mov	r10, r0
	add	r11, r1, #3 * 4
	ldmia	r11, {r5-r9}
	ldmia	r10, {r0-r4}
	swi	0
	stmia	r10, {r0-r4}
	stmia	r11, {r5-r9}
	pop	{r4-r11, pc}
ENDPROC(arch_l4_message)

/* A thread of the server begins here: r1 is the argument of the function on its stack. */
ENTRY(l4_thread_entry)
	mov	r0, r1
	pop	{r2, lr}
	bx	r2
ENDPROC(l4_thread_entry)

/*
 * An injected interrupt begins here, between any two instructions.  arch_l4_inject_interrupt() has pushed the status
 * and the program counter.
 */
ENTRY(l4_interrupt_entry)
	push	{r0-r12, lr}
	mov	r4, sp
	bic	sp, sp, #7
	bl	l4_injected_interrupt
	mov	sp, r4
	ldr	r0, [sp, #14 * 4]
	msr	cpsr_f, r0
	pop	{r0-r12, lr}
	add	sp, sp, #4
	pop	{pc}
ENDPROC(l4_interrupt_entry)

	.section .note.GNU-stack, "", %progbits
