/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_ARM_PTRACE_H
#define __UM_ARM_PTRACE_H

#include <linux/compiler.h>
#include <asm/ptrace-generic.h>

/* The processor has no single steps. */
#undef arch_has_single_step

/* Requests that arch/arm has in addition to the generic ones, and the status register. */
#define PTRACE_GETREGS		12
#define PTRACE_SETREGS		13
#define PTRACE_GET_THREAD_AREA	22
#define PTRACE_SET_SYSCALL	23
#define PT_TEXT_ADDR		0x10000
#define PT_DATA_ADDR		0x10004
#define PT_TEXT_END_ADDR	0x10008
#define PSR_MODE		0x0000001f
#define PSR_USER_MODE		0x00000010
#define PSR_THUMB		0x00000020
/* The bits of it that a program may change. */
#define PSR_USER_FLAGS		0xf8000020

#define user_mode(r)	UPT_IS_USER(&(r)->regs)
#define user_stack_pointer(r)	PT_REGS_SP(r)
#define profile_pc(r)	PT_REGS_IP(r)

#define PT_REGS_ORIG_SYSCALL(r)	((r)->regs.gp[HOST_SYSCALL_NR])
#define PT_REGS_SYSCALL_RET(r)	((r)->regs.gp[HOST_R0])
#define PT_REGS_SET_SYSCALL_RETURN(r, result)	(PT_REGS_SYSCALL_RET(r) = (result))

static inline long regs_return_value(struct pt_regs *regs)
{
	return PT_REGS_SYSCALL_RET(regs);
}

struct task_struct;
extern void arch_switch_to(struct task_struct *task);

#endif
