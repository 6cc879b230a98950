// SPDX-License-Identifier: GPL-2.0
/*
 * ptrace: registers, register sets, single steps, traced system calls.  This does what arch/x86 does (kernel/ptrace.c,
 * kernel/step.c), but for breakpoints of the processor: the microkernel has none.
 */
#include <linux/audit.h>
#include <linux/elf.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/user.h>
#include <asm/processor-flags.h>
#include <asm/ptrace-abi.h>
#include <sysdep/ptrace.h>
#include "debug.h"
#include "regset.h"

/* Flags that a debugger may change. */
#define FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | X86_EFLAGS_SF | \
		 X86_EFLAGS_TF | X86_EFLAGS_DF | X86_EFLAGS_OF | X86_EFLAGS_RF | X86_EFLAGS_AC)

/* The number of a register in struct user_regs_struct. */
#define NUMBER(name)	(offsetof(struct user_regs_struct, name) / sizeof(long))
#define REGISTERS	(sizeof(struct user_regs_struct) / sizeof(long))

/* The places of registers in uml_pt_regs, by these numbers. */
static const u8 places[REGISTERS] = {
	[NUMBER(r15)] = HOST_R15, [NUMBER(r14)] = HOST_R14, [NUMBER(r13)] = HOST_R13, [NUMBER(r12)] = HOST_R12,
	[NUMBER(bp)] = HOST_BP, [NUMBER(bx)] = HOST_BX, [NUMBER(r11)] = HOST_R11, [NUMBER(r10)] = HOST_R10,
	[NUMBER(r9)] = HOST_R9, [NUMBER(r8)] = HOST_R8, [NUMBER(ax)] = HOST_AX, [NUMBER(cx)] = HOST_CX,
	[NUMBER(dx)] = HOST_DX, [NUMBER(si)] = HOST_SI, [NUMBER(di)] = HOST_DI, [NUMBER(orig_ax)] = HOST_ORIG_AX,
	[NUMBER(ip)] = HOST_IP, [NUMBER(cs)] = HOST_CS, [NUMBER(flags)] = HOST_EFLAGS, [NUMBER(sp)] = HOST_SP,
	[NUMBER(ss)] = HOST_SS, [NUMBER(fs_base)] = HOST_FS_BASE, [NUMBER(gs_base)] = HOST_GS_BASE,
	[NUMBER(ds)] = HOST_DS, [NUMBER(es)] = HOST_ES, [NUMBER(fs)] = HOST_FS, [NUMBER(gs)] = HOST_GS,
};

static unsigned long *registers(struct task_struct *task)
{
	return task->thread.regs.regs.gp;
}

unsigned long getreg(struct task_struct *task, int at)
{
	unsigned int n = at / sizeof(long);
	unsigned long *gp = registers(task);

	/* Hides the trap flag if a debugger set it for a single step. */
	if (n == NUMBER(flags) && test_tsk_thread_flag(task, TIF_FORCED_TF))
		return gp[HOST_EFLAGS] & ~X86_EFLAGS_TF;
	return gp[places[n]];
}

int putreg(struct task_struct *task, int at, unsigned long value)
{
	unsigned int n = at / sizeof(long);
	unsigned long *to = &registers(task)[places[n]];

	switch (n) {
	case NUMBER(cs):
	case NUMBER(ss):
		value = (u16)value;
		if ((value & 3) != 3)
			return -EIO;
		break;
	/* Programs have null selectors there, and the base of GS is 0. */
	case NUMBER(ds):
	case NUMBER(es):
	case NUMBER(fs):
	case NUMBER(gs):
		return (u16)value & ~3 ? -EIO : 0;
	case NUMBER(gs_base):
		return value ? -EIO : 0;
	case NUMBER(fs_base):
		if (value >= TASK_SIZE)
			return -EIO;
		break;
	case NUMBER(flags):
		if (value & X86_EFLAGS_TF)
			clear_tsk_thread_flag(task, TIF_FORCED_TF);
		else if (test_tsk_thread_flag(task, TIF_FORCED_TF))
			value |= X86_EFLAGS_TF;
		value = (*to & ~FLAGS) | (value & FLAGS);
		break;
	case NUMBER(orig_ax):
		UPT_SYSCALL_NR(&task->thread.regs.regs) = value;
		break;
	}
	*to = value;
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	return 0;
}

