// SPDX-License-Identifier: GPL-2.0
/*
 * ptrace: registers, the register set, traced system calls.  This does what arch/arm/kernel/ptrace.c does.  The processor
 * has no single steps: debuggers place breakpoints.
 */
#include <linux/audit.h>
#include <linux/elf.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/regset.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/user.h>
#include <sysdep/ptrace.h>
#include <sysdep/ptrace_user.h>

/* r0 to r15, the status, the first argument of a system call: the first words of uml_pt_regs. */
#define REGISTERS	18
static_assert(HOST_R0 == 0 && HOST_CPSR == 16 && HOST_ORIG_R0 == 17);

static unsigned long *registers(struct task_struct *task)
{
	return task->thread.regs.regs.gp;
}

static int set_register(struct task_struct *task, unsigned int n, unsigned long value)
{
	if (n == HOST_CPSR) {
		if ((value & PSR_MODE) != PSR_USER_MODE)
			return -EINVAL;
		value = (value & PSR_USER_FLAGS) | PSR_USER_MODE;
	}
	registers(task)[n] = value;
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	return 0;
}

static int general_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	return membuf_write(&to, registers(task), REGISTERS * sizeof(long));
}

static int general_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
		       unsigned int bytes, const void *from, const void __user *user)
{
	unsigned long value;
	int err = 0;

	while (bytes && !err) {
		int reg = at;

		err = user_regset_copyin(&at, &bytes, &from, &user, &value, reg, reg + sizeof(value));
		if (!err)
			err = set_register(task, reg / sizeof(long), value);
	}
	return err;
}

static const struct user_regset sets[] = {
	{
		.core_note_type = NT_PRSTATUS, .n = REGISTERS, .size = sizeof(long), .align = sizeof(long),
		.regset_get = general_get, .set = general_set,
	},
};

static const struct user_regset_view view = {
	.name = "arm", .e_machine = EM_ARM, .regsets = sets, .n = ARRAY_SIZE(sets),
};

const struct user_regset_view *task_user_regset_view(struct task_struct *task)
{
	return &view;
}

void ptrace_disable(struct task_struct *task) { }

/* A word of struct user, of which only the registers can be read and, at special offsets, the bounds of the image. */
static int peek(struct task_struct *task, unsigned long at, unsigned long *value)
{
	const struct mm_struct *mm = task->mm;

	if (at & 3)
		return -EIO;
	*value = 0;
	if (at < REGISTERS * sizeof(long))
		*value = registers(task)[at / sizeof(long)];
	else if (at == PT_TEXT_ADDR)
		*value = mm->start_code;
	else if (at == PT_DATA_ADDR)
		*value = mm->start_data;
	else if (at == PT_TEXT_END_ADDR)
		*value = mm->end_code;
	else if (at >= sizeof(struct user))
		return -EIO;
	return 0;
}

long arch_ptrace(struct task_struct *task, long request, unsigned long at, unsigned long data)
{
	void __user *user = (void __user *)data;
	unsigned long value;

	switch (request) {
	case PTRACE_PEEKUSR:
		return peek(task, at, &value) ?: put_user(value, (unsigned long __user *)user);
	case PTRACE_POKEUSR:
		if (at & 3 || at >= sizeof(struct user))
			return -EIO;
		return at < REGISTERS * sizeof(long) ? set_register(task, at / sizeof(long), data) : 0;
	case PTRACE_GETREGS:
		return copy_regset_to_user(task, &view, 0, 0, REGISTERS * sizeof(long), user);
	case PTRACE_SETREGS:
		return copy_regset_from_user(task, &view, 0, 0, REGISTERS * sizeof(long), user);
	case PTRACE_GET_THREAD_AREA:
		return put_user(task->thread.arch.tls, (unsigned long __user *)user);
	case PTRACE_SET_SYSCALL:
		UPT_SYSCALL_NR(&task->thread.regs.regs) = data;
		return 0;
	}
	return ptrace_request(task, request, at, data);
}

/* As on arch/arm, r12 tells a debugger whether a system call begins or ends. */
static int report(struct pt_regs *regs, bool entry)
{
	unsigned long *ip = &regs->regs.gp[HOST_R0 + 12], kept = *ip;
	int err = 0;

	*ip = !entry;
	if (entry)
		err = ptrace_report_syscall_entry(regs);
	else
		ptrace_report_syscall_exit(regs, 0);
	*ip = kept;
	return err;
}

int syscall_trace_enter(struct pt_regs *regs)
{
	struct uml_pt_regs *r = &regs->regs;

	/* Upstream has written -ENOSYS there.  A debugger expects the first argument. */
	r->gp[HOST_R0] = UPT_SYSCALL_ARG1(r);
	audit_syscall_entry(UPT_SYSCALL_NR(r), UPT_SYSCALL_ARG1(r), UPT_SYSCALL_ARG2(r),
			    UPT_SYSCALL_ARG3(r), UPT_SYSCALL_ARG4(r));
	return test_thread_flag(TIF_SYSCALL_TRACE) ? report(regs, true) : 0;
}

void syscall_trace_leave(struct pt_regs *regs)
{
	audit_syscall_exit(regs);
	if (test_thread_flag(TIF_SYSCALL_TRACE))
		report(regs, false);
}
