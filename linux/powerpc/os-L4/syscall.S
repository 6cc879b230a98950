/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls of the microkernel, which keeps only r1 and r2: the registers that a function has to keep are saved in
 * its frame, and so is the address of the register block.
 */
#include <linux/linkage.h>
#include "server_frame.h"

/* Makes such a frame; r3 goes there. */
	.macro	save
	mflr	r0
	stw	r0, 4(r1)
	stwu	r1, -CALL_FRAME(r1)
	mfcr	r0
	stw	r0, CALL_CR(r1)
	stw	r3, CALL_REGS(r1)
	stmw	r13, CALL_R13(r1)
	.endm

	.macro	restore
	lmw	r13, CALL_R13(r1)
	lwz	r0, CALL_CR(r1)
	mtcr	r0
	addi	r1, r1, CALL_FRAME
	lwz	r0, 4(r1)
	mtlr	r0
	.endm

/* Five registers from, and to, what r12 points to. */
	.macro	load
	lwz	r3, 0(r12)
	lwz	r4, 4(r12)
	lwz	r5, 8(r12)
	lwz	r6, 12(r12)
	lwz	r7, 16(r12)
	.endm

	.macro	store
	lwz	r12, CALL_REGS(r1)
	stw	r3, 0(r12)
	stw	r4, 4(r12)
	stw	r5, 8(r12)
	stw	r6, 12(r12)
	stw	r7, 16(r12)
	.endm

	.text
/* void l4_syscall(struct l4_regs *regs): five registers in and out. */
SYM_FUNC_START(l4_syscall)
	save
	mr	r12, r3
	load
	.globl	l4_syscall_again
l4_syscall_again:
	sc
	.globl	l4_syscall_done
l4_syscall_done:
	store
	restore
	blr
SYM_FUNC_END(l4_syscall)

/* void arch_l4_message(struct l4_regs *regs, unsigned long utcb): the same, and words 3 to 7 of a message. */
SYM_FUNC_START(arch_l4_message)
	save
	stw	r4, CALL_UTCB(r1)
	mr	r12, r3
	lwz	r8, 12(r4)
	lwz	r9, 16(r4)
	lwz	r10, 20(r4)
	lwz	r14, 24(r4)
	lwz	r15, 28(r4)
	load
	sc
	lwz	r12, CALL_UTCB(r1)
	stw	r8, 12(r12)
	stw	r9, 16(r12)
	stw	r10, 20(r12)
	stw	r14, 24(r12)
	stw	r15, 28(r12)
	store
	restore
	blr
SYM_FUNC_END(arch_l4_message)

/* A thread of the server begins here: r4 is the argument of the function on its stack. */
SYM_CODE_START(l4_thread_entry)
	mr	r3, r4
	lwz	r5, 8(r1)
	mtctr	r5
	bctr
SYM_CODE_END(l4_thread_entry)

/*
 * An injected interrupt begins here, between any two instructions.  arch_l4_inject_interrupt() has put all registers
 * into a frame.  User mode has no instruction that loads all of them: at the end an exception lets the thread above
 * Linux do that.
 */
SYM_CODE_START(l4_interrupt_entry)
	bl	l4_injected_interrupt
	.globl	l4_interrupt_done
l4_interrupt_done:
	trap
SYM_CODE_END(l4_interrupt_entry)

	.section .note.GNU-stack, "", %progbits
