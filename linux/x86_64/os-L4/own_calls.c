// SPDX-License-Identifier: GPL-2.0
/* System calls of which x86-64 has its own form. */
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <asm/prctl.h>
#include <sysdep/ptrace.h>

static int set_fs_base(struct task_struct *task, unsigned long base)
{
	if (base >= TASK_SIZE)
		return -EPERM;
	task->thread.regs.regs.gp[HOST_FS_BASE] = base;
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	return 0;
}

static int set_gs_base(struct task_struct *task, unsigned long base)
{
	if (base >= TASK_SIZE)
		return -EPERM;
	task->thread.regs.regs.gp[HOST_GS_BASE] = base;
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	return 0;
}

long arch_prctl(struct task_struct *task, int option, unsigned long __user *address)
{
	switch (option) {
	case ARCH_SET_FS:
		return set_fs_base(task, (unsigned long)address);
	case ARCH_GET_FS:
		return put_user(task->thread.regs.regs.gp[HOST_FS_BASE], address);
	case ARCH_SET_GS:
		return set_gs_base(task, (unsigned long)address);
	case ARCH_GET_GS:
		return put_user(task->thread.regs.regs.gp[HOST_GS_BASE], address);
	case ARCH_GET_CPUID:
		return 1;
	/* CPUID cannot be made to fault. */
	case ARCH_SET_CPUID:
		return -ENODEV;
	}
	return -EINVAL;
}

SYSCALL_DEFINE2(arch_prctl, int, option, unsigned long, argument)
{
	return arch_prctl(current, option, (unsigned long __user *)argument);
}

SYSCALL_DEFINE6(mmap, unsigned long, address, unsigned long, bytes, unsigned long, rights, unsigned long, flags,
		unsigned long, fd, unsigned long, offset)
{
	return offset & ~PAGE_MASK ? -EINVAL : ksys_mmap_pgoff(address, bytes, rights, flags, fd, offset >> PAGE_SHIFT);
}
