/* SPDX-License-Identifier: GPL-2.0 */
/* The user threads of tasks (user.c). */
#ifndef __OS_L4_USER_THREAD_H
#define __OS_L4_USER_THREAD_H

#include <linux/types.h>
#include <os-L4/space.h>

struct task_struct;

/* The user thread of a task: an alien.  task_struct.thread.arch.host names it. */
struct l4_thread {
	u32 slot;		/* its capability */
	unsigned long frame;	/* its UTCB slot: registers, then the state of an FPU */
	u32 handle;		/* a reply to it resumes the thread */
	u32 space;		/* the space to which it is bound */
	struct l4_thread *next;	/* in the list of those that are kept */
	struct arch_l4_thread arch;
};

/* The user thread that a task has: perhaps none, or one that is bound to a former space. */
#define l4_thread_of(task)	((task)->thread.arch.host)
/* A user thread that is bound to the task's space.  A task without one gets one.  NULL: none is left. */
struct l4_thread *l4_thread_bound(struct task_struct *task);

#endif
