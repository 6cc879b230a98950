// SPDX-License-Identifier: GPL-2.0
/*
 * ptrace: registers and register sets.  This does what arch/x86 does (kernel/ptrace.c); step.c and breakpoints.c have the rest.
 */
#include <linux/elf.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
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
	/* Programs have null selectors there. */
	case NUMBER(ds):
	case NUMBER(es):
	case NUMBER(fs):
	case NUMBER(gs):
		return (u16)value & ~3 ? -EIO : 0;
	case NUMBER(fs_base):
	case NUMBER(gs_base):
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

/* What the processor saves is known now (fpu.c). */
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
	unsigned long value;

	switch (request) {
	case PTRACE_PEEKUSR:
	case PTRACE_POKEUSR:
		if (at % sizeof(long) || at >= sizeof(struct user))
			return -EIO;
		if (request == PTRACE_PEEKUSR) {
			value = at < sizeof(struct user_regs_struct) ? getreg(task, at) : l4_debug_register(task, at);
			return put_user(value, (unsigned long __user *)user);
		}
		if (at < sizeof(struct user_regs_struct))
			return putreg(task, at, data);
		return l4_set_debug_register(task, at, data);
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
