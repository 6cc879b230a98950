// SPDX-License-Identifier: GPL-2.0
/* System calls that would change the processor.  Linux has no privileges here to do that. */
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/syscalls.h>
#include <asm/prctl.h>

#ifdef CONFIG_X86_32
/* CPUID cannot be made to fault.  i386 knows no other option. */
SYSCALL_DEFINE2(arch_prctl, int, option, unsigned long, argument)
{
	switch (option) {
	case ARCH_GET_CPUID:
		return 1;
	case ARCH_SET_CPUID:
		return -ENODEV;
	}
	return -EINVAL;
}
#endif

/* The time-stamp counter cannot be made to fault either. */
int get_tsc_mode(unsigned long address)
{
	return put_user(PR_TSC_ENABLE, (unsigned int __user *)address);
}

int set_tsc_mode(unsigned int mode)
{
	return mode == PR_TSC_ENABLE ? 0 : -EINVAL;
}

/* This component has no I/O ports: ioperm() and iopl() fail as without CAP_SYS_RAWIO. */
SYSCALL_DEFINE3(ioperm, unsigned long, from, unsigned long, count, int, turn_on)
{
	if (from + count <= from || from + count > 65536)
		return -EINVAL;
	return turn_on ? -EPERM : 0;
}

SYSCALL_DEFINE1(iopl, unsigned int, level)
{
	if (level > 3)
		return -EINVAL;
	return level ? -EPERM : 0;
}
