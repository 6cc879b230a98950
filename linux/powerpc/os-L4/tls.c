// SPDX-License-Identifier: GPL-2.0
/* The thread pointer is r2, a register like any other. */
#include <linux/sched.h>
#include "../../../um/os-L4/subarch.h"

/* A new user thread has no other state than its registers and an initial FPU. */
int arch_l4_load_state(struct task_struct *task)
{
	return 0;
}

/* CLONE_SETTLS. */
int arch_set_tls(struct task_struct *task, unsigned long tls)
{
	task->thread.regs.regs.gp[HOST_R0 + 2] = tls;
	return 0;
}

/* Each task has its own registers: nothing has to be done when tasks are switched or copied. */
void arch_switch_to(struct task_struct *task) { }
void clear_flushed_tls(struct task_struct *task) { }
