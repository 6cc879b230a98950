// SPDX-License-Identifier: GPL-2.0
/* FPU state.  It is only in the UTCB slot of the task's user thread, or in the processor. */
#include <linux/kernel.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/siginfo.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/subarch.h"
#include "../../../um/os-L4/user_thread.h"
#include "fpu.h"

/* Of the status: which exceptions are enabled, and which have happened. */
#define STATUS_ENABLED	0x000000f8
#define STATUS_INVALID	0x20000000
#define STATUS_OVERFLOW	0x10000000
#define STATUS_UNDERFLOW	0x08000000
#define STATUS_DIVISION	0x04000000
#define STATUS_INEXACT	0x02000000
/* The bits of exceptions that have happened are so many bits above those that enable them. */
#define STATUS_SHIFT	22

#define BYTES	(L4_FP_ENTRIES * sizeof(u64))
static_assert(BYTES <= L4_FPU_SIZE);

static u32 *place(const struct l4_thread *t)
{
	return (u32 *)(t->frame + L4_UTCB_FPU);
}

static void *area(const struct l4_thread *t)
{
	return (void *)(t->frame + L4_FPU_OFFSET);
}

/* The user thread of a task.  Its slot has the newest state, until it runs. */
static struct l4_thread *synchronised(struct task_struct *task)
{
	struct l4_thread *t = l4_thread_bound(task);

	if (t && *place(t) == L4_FPU_LOADED)
		l4_call(L4_OP_FPU_SYNC, t->slot, 0, 0, 0);
	return t;
}

bool l4_fp_get(struct task_struct *task, u64 *entries)
{
	struct l4_thread *t = synchronised(task);

	if (!t)
		return false;
	/* The state of a new program is zero. */
	if (*place(t) == L4_FPU_INITIAL)
		memset(entries, 0, BYTES);
	else
		memcpy(entries, area(t), BYTES);
	return true;
}

bool l4_fp_put(struct task_struct *task, const u64 *entries)
{
	struct l4_thread *t = synchronised(task);

	if (!t)
		return false;
	memcpy(area(t), entries, BYTES);
	*place(t) = L4_FPU_SAVED;
	return true;
}

bool arch_l4_copy_fpu(struct task_struct *child, struct task_struct *parent)
{
	u64 entries[L4_FP_ENTRIES];
	struct l4_thread *t = synchronised(parent);

	if (!t)
		return false;
	if (*place(t) == L4_FPU_INITIAL)
		return l4_thread_bound(child);
	return l4_fp_get(parent, entries) && l4_fp_put(child, entries);
}

/* Bits of the machine state, by the programs' number of a mode. */
#define FE0	0x00000800
#define FE1	0x00000100

int l4_set_fpexc(struct task_struct *task, unsigned int mode)
{
	unsigned long *msr = &task->thread.regs.regs.gp[HOST_MSR];

	if (mode & ~PR_FP_EXC_PRECISE)
		return -EINVAL;
	*msr = (*msr & ~(FE0 | FE1)) | (mode & PR_FP_EXC_ASYNC ? FE0 : 0) | (mode & PR_FP_EXC_NONRECOV ? FE1 : 0);
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	return 0;
}

int l4_get_fpexc(struct task_struct *task, unsigned long address)
{
	unsigned long msr = task->thread.regs.regs.gp[HOST_MSR];

	return put_user((msr & FE0 ? PR_FP_EXC_ASYNC : 0) | (msr & FE1 ? PR_FP_EXC_NONRECOV : 0), (unsigned int __user *)address);
}

int l4_fp_exception(void)
{
	u64 entries[L4_FP_ENTRIES];
	u32 status, raised;

	if (!l4_fp_get(current, entries))
		return FPE_FLTUNK;
	status = entries[L4_FP_ENTRIES - 1];
	raised = status & (status & STATUS_ENABLED) << STATUS_SHIFT;
	if (raised & STATUS_INVALID)
		return FPE_FLTINV;
	if (raised & STATUS_OVERFLOW)
		return FPE_FLTOVF;
	if (raised & STATUS_UNDERFLOW)
		return FPE_FLTUND;
	if (raised & STATUS_DIVISION)
		return FPE_FLTDIV;
	return raised & STATUS_INEXACT ? FPE_FLTRES : FPE_FLTUNK;
}
