// SPDX-License-Identifier: GPL-2.0
/* The functions of system calls, by number; those that differ from the generic ones; and the processor's own. */
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/statfs.h>
#include <linux/syscalls.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>
#include "cache.h"
#include "tls.h"

/* Numbers of arch/arm/include/uapi/asm/unistd.h.  Those from ARM_NR_END on raise a signal. */
#define ARM_NR_BREAKPOINT	(ARM_NR_FIRST + 1)
#define ARM_NR_CACHEFLUSH	(ARM_NR_FIRST + 2)
#define ARM_NR_USR26		(ARM_NR_FIRST + 3)
#define ARM_NR_USR32		(ARM_NR_FIRST + 4)
#define ARM_NR_SET_TLS		(ARM_NR_FIRST + 5)
#define ARM_NR_GET_TLS		(ARM_NR_FIRST + 6)
#define ARM_NR_END		(ARM_NR_FIRST + 0x800)

asmlinkage long sys_sigreturn(void);
asmlinkage long sys_rt_sigreturn(void);

/* Programs with another alignment than EABI's have a structure that is 4 bytes shorter. */
#define STATFS64_EABI	88

static long sys_statfs64_wrapper(const char __user *path, size_t size, struct statfs64 __user *to)
{
	return sys_statfs64(path, size == STATFS64_EABI ? sizeof(*to) : size, to);
}

static long sys_fstatfs64_wrapper(unsigned int fd, size_t size, struct statfs64 __user *to)
{
	return sys_fstatfs64(fd, size == STATFS64_EABI ? sizeof(*to) : size, to);
}

static long sys_mmap2(unsigned long at, unsigned long bytes, unsigned long prot, unsigned long flags, unsigned long fd,
		      unsigned long page)
{
	return ksys_mmap_pgoff(at, bytes, prot, flags, fd, page);
}

/* The 64-bit arguments begin with an even register. */
static long sys_arm_fadvise64_64(int fd, int advice, loff_t offset, loff_t bytes)
{
	return ksys_fadvise64_64(fd, offset, bytes, advice);
}

#define sys_sigreturn_wrapper		sys_sigreturn
#define sys_rt_sigreturn_wrapper	sys_rt_sigreturn
#define __SYSCALL_WITH_COMPAT(nr, native, compat)	__SYSCALL(nr, native)
#define __SYSCALL(nr, function)		[nr] = (void *)function,

syscall_handler_t *const sys_call_table[__NR_syscalls] ____cacheline_aligned = {
	[0 ... __NR_syscalls - 1] = (void *)sys_ni_syscall,
#include "../../include/generated/calls-eabi.S"
};

/* A number that is not and never will be a system call. */
static long bad_system_call(unsigned int nr, struct uml_pt_regs *regs)
{
	bool thumb = regs->gp[HOST_CPSR] & PSR_THUMB;

	force_sig_fault(SIGILL, ILL_ILLTRP, (void __user *)(UPT_IP(regs) - (thumb ? 2 : 4)));
	return 0;
}

static long processor_call(unsigned int nr, struct uml_pt_regs *regs)
{
	unsigned long argument = regs->gp[HOST_R0];

	switch (nr) {
	case ARM_NR_BREAKPOINT:
		force_sig_fault(SIGTRAP, TRAP_BRKPT, (void __user *)UPT_IP(regs));
		return argument;
	case ARM_NR_CACHEFLUSH:
		return l4_sync_code(argument, UPT_SYSCALL_ARG2(regs), UPT_SYSCALL_ARG3(regs));
	case ARM_NR_SET_TLS:
		return l4_set_tls(current, argument);
	case ARM_NR_GET_TLS:
		return current->thread.arch.tls;
	case ARM_NR_USR26:
	case ARM_NR_USR32:
		/* There is one mode of 32 bits. */
		return argument;
	}
	return nr < ARM_NR_END ? -ENOSYS : bad_system_call(nr, regs);
}

long l4_execute_syscall(unsigned int nr, struct uml_pt_regs *regs)
{
	if (nr >= __NR_syscalls)
		return processor_call(nr, regs);
	/* A debugger may have changed the first. */
	return sys_call_table[nr](regs->gp[HOST_R0], UPT_SYSCALL_ARG2(regs), UPT_SYSCALL_ARG3(regs),
				  UPT_SYSCALL_ARG4(regs), UPT_SYSCALL_ARG5(regs), UPT_SYSCALL_ARG6(regs));
}
