/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM_UM_SYSDEP_PTRACE_H
#define __ARM_UM_SYSDEP_PTRACE_H

#include <generated/user_constants.h>
#include <sysdep/faultinfo.h>

#define MAX_REG_OFFSET	(UM_FRAME_SIZE)
#define MAX_REG_NR	((MAX_REG_OFFSET) / sizeof(unsigned long))
#define MAX_FP_NR	0

#define REGS_SP(r)	((r)[HOST_SP])

#define UPT_IP(r)	((r)->gp[HOST_IP])
#define UPT_SP(r)	((r)->gp[HOST_SP])
/* The result is in the first argument's register, so the argument is kept elsewhere for a restart. */
#define UPT_SYSCALL_ARG1(r)	((r)->gp[HOST_ORIG_R0])
#define UPT_SYSCALL_ARG2(r)	((r)->gp[HOST_R0 + 1])
#define UPT_SYSCALL_ARG3(r)	((r)->gp[HOST_R0 + 2])
#define UPT_SYSCALL_ARG4(r)	((r)->gp[HOST_R0 + 3])
#define UPT_SYSCALL_ARG5(r)	((r)->gp[HOST_R0 + 4])
#define UPT_SYSCALL_ARG6(r)	((r)->gp[HOST_R0 + 5])

struct syscall_args {
	unsigned long args[6];
};

#define SYSCALL_ARGS(r)	((struct syscall_args) {				\
	.args = { UPT_SYSCALL_ARG1(r), UPT_SYSCALL_ARG2(r), UPT_SYSCALL_ARG3(r), \
		  UPT_SYSCALL_ARG4(r), UPT_SYSCALL_ARG5(r), UPT_SYSCALL_ARG6(r) } })

struct uml_pt_regs {
	unsigned long gp[MAX_REG_NR];
	unsigned long fp[MAX_FP_NR];
	struct faultinfo faultinfo;
	long syscall;
	int is_user;
};

#define EMPTY_UML_PT_REGS { }

#define UPT_SYSCALL_NR(r)	((r)->syscall)
#define UPT_FAULTINFO(r)	(&(r)->faultinfo)
#define UPT_IS_USER(r)		((r)->is_user)

extern int user_context(unsigned long sp);

#endif