static int general_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	unsigned int at;

	for (at = 0; to.left; at += sizeof(long))
		membuf_store(&to, getreg(task, at));
	return 0;
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
			err = putreg(task, reg, value);
	}
	return err;
}

static struct user_regset sets[] __ro_after_init = {
	[SET_GENERAL] = {
		.core_note_type = NT_PRSTATUS, .n = REGISTERS, .size = sizeof(long),
		.align = sizeof(long), .regset_get = general_get, .set = general_set,
	},
	[SET_FXSAVE] = {
		.core_note_type = NT_PRFPREG, .n = sizeof(struct user_i387_struct) / sizeof(long),
		.size = sizeof(long), .align = sizeof(long), .regset_get = fxsave_get, .set = fxsave_set,
	},
	[SET_XSAVE] = {
		.core_note_type = NT_X86_XSTATE, .size = sizeof(u64), .align = sizeof(u64),
		.active = xsave_active, .regset_get = xsave_get, .set = xsave_set,
	},
};

static const struct user_regset_view view = {
	.name = "x86_64", .e_machine = EM_X86_64, .regsets = sets, .n = ARRAY_SIZE(sets),
};

/* What the processor saves is known by now (fpu.c). */
static int __init sets_init(void)
{
	sets[SET_XSAVE].n = l4_xsave_bytes() / sizeof(u64);
	return 0;
}
subsys_initcall(sets_init);

const struct user_regset_view *task_user_regset_view(struct task_struct *task)
{
	return &view;
}

/* Whether the next instruction loads the flags.  Afterwards the trap flag is the program's own. */
static bool sets_flags(struct task_struct *task)
{
	u8 code[15];
	int i, n = access_process_vm(task, registers(task)[HOST_IP], code, sizeof(code), FOLL_FORCE);

	for (i = 0; i < n; i++) {
		switch (code[i]) {
		case 0x9d:	/* popf */
		case 0xcf:	/* iret */
			return true;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x40 ... 0x4f:
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

/* Debug registers read as 0.  DR7 may be written 0, and nothing else. */
static int put_debug_register(unsigned long at, unsigned long value)
{
	if (at < offsetof(struct user, u_debugreg[0]) || at > offsetof(struct user, u_debugreg[7]))
		return -EIO;
	return value ? -ENOSPC : 0;
}

static int get_set(struct task_struct *task, int n, void __user *to)
{
	return copy_regset_to_user(task, &view, n, 0, sets[n].n * sets[n].size, to) ? -EIO : 0;
}

static int set_set(struct task_struct *task, int n, const void __user *from)
{
	return copy_regset_from_user(task, &view, n, 0, sets[n].n * sets[n].size, from) ? -EIO : 0;
}

long arch_ptrace(struct task_struct *task, long request, unsigned long at, unsigned long data)
{
	void __user *user = (void __user *)data;

	switch (request) {
	case PTRACE_PEEKUSR:
	case PTRACE_POKEUSR:
		if (at % sizeof(long) || at >= sizeof(struct user))
			return -EIO;
		if (request == PTRACE_PEEKUSR)
			return put_user(at < sizeof(struct user_regs_struct) ? getreg(task, at) : 0,
					(unsigned long __user *)user);
		return at < sizeof(struct user_regs_struct) ? putreg(task, at, data) : put_debug_register(at, data);
	case PTRACE_GETREGS:
		return get_set(task, SET_GENERAL, user);
	case PTRACE_SETREGS:
		return set_set(task, SET_GENERAL, user);
	case PTRACE_GETFPREGS:
		return get_set(task, SET_FXSAVE, user);
	case PTRACE_SETFPREGS:
		return set_set(task, SET_FXSAVE, user);
	case PTRACE_ARCH_PRCTL:
		return arch_prctl(task, data, (unsigned long __user *)at);
	}
	return ptrace_request(task, request, at, data);
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
