// SPDX-License-Identifier: GPL-2.0
/* ptrace: registers, register sets, single steps, traced system calls.  This does what arch/powerpc/kernel/ptrace does. */
#include <linux/audit.h>
#include <linux/elf.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/regset.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <sysdep/ptrace.h>
#include <sysdep/ptrace_user.h>
#include <asm/ptrace.h>
#include <asm/unistd.h>
#include "fpu.h"
#include "ptregs.h"

/* The words of PTRACE_GETREGS: those that are used. */
#define USED	44

static int general_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	unsigned long words[L4_PT_REGISTERS];

	l4_to_pt_regs(words, task->thread.regs.regs.gp, &task->thread.arch.faultinfo);
	return membuf_write(&to, words, sizeof(words));
}

static int general_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
		       unsigned int bytes, const void *from, const void __user *user)
{
	unsigned long words[L4_PT_REGISTERS];
	int err;

	l4_to_pt_regs(words, task->thread.regs.regs.gp, &task->thread.arch.faultinfo);
	err = user_regset_copyin(&at, &bytes, &from, &user, words, 0, sizeof(words));
	if (err)
		return err;
	l4_from_pt_regs(task->thread.regs.regs.gp, words);
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	return 0;
}

static int fp_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	u64 entries[L4_FP_ENTRIES];

	return l4_fp_get(task, entries) ? membuf_write(&to, entries, sizeof(entries)) : -EIO;
}

static int fp_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
		  unsigned int bytes, const void *from, const void __user *user)
{
	u64 entries[L4_FP_ENTRIES];
	int err;

	if (!l4_fp_get(task, entries))
		return -EIO;
	err = user_regset_copyin(&at, &bytes, &from, &user, entries, 0, sizeof(entries));
	if (err)
		return err;
	return l4_fp_put(task, entries) ? 0 : -EIO;
}

enum { GENERAL, FP };

static const struct user_regset sets[] = {
	[GENERAL] = {
		.core_note_type = NT_PRSTATUS, .n = L4_PT_REGISTERS, .size = sizeof(long), .align = sizeof(long),
		.regset_get = general_get, .set = general_set,
	},
	[FP] = {
		.core_note_type = NT_PRFPREG, .n = L4_FP_ENTRIES, .size = sizeof(u64), .align = sizeof(u64),
		.regset_get = fp_get, .set = fp_set,
	},
};

static const struct user_regset_view view = {
	.name = "ppc", .e_machine = EM_PPC, .regsets = sets, .n = ARRAY_SIZE(sets),
};

const struct user_regset_view *task_user_regset_view(struct task_struct *task)
{
	return &view;
}

static void step(struct task_struct *task, unsigned long flag)
{
	unsigned long *msr = &task->thread.regs.regs.gp[HOST_MSR];

	*msr = (*msr & ~MSR_STEP) | flag;
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
}

void user_enable_single_step(struct task_struct *task)
{
	set_tsk_thread_flag(task, TIF_SINGLESTEP);
	step(task, MSR_STEP);
}

void user_disable_single_step(struct task_struct *task)
{
	clear_tsk_thread_flag(task, TIF_SINGLESTEP);
	step(task, 0);
}

void ptrace_disable(struct task_struct *task)
{
	user_disable_single_step(task);
}

/* A word of the task's struct `user`, as a debugger sees it: pt_regs, then the FPU's registers from PT_FPR0 on. */
static int user_word(struct task_struct *task, unsigned long at, unsigned long *value, bool write)
{
	unsigned long words[L4_PT_REGISTERS], index = at / sizeof(long);
	union {
		u64 entries[L4_FP_ENTRIES];
		unsigned long words[2 * L4_FP_ENTRIES];
	} fp;

	if (at % sizeof(long) || index > PT_FPSCR)
		return -EIO;
	if (index < PT_FPR0) {
		l4_to_pt_regs(words, task->thread.regs.regs.gp, &task->thread.arch.faultinfo);
		if (!write) {
			*value = words[index];
			return 0;
		}
		words[index] = *value;
		l4_from_pt_regs(task->thread.regs.regs.gp, words);
		set_tsk_thread_flag(task, TIF_HOST_THREAD);
		return 0;
	}
	if (!l4_fp_get(task, fp.entries))
		return -EIO;
	if (!write) {
		*value = fp.words[index - PT_FPR0];
		return 0;
	}
	fp.words[index - PT_FPR0] = *value;
	return l4_fp_put(task, fp.entries) ? 0 : -EIO;
}

long arch_ptrace(struct task_struct *task, long request, unsigned long at, unsigned long data)
{
	void __user *user = (void __user *)data;
	unsigned long value;

	switch (request) {
	case PTRACE_PEEKUSR:
		return user_word(task, at, &value, false) ?: put_user(value, (unsigned long __user *)user);
	case PTRACE_POKEUSR:
		return user_word(task, at, &data, true);
	case PTRACE_GETREGS:
		return copy_regset_to_user(task, &view, GENERAL, 0, USED * sizeof(long), user);
	case PTRACE_SETREGS:
		return copy_regset_from_user(task, &view, GENERAL, 0, USED * sizeof(long), user);
	case PTRACE_GETFPREGS:
		return copy_regset_to_user(task, &view, FP, 0, sizeof(elf_fpregset_t), user);
	case PTRACE_SETFPREGS:
		return copy_regset_from_user(task, &view, FP, 0, sizeof(elf_fpregset_t), user);
	}
	return ptrace_request(task, request, at, data);
}

int syscall_trace_enter(struct pt_regs *regs)
{
	struct uml_pt_regs *r = &regs->regs;
	unsigned long *gp = r->gp;
	int err = 0;

	/* Upstream has written -ENOSYS there.  A debugger expects the first argument. */
	gp[HOST_R3] = UPT_SYSCALL_ARG1(r);
	audit_syscall_entry(UPT_SYSCALL_NR(r), UPT_SYSCALL_ARG1(r), UPT_SYSCALL_ARG2(r),
			    UPT_SYSCALL_ARG3(r), UPT_SYSCALL_ARG4(r));
	if (test_thread_flag(TIF_SYSCALL_TRACE)) {
		err = ptrace_report_syscall_entry(regs);
		/* The debugger may have changed the number and the argument. */
		PT_SYSCALL_NR(gp) = UPT_SYSCALL_NR(r) = gp[HOST_R0];
		gp[HOST_ORIG_R3] = gp[HOST_R3];
	}
	if (err || PT_SYSCALL_NR(gp) >= __NR_syscalls)
		l4_set_result(gp, -ENOSYS);
	return err;
}

void syscall_trace_leave(struct pt_regs *regs)
{
	/* A single step over a system call ends after it. */
	bool step = test_thread_flag(TIF_SINGLESTEP);

	audit_syscall_exit(regs);
	if (step || test_thread_flag(TIF_SYSCALL_TRACE))
		ptrace_report_syscall_exit(regs, step);
}
