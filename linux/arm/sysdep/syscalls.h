/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM_UM_SYSDEP_SYSCALLS_H
#define __ARM_UM_SYSDEP_SYSCALLS_H

#include <linux/linkage.h>
#include <asm/unistd.h>
#include <sysdep/ptrace.h>

typedef asmlinkage long syscall_handler_t(unsigned long, unsigned long, unsigned long,
					  unsigned long, unsigned long, unsigned long);

extern syscall_handler_t *const sys_call_table[];

/* The processor's own calls have numbers far above the others. */
#define ARM_NR_FIRST	0x0f0000
/* A debugger that makes it -1 has set the result. */
#define IS_SYSCALL(nr)	((nr) != -1)
long l4_execute_syscall(unsigned int nr, struct uml_pt_regs *regs);
#define EXECUTE_SYSCALL(nr, r)	l4_execute_syscall(nr, &(r)->regs)

#endif
