/* SPDX-License-Identifier: GPL-2.0 */
/* The image of the vDSO. */
	.section .rodata
	.balign	4096
	.globl	l4_vdso_image
l4_vdso_image:
	.incbin	"arch/powerpc/um/os-L4/vdso.so"
	.balign	4096
	.globl	l4_vdso_image_end
l4_vdso_image_end:
	.section .note.GNU-stack, "", @progbits
