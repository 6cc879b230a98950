/* SPDX-License-Identifier: GPL-2.0 */
/* Switches of stacks: struct __jmp_buf has the registers that a function keeps. */
#include <linux/linkage.h>

	.text
	.arm
ENTRY(kernel_setjmp)
	stmia	r0, {r4-r10, fp, sp, lr}
	mov	r0, #0
	bx	lr
ENDPROC(kernel_setjmp)

ENTRY(kernel_longjmp)
	ldmia	r0, {r4-r10, fp, sp, lr}
	mov	r0, r1
	bx	lr
ENDPROC(kernel_longjmp)

	.section .note.GNU-stack, "", %progbits
