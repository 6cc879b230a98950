/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __POWERPC_UM_SYSDEP_SYSCALLS_H
#define __POWERPC_UM_SYSDEP_SYSCALLS_H

#include <linux/linkage.h>
#include <asm/unistd.h>
#include <sysdep/ptrace.h>

typedef asmlinkage long syscall_handler_t(unsigned long, unsigned long, unsigned long,
					  unsigned long, unsigned long, unsigned long);

extern syscall_handler_t *const sys_call_table[];

long l4_execute_syscall(unsigned int nr, struct uml_pt_regs *regs);
#define EXECUTE_SYSCALL(nr, r)	l4_execute_syscall(nr, &(r)->regs)

#endif
