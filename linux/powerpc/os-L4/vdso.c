// SPDX-License-Identifier: GPL-2.0
/* What the vDSO tells about the processor and Linux, besides clocks. */
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/mm_types.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <asm/processor.h>
#include <asm/unistd.h>
#include <sysdep/syscalls.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/vdso.h"
#include "vdso.h"

asmlinkage long sys_ni_syscall(void);

void __init arch_l4_vdso_init(void *data)
{
	u32 *calls = data + L4_VDSO_CALLS, nr;

	BUILD_BUG_ON(L4_VDSO_CALLS + DIV_ROUND_UP(NR_syscalls, 32) * sizeof(u32) > L4_VDSO_DATA);
	/* Nanoseconds are ticks * mult >> shift. */
	*(u64 *)(data + L4_VDSO_TICKS) = div_u64((u64)NSEC_PER_SEC << l4_kip[L4_KIP_CLOCK_SHIFT / 4], l4_kip[L4_KIP_CLOCK_MULT / 4]);
	/*
	 * execve() makes the stack there and moves it down.  If it had to be moved up, one execve() in some thousands
	 * would fail.
	 */
	BUG_ON(l4_stack_top() > STACK_TOP_MAX);
	for (nr = 0; nr < NR_syscalls; nr++)
		if ((void *)sys_call_table[nr] != (void *)sys_ni_syscall)
			calls[nr / 32] |= BIT(31 - nr % 32);
}

void arch_l4_vdso_moves(unsigned long from, unsigned long to) { }

void arch_l4_laid_out(struct mm_struct *mm) { }
