/* SPDX-License-Identifier: GPL-2.0 */
/* Switches of stacks: struct __jmp_buf has the registers that a function keeps. */
#include <linux/linkage.h>

	.text
SYM_FUNC_START(kernel_setjmp)
	mflr	r0
	mfcr	r5
	stw	r1, 0(r3)
	stw	r0, 4(r3)
	stw	r5, 8(r3)
	stmw	r13, 12(r3)
	li	r3, 0
	blr
SYM_FUNC_END(kernel_setjmp)

SYM_FUNC_START(kernel_longjmp)
	lwz	r1, 0(r3)
	lwz	r0, 4(r3)
	lwz	r5, 8(r3)
	lmw	r13, 12(r3)
	mtlr	r0
	mtcr	r5
	mr	r3, r4
	blr
SYM_FUNC_END(kernel_longjmp)

	.section .note.GNU-stack, "", %progbits
