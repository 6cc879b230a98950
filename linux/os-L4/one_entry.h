/* SPDX-License-Identifier: GPL-2.0 */
/* What run.h of a sub-architecture has whose processor has one way into the microkernel, and one way back (subarch.h). */
#ifndef __OS_L4_ONE_ENTRY_H
#define __OS_L4_ONE_ENTRY_H

#include <linux/compiler.h>
#include <linux/types.h>

struct l4_frame;
struct task_struct;

static inline bool arch_l4_has_fast_entry(void)
{
	return true;
}

static __always_inline bool arch_l4_is_vdso_call(u32 vector)
{
	return false;
}

static __always_inline bool arch_l4_begin_vdso_call(struct task_struct *task)
{
	return true;
}

static __always_inline unsigned long arch_l4_fast_return(const struct task_struct *task, u32 vector)
{
	return 0;
}

static __always_inline void arch_l4_cancel_fast_return(struct l4_frame *f)
{
}

#endif
