// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that were linked statically long ago call three functions at fixed addresses of the kernel.  Nothing is mapped there:
 * a call is a page fault, and is carried out as arch/x86/entry/vsyscall/vsyscall_64.c does.
 */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seccomp.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>
#include "vsyscall.h"

/* The distance of the functions in bytes. */
#define APART	1024

static const int calls[] = { __NR_gettimeofday, __NR_time, __NR_getcpu };

bool l4_vsyscall(unsigned long address)
{
	struct uml_pt_regs *regs = &current->thread.regs.regs;
	unsigned long n = (address - L4_VSYSCALL_PAGE) / APART, back, *gp = regs->gp;
	long result;
	bool skip;

	/* The page can only be executed. */
	if (gp[HOST_IP] != address)
		return false;
	if (address % APART || n >= ARRAY_SIZE(calls) || get_user(back, (unsigned long __user *)gp[HOST_SP]))
		goto bad;
	/* Filters of system calls also see these. */
	UPT_SYSCALL_NR(regs) = calls[n];
	PT_SYSCALL_NR(gp) = calls[n];
	gp[HOST_AX] = -ENOSYS;
	skip = secure_computing();
	if ((!skip && UPT_SYSCALL_NR(regs) != calls[n]) || gp[HOST_IP] != address) {
		force_exit_sig(SIGSYS);
		return true;
	}
	UPT_SYSCALL_NR(regs) = -1;
	PT_SYSCALL_NR(gp) = -1;
	if (!skip) {
		result = sys_call_table[calls[n]](gp[HOST_DI], gp[HOST_SI], 0, 0, 0, 0);
		if (result == -EFAULT)
			goto bad;
		gp[HOST_AX] = result;
	}
	gp[HOST_IP] = back;
	gp[HOST_SP] += sizeof(back);
	return true;
bad:
	force_sig(SIGSEGV);
	return true;
}
