// SPDX-License-Identifier: GPL-2.0
/* System calls about the processor, which is not Linux's here. */
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/syscalls.h>
#include <asm/prctl.h>

/* CPUID is open, and cannot be closed; nothing else is known on i386. */
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

/* So is the time-stamp counter. */
int get_tsc_mode(unsigned long address)
{
	return put_user(PR_TSC_ENABLE, (unsigned int __user *)address);
}

int set_tsc_mode(unsigned int mode)
{
	return mode == PR_TSC_ENABLE ? 0 : -EINVAL;
}

/* A component has no ports of the machine: everybody is as one who may not. */
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
