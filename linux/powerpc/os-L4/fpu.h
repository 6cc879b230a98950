/* SPDX-License-Identifier: GPL-2.0 */
/* FPU state of tasks, for signals, exceptions and debuggers. */
#ifndef __POWERPC_OS_L4_FPU_H
#define __POWERPC_OS_L4_FPU_H

#include <linux/types.h>

struct task_struct;

/* 32 registers, and in the lower half of the last entry the status: as signal frames and debuggers have them. */
#define L4_FP_ENTRIES	33

/* Reads a task's state.  False: it has no user thread. */
bool l4_fp_get(struct task_struct *task, u64 *entries);
/* Writes it. */
bool l4_fp_put(struct task_struct *task, const u64 *entries);
/* si_code for an exception of the current task. */
int l4_fp_exception(void);

#endif
