// SPDX-License-Identifier: GPL-2.0
/* The base of FS, which is a program's thread pointer: one of the registers of its frame. */
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <sysdep/ptrace.h>
#include "../../../um/os-L4/subarch.h"
#include "../../../um/os-L4/user_thread.h"

int arch_set_tls(struct task_struct *new, unsigned long tls)
{
	if (tls >= TASK_SIZE)
		return -EPERM;
	new->thread.regs.regs.gp[HOST_FS_BASE] = tls;
	return 0;
}

/* The base is switched with the registers, and nothing else was set. */
void clear_flushed_tls(struct task_struct *task) { }
void arch_switch_to(struct task_struct *task) { }

/* The microkernel reads the base only if it is told to; the FPU's state is in the user thread. */
int arch_l4_load_state(struct task_struct *task)
{
	struct l4_frame *f = (struct l4_frame *)l4_thread_of(task)->frame;

	f->changed |= L4_CHANGED_STATE;
	/* It has no breakpoints of the previous program. */
	memset(task->thread.arch.debugregs, 0, sizeof(task->thread.arch.debugregs));
	return 0;
}
