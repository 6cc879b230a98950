// SPDX-License-Identifier: GPL-2.0
/*
 * ptrace: registers and register sets.  This does what arch/x86 does (kernel/ptrace.c); step.c and breakpoints.c have the rest.
 * Upstream's file passes half of it on to its host.
 */
#include <linux/elf.h>
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
#include "selectors.h"
#include "tls.h"

/* Flags that a debugger may change. */
#define FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | X86_EFLAGS_SF | \
		 X86_EFLAGS_TF | X86_EFLAGS_DF | X86_EFLAGS_OF | X86_EFLAGS_RF | X86_EFLAGS_AC)

/* The places of registers in uml_pt_regs, by their numbers in struct user_regs_struct. */
static const u8 places[] = {
	[EBX] = HOST_BX, [ECX] = HOST_CX, [EDX] = HOST_DX, [ESI] = HOST_SI,
	[EDI] = HOST_DI, [EBP] = HOST_BP, [EAX] = HOST_AX, [ORIG_EAX] = HOST_ORIG_AX,
	[EIP] = HOST_IP, [CS] = HOST_CS, [EFL] = HOST_EFLAGS, [UESP] = HOST_SP, [SS] = HOST_SS,
};
/* l4_selectors() has these in the same order. */
static_assert(ES == DS + L4_ES && FS == DS + L4_FS && GS == DS + L4_GS);

static unsigned long *registers(struct task_struct *task)
{
	return task->thread.regs.regs.gp;
}

unsigned long getreg(struct task_struct *task, int at)
{
	unsigned int n = at / sizeof(long);
	unsigned long *gp = registers(task);

	switch (n) {
	case DS ... GS:
		return l4_selectors(gp)[n - DS];
	case CS:
	case SS:
		return (u16)gp[places[n]];
	case EFL:
		/* Hides the trap flag if a debugger set it for a single step. */
		return test_tsk_thread_flag(task, TIF_FORCED_TF) ? gp[HOST_EFLAGS] & ~X86_EFLAGS_TF : gp[HOST_EFLAGS];
	}
	return gp[places[n]];
}

int putreg(struct task_struct *task, int at, unsigned long value)
{
	unsigned int n = at / sizeof(long);
	unsigned long *to = &registers(task)[places[n]];

	switch (n) {
	case CS:
	case SS:
		if (!(u16)value)
			return -EIO;
		fallthrough;
	case DS ... GS:
		value = (u16)value;
		if (value && (value & 3) != 3)
			return -EIO;
		break;
	case EFL:
		if (value & X86_EFLAGS_TF)
			clear_tsk_thread_flag(task, TIF_FORCED_TF);
		else if (test_tsk_thread_flag(task, TIF_FORCED_TF))
			value |= X86_EFLAGS_TF;
		value = (*to & ~FLAGS) | (value & FLAGS);
		break;
	case ORIG_EAX:
		UPT_SYSCALL_NR(&task->thread.regs.regs) = value;
		break;
	}
	if (n >= DS && n <= GS)
		l4_selectors(registers(task))[n - DS] = value;
	else
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

static const struct user_regset sets[] = {
	[SET_GENERAL] = {
		.core_note_type = NT_PRSTATUS, .n = FRAME_SIZE, .size = sizeof(long),
		.align = sizeof(long), .regset_get = general_get, .set = general_set,
	},
	[SET_FSAVE] = {
		.core_note_type = NT_PRFPREG, .n = sizeof(struct user_i387_struct) / sizeof(long),
		.size = sizeof(long), .align = sizeof(long), .regset_get = fsave_get, .set = fsave_set,
	},
	[SET_FXSAVE] = {
		.core_note_type = NT_PRXFPREG, .n = sizeof(struct user_fxsr_struct) / sizeof(long),
		.size = sizeof(long), .align = sizeof(long),
		.active = fxsave_active, .regset_get = fxsave_get, .set = fxsave_set,
	},
	[SET_TLS] = {
		.core_note_type = NT_386_TLS, .n = GDT_ENTRY_TLS_ENTRIES, .bias = TLS_FIRST,
		.size = sizeof(struct user_desc), .align = sizeof(struct user_desc),
		.active = tls_active, .regset_get = tls_get, .set = tls_set,
	},
};

static const struct user_regset_view view = {
	.name = "i386", .e_machine = EM_386, .regsets = sets, .n = ARRAY_SIZE(sets),
};

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
			value = at < FRAME_SIZE * sizeof(long) ? getreg(task, at) : l4_debug_register(task, at);
			return put_user(value, (unsigned long __user *)user);
		}
		if (at < FRAME_SIZE * sizeof(long))
			return putreg(task, at, data);
		return l4_set_debug_register(task, at, data);
	case PTRACE_GETREGS:
		return get_set(task, SET_GENERAL, user);
	case PTRACE_SETREGS:
		return set_set(task, SET_GENERAL, user);
	case PTRACE_GETFPREGS:
		return get_set(task, SET_FSAVE, user);
	case PTRACE_SETFPREGS:
		return set_set(task, SET_FSAVE, user);
	case PTRACE_GETFPXREGS:
		return get_set(task, SET_FXSAVE, user);
	case PTRACE_SETFPXREGS:
		return set_set(task, SET_FXSAVE, user);
	case PTRACE_GET_THREAD_AREA:
		return (int)at < 0 ? -EIO : tls_read(task, at, user);
	case PTRACE_SET_THREAD_AREA:
		return (int)at < 0 ? -EIO : tls_write(task, at, user, false);
	}
	return ptrace_request(task, request, at, data);
}
