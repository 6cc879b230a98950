/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_POWERPC_PTRACE_H
#define __UM_POWERPC_PTRACE_H

#include <linux/compiler.h>
#include <linux/err.h>
#include <asm/ptrace-generic.h>

/* Bits of the machine state: a program's, those of them that it may change (FE0 and FE1), and single steps. */
#define MSR_USER	0x0000d030
#define MSR_USER_FLAGS	0x00000900
#define MSR_STEP	0x00000400
/* A bit of the condition register: a system call failed, and its result is the positive number of the error. */
#define CR0_SO		0x10000000

#define user_mode(r)	UPT_IS_USER(&(r)->regs)
#define user_stack_pointer(r)	PT_REGS_SP(r)
#define profile_pc(r)	PT_REGS_IP(r)

#define PT_REGS_ORIG_SYSCALL(r)	((r)->regs.gp[HOST_SYSCALL_NR])
#define PT_REGS_SYSCALL_RET(r)	((r)->regs.gp[HOST_R3])

static inline void l4_set_result(unsigned long *gp, unsigned long result)
{
	bool failed = IS_ERR_VALUE(result);

	gp[HOST_R3] = failed ? -result : result;
	gp[HOST_CR] = (gp[HOST_CR] & ~CR0_SO) | (failed ? CR0_SO : 0);
}

/* The registers that sigreturn() restored stay: they are no longer those of a system call. */
#define PT_REGS_SET_SYSCALL_RETURN(r, result) do {			\
	unsigned long result_ = (result);				\
									\
	if (PT_REGS_ORIG_SYSCALL(r) != -1UL)				\
		l4_set_result((r)->regs.gp, result_);			\
} while (0)

/* The result as functions of Linux return it. */
static inline long regs_return_value(struct pt_regs *regs)
{
	return regs->regs.gp[HOST_CR] & CR0_SO ? -PT_REGS_SYSCALL_RET(regs) : PT_REGS_SYSCALL_RET(regs);
}

struct task_struct;
extern void arch_switch_to(struct task_struct *task);

#endif
