// SPDX-License-Identifier: GPL-2.0
/* The processor's part of the vDSO. */
#include <linux/bug.h>
#include <linux/init.h>
#include <linux/mm_types.h>
#include <asm/processor.h>
#include "../../../um/os-L4/vdso.h"

void __init arch_l4_vdso_init(void *data)
{
	/*
	 * execve() makes the stack there and moves it down.  If it had to be moved up, one execve() in some thousands
	 * would fail.
	 */
	BUG_ON(l4_stack_top() > STACK_TOP_MAX);
}

void arch_l4_vdso_moves(unsigned long from, unsigned long to) { }

void arch_l4_laid_out(struct mm_struct *mm) { }
