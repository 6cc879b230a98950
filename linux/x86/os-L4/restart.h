/* SPDX-License-Identifier: GPL-2.0 */
/* System calls that a signal interrupted: whether and how the program makes them again.  Both instructions have two bytes. */
#ifndef __X86_OS_L4_RESTART_H
#define __X86_OS_L4_RESTART_H

#include <linux/errno.h>
#include <linux/sched/signal.h>
#include <asm/unistd.h>
#include <sysdep/ptrace.h>

static inline bool came_from_system_call(const unsigned long *gp)
{
	return (long)gp[HOST_ORIG_AX] != -1;
}

/* Restarts a system call.  The number is the same, or that of restart_syscall(). */
static inline void restart_system_call(unsigned long *gp, unsigned long nr)
{
	gp[HOST_AX] = nr;
	gp[HOST_IP] -= 2;
}

/* A handler comes first. */
static inline void restart_after(const struct ksignal *ksig, unsigned long *gp)
{
	if (!came_from_system_call(gp))
		return;
	switch ((long)gp[HOST_AX]) {
	case -ERESTART_RESTARTBLOCK:
	case -ERESTARTNOHAND:
		gp[HOST_AX] = -EINTR;
		break;
	case -ERESTARTSYS:
		if (!(ksig->ka.sa.sa_flags & SA_RESTART)) {
			gp[HOST_AX] = -EINTR;
			break;
		}
		fallthrough;
	case -ERESTARTNOINTR:
		restart_system_call(gp, gp[HOST_ORIG_AX]);
		break;
	}
}

/* No handler comes. */
static inline void restart_at_once(unsigned long *gp)
{
	if (!came_from_system_call(gp))
		return;
	switch ((long)gp[HOST_AX]) {
	case -ERESTARTNOHAND:
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
		restart_system_call(gp, gp[HOST_ORIG_AX]);
		break;
	case -ERESTART_RESTARTBLOCK:
		restart_system_call(gp, __NR_restart_syscall);
		break;
	}
}

#endif
