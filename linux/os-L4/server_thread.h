/* SPDX-License-Identifier: GPL-2.0 */
/* Further threads of this server, and notifications of its threads (l4_syscall.c). */
#ifndef __OS_L4_SERVER_THREAD_H
#define __OS_L4_SERVER_THREAD_H

#include <linux/linkage.h>
#include <linux/types.h>

/*
 * Priorities.  Linux's own is the description's and lies between these two.  If the description allows nothing
 * above Linux, all its threads have Linux's priority.
 */
#define L4_USER_PRIORITY	80
#define L4_INTERRUPT_PRIORITY	120
/* Whether all threads of this Linux have one priority.  Known once l4_inject_init() has returned. */
extern bool l4_one_priority;

/* A capability that sets these notification bits of a thread; one that raises an interrupt of Linux.  0: no slot is free. */
u32 l4_notifier_of(u32 thread, u32 bits);
u32 l4_notifier(unsigned int irq);
/* Creates another thread of this server, which must call nothing of Linux.  0: none is left. */
u32 l4_thread_create(unsigned long *utcb);
/* Starts it: fn(arg) on a stack of its own. */
typedef asmlinkage void l4_thread_fn(void *arg);
int l4_thread_run(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top, u32 priority);

#endif
