// SPDX-License-Identifier: GPL-2.0
/* The thread pointer, which programs read by the microkernel's helper at 0xffff0fe0. */
#include <linux/sched.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/subarch.h"
#include "../../../um/os-L4/user_thread.h"
#include "tls.h"

int arch_l4_load_state(struct task_struct *task)
{
	struct l4_thread *t = l4_thread_of(task);
	unsigned long tls = task->thread.arch.tls;

	if (t->arch.tls == tls)
		return 0;
	t->arch.tls = tls;
	return l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_THREAD_POINTER, tls, 0) ? -EINVAL : 0;
}

int l4_set_tls(struct task_struct *task, unsigned long tls)
{
	task->thread.arch.tls = tls;
	return l4_thread_of(task) ? arch_l4_load_state(task) : 0;
}

/* CLONE_SETTLS.  The child has no user thread yet. */
int arch_set_tls(struct task_struct *task, unsigned long tls)
{
	return l4_set_tls(task, tls);
}

/* Each user thread has its own: nothing has to be done when tasks are switched or copied. */
void arch_switch_to(struct task_struct *task) { }
void clear_flushed_tls(struct task_struct *task) { }

/* There is no FPU. */
bool arch_l4_copy_fpu(struct task_struct *child, struct task_struct *parent)
{
	return true;
}
