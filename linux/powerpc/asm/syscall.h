/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_POWERPC_SYSCALL_H
#define __UM_POWERPC_SYSCALL_H

#include <uapi/linux/audit.h>
#include <asm/syscall-generic.h>
#include <asm/unistd.h>

#define NR_syscalls	__NR_syscalls

static inline int syscall_get_arch(struct task_struct *task)
{
	return AUDIT_ARCH_PPC;
}

#endif
