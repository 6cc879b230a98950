/* SPDX-License-Identifier: GPL-2.0 */
/* In place of arch/powerpc's header, which comes with the registers of the supervisor. */
#ifndef __ASM_VDSO_TIMEBASE_H
#define __ASM_VDSO_TIMEBASE_H

#include <linux/compiler.h>
#include <linux/types.h>

/* The time base, which user mode reads. */
static __always_inline u64 get_tb(void)
{
	u32 high, low, again;

	do {
		asm volatile ("mftbu %0\n\tmftb %1\n\tmftbu %2" : "=r" (high), "=r" (low), "=r" (again));
	} while (high != again);
	return (u64)high << 32 | low;
}

#endif
