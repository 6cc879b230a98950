/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_POWERPC_CURRENT_H
#define __UM_POWERPC_CURRENT_H

#include <linux/compiler.h>

struct task_struct;

/* arch_l4_set_current() changes it. */
extern struct task_struct *__current;
static __always_inline struct task_struct *get_current(void)
{
	return __current;
}

#define current get_current()

#endif
