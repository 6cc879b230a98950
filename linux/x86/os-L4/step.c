// SPDX-License-Identifier: GPL-2.0
/*
 * Single steps and traced system calls.  This does what arch/x86 does (kernel/ptrace.c, kernel/step.c), for programs of 32 and of
 * 64 bits.
 */
#include <linux/audit.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <asm/processor-flags.h>
#include <sysdep/ptrace.h>
#include "debug.h"

/* Prefixes of 64 bits: the upper four bits. */
#define REX	0x40

static unsigned long *registers(struct task_struct *task)
{
	return task->thread.regs.regs.gp;
}

/* Whether the next instruction loads the flags.  Afterwards the trap flag is the program's own. */
static bool sets_flags(struct task_struct *task)
{
	u8 code[15];
	int i, n = access_process_vm(task, registers(task)[HOST_IP], code, sizeof(code), FOLL_FORCE);

	for (i = 0; i < n; i++) {
		if (IS_ENABLED(CONFIG_X86_64) && (code[i] & 0xf0) == REX)
			continue;
		switch (code[i]) {
		case 0x9d:	/* popf */
		case 0xcf:	/* iret */
			return true;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64 ... 0x67:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			continue;
		default:
			return false;
		}
	}
	return false;
}

void user_enable_single_step(struct task_struct *task)
{
	unsigned long *flags = &registers(task)[HOST_EFLAGS], old = *flags;

	set_tsk_thread_flag(task, TIF_SINGLESTEP);
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	*flags |= X86_EFLAGS_TF;
	if (sets_flags(task))
		clear_tsk_thread_flag(task, TIF_FORCED_TF);
	else if (!(old & X86_EFLAGS_TF))
		set_tsk_thread_flag(task, TIF_FORCED_TF);
}

void user_disable_single_step(struct task_struct *task)
{
	clear_tsk_thread_flag(task, TIF_SINGLESTEP);
	if (test_and_clear_tsk_thread_flag(task, TIF_FORCED_TF)) {
		registers(task)[HOST_EFLAGS] &= ~X86_EFLAGS_TF;
		set_tsk_thread_flag(task, TIF_HOST_THREAD);
	}
}

void ptrace_disable(struct task_struct *task)
{
	user_disable_single_step(task);
}

int syscall_trace_enter(struct pt_regs *regs)
{
	struct uml_pt_regs *r = &regs->regs;
	bool emulated = test_thread_flag(TIF_SYSCALL_EMU);

	audit_syscall_entry(UPT_SYSCALL_NR(r), UPT_SYSCALL_ARG1(r), UPT_SYSCALL_ARG2(r),
			    UPT_SYSCALL_ARG3(r), UPT_SYSCALL_ARG4(r));
	if (!emulated && !test_thread_flag(TIF_SYSCALL_TRACE))
		return 0;
	return ptrace_report_syscall_entry(regs) || emulated;
}

void syscall_trace_leave(struct pt_regs *regs)
{
	bool step = test_thread_flag(TIF_SINGLESTEP) && !test_thread_flag(TIF_SYSCALL_EMU);

	audit_syscall_exit(regs);
	/* A single step over a system call ends after it. */
	if (step) {
		l4_note_step();
		force_sig_fault(SIGTRAP, TRAP_BRKPT, (void __user *)PT_REGS_IP(regs));
	} else if (test_thread_flag(TIF_SYSCALL_TRACE)) {
		ptrace_report_syscall_exit(regs, 0);
	}
}
