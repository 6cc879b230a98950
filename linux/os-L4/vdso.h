/* SPDX-License-Identifier: GPL-2.0 */
/* The vDSO, for processors that have one (vdso.c). */
#ifndef __OS_L4_VDSO_H
#define __OS_L4_VDSO_H

/*
 * Before the code lies a page of data.  There Linux (kernel/time/vsyscall.c) writes what the clocks read, at this offset: that of x86's
 * asm/vvar.h.  What is before it is the sub-architecture's.
 */
#define L4_VDSO_DATA	128

#ifndef __ASSEMBLY__
struct mm_struct;
struct vdso_data;

extern struct vdso_data *l4_vdso_data;

/* The sub-architecture's: the image of the code, of at most L4_VDSO_PAGES (<os-L4/vdso.h>). */
extern const char l4_vdso_image[], l4_vdso_image_end[];
/* Begins what the sub-architecture has in the page of data. */
void arch_l4_vdso_init(void *data);
/* The current process moves its code. */
void arch_l4_vdso_moves(unsigned long from, unsigned long to);
/* Exec has laid out everything. */
void arch_l4_laid_out(struct mm_struct *mm);
#endif

#endif
